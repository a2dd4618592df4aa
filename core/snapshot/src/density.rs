//! How densely tests try what can be tried in many places. For tests alone, and the one file of
//! core that reads the environment: `PERFTAB_TIER`, as `tests/src/tier.rs` explains it.

use std::panic::Location;

/// In `cargo xtask test --all` all of it; else this many, evenly spread, the first and the last
/// among them, and a line that says so.
#[track_caller]
pub(crate) fn part_of<T>(all: impl IntoIterator<Item = T>, few: usize, what: &str) -> Vec<T> {
    let all: Vec<T> = all.into_iter().collect();
    let count = all.len();
    if std::env::var("PERFTAB_TIER").is_ok_and(|tier| tier == "all") || count <= few {
        return all;
    }
    let thread = std::thread::current();
    let name = thread.name().filter(|name| *name != "main").map(str::to_owned);
    let name = name.unwrap_or_else(|| Location::caller().to_string());
    println!("REDUCED: {name}: {few} of {count} {what}");
    let place = |number: usize| number * (count - 1) / (few - 1);
    let mut places = (0..few).map(place).peekable();
    let chosen = all.into_iter().enumerate();
    chosen.filter(|(index, _)| places.next_if_eq(index).is_some()).map(|(_, it)| it).collect()
}

#[test]
fn a_part_has_the_first_and_the_last() {
    let part = part_of(0..100, 4, "numbers");
    assert!(part == [0, 33, 66, 99] || part.len() == 100, "{part:?}");
}
