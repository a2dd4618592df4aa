//! What filters and steps do, told once more, for tests: over lists of words, sample by sample, with
//! nothing of the code that is tested.

use std::collections::BTreeMap;

use super::fixture::Fixture;
use super::label::Labels;
use super::{Direction, Group, Inlines};
use crate::call_tree::{CallNodeId, CallTree, Label, Visit};

/// A sample: its process (each has one thread, of the same name) and its calls, outermost first.
/// A call is `A`, `A@x` in another DSO, `>A` inlined, `~` in no mapping, `@x` a collapsed DSO.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    pub process: String,
    pub calls: Vec<String>,
    pub weight: u64,
}

/// Reads what a fixture reads.
pub(super) fn read(text: &str, inlines: Inlines) -> Vec<Line> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let read = lines.map(|line| {
        let (process, rest) = line.split_once(": ").unwrap_or(("proc", line));
        let (stack, weight) = rest.rsplit_once(' ').unwrap_or(("", rest));
        let calls = stack.split_whitespace().flat_map(|word| calls(word, inlines)).collect();
        let weight = weight.parse().expect("a line ends in a weight");
        Line { process: process.to_owned(), calls, weight }
    });
    read.collect()
}

fn calls(word: &str, inlines: Inlines) -> Vec<String> {
    if word.starts_with('~') {
        return vec!["~".to_owned()];
    }
    let (names, dso) = match word.split_once('@') {
        Some((names, dso)) => (names, format!("@{dso}")),
        None => (word, String::new()),
    };
    let levels = names.split('>').enumerate();
    let shown = levels.filter(|(level, _)| *level == 0 || inlines == Inlines::Shown);
    let call = |(level, name)| format!("{}{name}{dso}", if level == 0 { "" } else { ">" });
    shown.map(call).collect()
}

/// All code of `app` without a name, as one.
pub(super) const REST: &str = "?";

/// Calls of code without a name are of [`REST`], and none by itself.
pub(super) fn put_unnamed_together(lines: &mut [Line]) {
    for Line { calls, .. } in lines {
        for call in calls.iter_mut().filter(|call| call.starts_with(char::is_lowercase)) {
            assert!(!call.contains('@'), "there is such code in the app only: {call}");
            *call = REST.to_owned();
        }
        calls.dedup_by(|a, b| a == REST && a == b);
    }
}

/// The function of a call; nothing for what is none.
fn function(call: &str) -> Option<&str> {
    (call != "~" && !call.starts_with('@')).then(|| call.trim_start_matches('>'))
}

fn is(call: &str, wanted: &str) -> bool {
    function(call) == Some(wanted)
}

fn is_in(call: &str, dso: &str) -> bool {
    match call.split_once('@') {
        Some((_, of)) => of == dso,
        None => call != "~" && dso == "app",
    }
}

/// Takes a step, in the words of `step_tests::step`.
pub(super) fn take(lines: &[Line], step: &str) -> Vec<Line> {
    let (kind, about) = step.split_once(' ').unwrap_or((step, ""));
    lines.iter().filter_map(|line| take_one(line, kind, about)).collect()
}

fn take_one(line: &Line, kind: &str, about: &str) -> Option<Line> {
    let mut line = line.clone();
    let first = line.calls.iter().position(|call| is(call, about));
    match kind {
        "merge" => line.calls.retain(|call| !is(call, about)),
        "drop" if first.is_some() => return None,
        "drop" => {}
        "focus" => line.calls = alone(&line.calls[first?..]),
        "collapse" => line.calls.truncate(first.map_or(usize::MAX, |first| first + 1)),
        "collapse-dso" => {
            for call in &mut line.calls {
                if is_in(call, about) {
                    *call = format!("@{about}");
                }
            }
            let dso = format!("@{about}");
            line.calls.dedup_by(|a, b| *a == dso && a == b);
        }
        "recursion" => {
            let mut calls: Vec<String> = Vec::new();
            for call in line.calls {
                let met = function(&call)
                    .filter(|&function| function != REST)
                    .and_then(|function| calls.iter().position(|before| is(before, function)));
                match met {
                    Some(met) => calls.truncate(met + 1),
                    None => calls.push(call),
                }
            }
            line.calls = calls;
        }
        "search" => {
            let found = |call: &String| {
                let name = call.split('@').next().unwrap_or_default();
                let of = call.split_once('@').map_or("app", |(_, dso)| dso);
                (call != "~" && of.contains(about)) || name.contains(about)
            };
            line.calls.iter().any(found).then_some(())?;
        }
        _ => return along_path(line, kind, about),
    }
    Some(line)
}

/// Steps that are about one call node.
fn along_path(mut line: Line, kind: &str, about: &str) -> Option<Line> {
    let mut path: Vec<&str> = about.split_whitespace().collect();
    let wanted = path[0].strip_suffix(':').map(|name| name.trim_start_matches("t/").to_owned());
    if wanted.is_some() {
        path.remove(0);
    }
    let in_group = wanted.is_none_or(|wanted| wanted == line.process);
    let is_inverted = kind.ends_with("inverted");
    if is_inverted {
        path.reverse();
    }
    let calls: Vec<&str> = line.calls.iter().map(String::as_str).collect();
    let found = in_group
        && match is_inverted {
            true => calls.ends_with(&path),
            false => calls.starts_with(&path),
        };
    let end = match is_inverted {
        true => line.calls.len().wrapping_sub(path.len()),
        false => path.len() - 1,
    };
    match kind {
        "merge-node" | "merge-inverted" => {
            if found {
                line.calls.remove(end);
            }
        }
        _ if !found => return None,
        "focus-node" => line.calls = alone(&line.calls[end..]),
        "focus-inverted" => line.calls.truncate(end + 1),
        other => panic!("no step {other}"),
    }
    Some(line)
}

/// The first call is inlined into nothing that is shown.
fn alone(calls: &[String]) -> Vec<String> {
    let mut calls = calls.to_vec();
    calls[0] = calls[0].trim_start_matches('>').to_owned();
    calls
}

/// Call nodes by their way from the root: total and self.
pub(super) type Table = BTreeMap<Vec<String>, (u64, u64)>;

/// The tree of lines.
pub(super) fn table(lines: &[Line], direction: Direction, group: Group) -> Table {
    let ways = lines.iter().map(|line| {
        let mut calls = line.calls.clone();
        if direction == Direction::Inverted {
            calls.reverse();
        }
        if group != Group::None {
            calls.insert(0, format!("{}:", line.process));
        }
        (calls, line.weight)
    });
    let mut table = Table::from([(Vec::new(), (0, 0))]);
    for (way, weight) in ways {
        for end in 0..=way.len() {
            table.entry(way[..end].to_vec()).or_default().0 += weight;
        }
        table.entry(way).or_default().1 += weight;
    }
    table
}

/// The callers of a function, itself first, from its outermost call on.
pub(super) fn callers(lines: &[Line], wanted: &str) -> Vec<Line> {
    let to = lines.iter().filter_map(|line| {
        let first = line.calls.iter().position(|call| is(call, wanted))?;
        let mut calls = alone(&line.calls[first..=first]);
        calls.extend(line.calls[..first].iter().rev().cloned());
        Some(Line { calls, ..line.clone() })
    });
    to.collect()
}

/// A tree that was built, in the same form.
pub(super) fn table_of(stacks: &Fixture, tree: &CallTree) -> Table {
    let labels = Labels::new(&stacks.profile, &stacks.symbols);
    let mut table = Table::new();
    let mut way: Vec<String> = Vec::new();
    tree.walk(|id, visit| {
        if visit == Visit::Leave {
            // Nothing was pushed for the root, the last to be left.
            way.pop();
            return;
        }
        let of = |name: String| match labels.dso_name(tree.label(id)).as_str() {
            "app" => name,
            dso => format!("{name}@{dso}"),
        };
        let label = tree.label(id);
        let function = label.function();
        let text = || match function.map(|id| stacks.symbols.function(id)) {
            _ if function.is_some_and(|id| id.as_unnamed_of().is_some()) => REST.to_owned(),
            Some(unnamed) if unnamed.name.is_none() => {
                let letters = (unnamed.address as u32).to_be_bytes();
                String::from_utf8_lossy(&letters).trim_end_matches('\0').to_owned()
            }
            _ => labels.text(label),
        };
        if id != CallNodeId::ROOT {
            way.push(match label {
                Label::All => unreachable!("it is the root's"),
                Label::Group(_) | Label::Family(_) => format!("{}:", text()),
                Label::Function(_) => of(text()),
                Label::Inlined(_) => format!(">{}", of(text())),
                Label::Dso(_) => format!("@{}", text()),
                Label::NoMapping => "~".to_owned(),
            });
        }
        let known = table.insert(way.clone(), (tree.total(id).weight, tree.self_sum(id).weight));
        assert!(known.is_none(), "{way:?} is there once");
    });
    table
}
