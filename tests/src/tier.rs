//! How much is tested.
//!
//! The fast tier is for before each commit: something of everything. `cargo xtask test --all` sets
//! `PERFTAB_TIER=all` and runs everything. A test that takes long is left out of the fast tier by
//! `#[ignore = "left to --all: why"]`; one that tries the same in many places tries a few of them
//! there ([`part_of`]), and says so.
//!
//! core's own tests have a copy of this, `core/snapshot/src/density.rs`, since core depends on no test.

use std::panic::Location;
use std::thread;

/// Which tests are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// Before each commit.
    Fast,
    /// `cargo xtask test --all`.
    All,
}

impl Tier {
    /// By `$PERFTAB_TIER`: `fast`, as without it, or `all`.
    pub fn of_this_run() -> Self {
        match std::env::var("PERFTAB_TIER").as_deref() {
            Ok("all") => Self::All,
            Ok("fast") | Err(_) => Self::Fast,
            Ok(other) => panic!("PERFTAB_TIER is fast or all, not {other}"),
        }
    }
}

/// In `--all` all of it; in the fast tier this many, evenly spread, the first and the last among
/// them. What was left out is said in a line that `cargo xtask test` repeats.
#[track_caller]
pub fn part_of<T>(all: impl IntoIterator<Item = T>, few: usize, what: &str) -> Vec<T> {
    let all: Vec<T> = all.into_iter().collect();
    let count = all.len();
    if Tier::of_this_run() == Tier::All || count <= few {
        return all;
    }
    let kept = spread(count, few);
    // A test that runs on the main thread, as with --test-threads=1, has no name.
    let thread = thread::current();
    let name = thread.name().filter(|name| *name != "main").map(str::to_owned);
    let name = name.unwrap_or_else(|| Location::caller().to_string());
    println!("REDUCED: {name}: {} of {count} {what}", kept.len());
    let mut kept = kept.into_iter().peekable();
    let chosen = all.into_iter().enumerate();
    chosen.filter(|(index, _)| kept.next_if_eq(index).is_some()).map(|(_, it)| it).collect()
}

/// `few` of the numbers below `count`, in order, from the first to the last.
fn spread(count: usize, few: usize) -> Vec<usize> {
    assert!(few >= 2, "the first and the last");
    (0..few).map(|number| number * (count - 1) / (few - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn a_part_has_the_ends_and_is_spread_evenly() {
        assert_eq!(spread(160, 2), [0, 159]);
        assert_eq!(spread(10, 4), [0, 3, 6, 9]);
        for few in 2..100 {
            let part = spread(100, few);
            assert_eq!((part.len(), part[0], part[few - 1]), (few, 0, 99));
            let steps: Vec<usize> = part.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (least, most) = (steps.iter().min(), steps.iter().max());
            assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{steps:?}");
        }
    }
}
