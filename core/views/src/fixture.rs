//! Profiles from text, for the tests of views: each line is a stack, outermost first, and how
//! often it was seen. `proc: A B 3` is a stack of the process `proc`; a name in lower case stays
//! without a name (its address is its letter), but for `!name`, `~2` is a run of two words in no mapping. `A@x` lies
//! in the DSO `x`, others in `app`; `A>H>I` is the frame of `A` with `H` and `I` inlined into it.
//!
//! Names go the way that all names go: symbols with the DSO's identity, through the gate.

use perftab_images::RecordedIdentities;
use perftab_names::{Inlining, Level, MatchedSymbols, Provenance, Symbols};
use perftab_perfdata::format::BuildId;
use perftab_profile::{
    DsoId, DsoKind, Event, EventId, EventOrigin, Frame, FrameId, MappedFrom, Process, Profile,
    Sample, Stacks, Thread, ThreadId,
};
use perftab_profile::{EmbeddedSymbol, EmbeddedSymbols, SymbolsOf};

use crate::call_tree::{CallNodeId, CallTree, Visit};
use crate::label::Labels;
use crate::{Group, Query};

/// A profile and its names.
pub struct Fixture {
    /// Stacks and weights.
    pub profile: Profile,
    /// Names.
    pub symbols: Symbols,
}

/// The profile that `text` says.
pub fn fixture(text: &str) -> Fixture {
    let mut profile = Profile::default();
    let mut dsos = vec![named_dso(&mut profile, "app")];
    let gap = profile.dsos.intern("gap", DsoKind::Unmapped, MappedFrom::Nothing, None);
    profile.events.push(Event {
        name: "cycles".to_owned(),
        origin: EventOrigin::Recorded,
        samples: 0,
        weight: 0,
        ..Event::default()
    });
    let mut inlined: Vec<(FrameId, DsoId, Vec<&str>)> = Vec::new();

    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (process, stack) = line.split_once(": ").unwrap_or(("proc", line));
        let (stack, weight) = stack.rsplit_once(' ').unwrap_or(("", stack));
        let weight: u64 = weight.parse().expect("a line ends in a weight");
        let thread = thread(&mut profile, process);
        let mut leaf = Stacks::EMPTY;
        for word in stack.split_whitespace() {
            let (word, dso) = word.split_once('@').unwrap_or((word, "app"));
            let mut levels = word.split('>');
            let name = levels.next().unwrap_or_default();
            let (name, is_named) =
                name.strip_prefix('!').map_or((name, false), |name| (name, true));
            if dsos.iter().all(|known| known.name != dso) {
                dsos.push(named_dso(&mut profile, dso));
            }
            let dso = dsos.iter_mut().find(|known| known.name == dso).expect("it is there");
            let frame = match name.strip_prefix('~') {
                Some(count) => Frame { dso: gap, address: count.parse().expect("a count") },
                None => Frame { dso: dso.id, address: address_of(name, word) },
            };
            if (name.starts_with(char::is_uppercase) || is_named)
                && dso.symbols.iter().all(|symbol| symbol.address != frame.address)
            {
                let (address, name) = (frame.address, name.to_owned());
                dso.symbols.push(EmbeddedSymbol { address, size: 1, name });
            }
            let frame = profile.frames.intern(frame);
            let levels: Vec<&str> = levels.collect();
            if !levels.is_empty() {
                inlined.push((frame, dso.id, levels));
            }
            leaf = profile.stacks.intern(leaf, frame);
        }
        profile.samples.push(Sample {
            time_nanos: profile.samples.len() as u64 + 1,
            thread,
            stack: leaf,
            event: EventId(0),
            cpu: 0,
            weight,
        });
        profile.events[0].samples += 1;
        profile.events[0].weight += weight;
    }

    let recorded = RecordedIdentities::new(&profile.dsos);
    let mut symbols = Symbols::new(&profile);
    for NamedDso { name, id, symbols: embedded } in dsos {
        let identity = profile.dsos.get(id).identity.expect("it was mapped with one");
        let of = SymbolsOf::Build { identity, kind: DsoKind::Kernel };
        let embedded = EmbeddedSymbols::for_tests(of, &name, embedded);
        let matched = MatchedSymbols::admit(&recorded, embedded).expect("the identity is recorded");
        symbols.embedded(&profile, &matched);
    }
    for (frame, dso, names) in inlined {
        let mut levels = vec![symbols.levels(frame)[0]];
        for name in names {
            let function = symbols.named(dso, name, Provenance::Embedded);
            let inlining = Inlining::Inlined;
            levels.push(Level { function, file: None, line: None, inlining });
        }
        symbols.set_levels(frame, &levels);
    }
    Fixture { profile, symbols }
}

struct NamedDso {
    name: String,
    id: DsoId,
    symbols: Vec<EmbeddedSymbol>,
}

fn named_dso(profile: &mut Profile, name: &str) -> NamedDso {
    let mut bytes = [7; 20];
    for (byte, letter) in bytes.iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    let id = BuildId::new(&bytes).expect("not all zero");
    let id = profile.dsos.intern(name, DsoKind::Kernel, MappedFrom::BuildId(id), None);
    NamedDso { name: name.to_owned(), id, symbols: Vec::new() }
}

/// Four letters of the name; what has other levels inlined into it is another address.
fn address_of(name: &str, levels: &str) -> u64 {
    let letters: [u8; 4] = std::array::from_fn(|i| name.as_bytes().get(i).copied().unwrap_or(0));
    let inlined = levels.len() - name.len();
    u64::from(u32::from_be_bytes(letters)) + inlined as u64
}

fn thread(profile: &mut Profile, name: &str) -> ThreadId {
    let name = profile.strings.intern(name);
    let known = profile.threads.threads.iter().position(|thread| thread.name == name);
    known.map_or_else(
        || {
            let tid = profile.threads.threads.len() as u32 + 1;
            let process = profile.threads.add_process(Process { pid: tid, name });
            profile.threads.add_thread(Thread { process, tid, name })
        },
        |index| ThreadId(index as u32),
    )
}

/// The query of most tests: no first level.
pub fn ungrouped() -> Query {
    Query { group: Group::None, ..Query::default() }
}

/// A tree as text: one call node a line, indented, with total and self.
pub fn tree_text(fixture: &Fixture, query: &Query) -> String {
    let tree = CallTree::new(&fixture.profile, &fixture.symbols, query);
    let labels = Labels::new(&fixture.profile, &fixture.symbols);
    let mut text = String::new();
    let mut depth = 0;
    tree.walk(|id: CallNodeId, visit| match visit {
        Visit::Leave => depth -= 1,
        Visit::Enter => {
            let (total, self_sum) = (tree.total(id).weight, tree.self_sum(id).weight);
            let name = labels.text(tree.label(id));
            text += &format!("{}{name} {total} {self_sum}\n", "  ".repeat(depth));
            depth += 1;
        }
    });
    text
}

/// Lines without the indentation that they have in a test's source.
pub fn lines(text: &str) -> String {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let indent = lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines().map(|line| format!("{}\n", &line[indent..])).collect()
}
