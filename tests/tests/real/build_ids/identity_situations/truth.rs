//! What ran where, as the programs said themselves, held against the names that samples got.

use std::collections::BTreeMap;

use super::programs::Build;

/// Functions of a build, in the order in which it prints their addresses.
const FUNCTIONS: [&str; 4] = ["one", "two", "three", "four"];
/// Each has so many bytes for itself.
const LENGTH: u64 = 2048;

/// A process that ran one build of the program at a place in the scene.
struct Run {
    slot: usize,
    build: Build,
    starts: [u64; 4],
}

impl Run {
    fn of(words: &[&str]) -> Option<(u32, Self)> {
        let &[slot, letter, pid, ref starts @ ..] = words else { return None };
        let address = |text: &&str| u64::from_str_radix(text, 16).ok();
        let starts: Vec<u64> = starts.iter().map(address).collect::<Option<_>>()?;
        let build = match letter {
            "a" => Build::Earlier,
            "b" => Build::Later,
            _ => return None,
        };
        let pid = u32::from_str_radix(pid, 16).ok()?;
        let run = Self { slot: slot.parse().ok()?, build, starts: starts.try_into().ok()? };
        Some((pid, run))
    }

    fn function_at(&self, address: u64) -> Option<String> {
        let is_in = |start: &u64| (*start..start + LENGTH).contains(&address);
        let function = self.starts.iter().position(is_in)?;
        Some(format!("{}{}", prefix(self.build), FUNCTIONS[function]))
    }
}

fn prefix(build: Build) -> &'static str {
    match build {
        Build::Earlier => "a_",
        Build::Later => "b_",
    }
}

fn is_of_a_build(name: &str) -> bool {
    let function = name.strip_prefix("a_").or_else(|| name.strip_prefix("b_"));
    function.is_some_and(|it| FUNCTIONS.contains(&it))
}

/// All processes of a recording that ran a program.
#[derive(Default)]
pub struct Runs(BTreeMap<u32, Run>);

/// Samples in functions of one build of the program at one place.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub named: u32,
    pub unnamed: u32,
    /// The first name that is not that of its function.
    pub wrong: Option<String>,
}

/// By place in the scene and build.
pub type SeenByBuild = BTreeMap<(usize, Build), Seen>;

impl Runs {
    /// Of what the programs print.
    pub fn of(printed: &str) -> Self {
        let run = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            Run::of(&words).unwrap_or_else(|| panic!("a program printed {line:?}"))
        };
        Self(printed.lines().map(run).collect())
    }

    /// Compares the names in what `perftab script` prints.
    pub fn compare(&self, script: &str) -> SeenByBuild {
        let mut seen = SeenByBuild::new();
        let mut current = None;
        for line in script.lines() {
            let Some(frame) = line.strip_prefix([' ', '\t']) else {
                let pid = line.split(' ').find_map(|it| it.split_once('/')?.0.parse::<u32>().ok());
                current = pid.and_then(|pid| self.0.get(&pid));
                continue;
            };
            let mut words = frame.trim_start().split(' ');
            let address = words.next().and_then(|it| u64::from_str_radix(it, 16).ok());
            let (Some(run), Some(address), Some(name)) = (current, address, words.next()) else {
                continue;
            };
            let function = run.function_at(address);
            let seen = seen.entry((run.slot, run.build)).or_default();
            match function {
                Some(function) if function == name => seen.named += 1,
                Some(_) if name == "[unknown]" => seen.unnamed += 1,
                // What a linker or a library brings.
                None if !is_of_a_build(name) => {}
                _ => {
                    let function = function.as_deref().unwrap_or("no function of it");
                    let what = || format!("{address:#x} is in {function}, and is named {name}");
                    seen.wrong.get_or_insert_with(what);
                }
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_other_build_and_one_of_the_next_function_are_wrong() {
        let runs = Runs::of("7 a 10 1000 1800 2000 2800\n7 b 11 1000 1800 2000 2800\n");
        let script = |pid: u32, frame: &str| format!("tide {pid}/{pid} 1.0: 1 x:\n\t{frame}\n\n");
        let seen = |pid, frame| runs.compare(&script(pid, frame));
        let wrong = |pid, frame| seen(pid, frame).into_values().next().unwrap().wrong.is_some();
        assert!(!wrong(16, "17ff a_one (/tide)"));
        assert!(wrong(17, "17ff a_one (/tide)"));
        assert!(wrong(16, "1800 a_one (/tide)"));
        assert!(wrong(16, "0f00 a_one (/tide)"));
        assert!(!wrong(16, "0f00 _start (/tide)"));
        assert_eq!(seen(17, "1900 [unknown] (/tide)")[&(7, Build::Later)].unnamed, 1);
    }
}
