//! Warnings: one for each kind of trouble, however often it is met, or one for each thing that has
//! it, where it must be told which. Each place in the code that adds one tells of a kind of its own.

use std::panic::Location;

use crate::error::{Warning, WarningKind};

/// So many things are named; those after them are only counted.
const MOST_NAMED: usize = 20;

/// What has been met so far.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    warnings: Vec<(&'static Location<'static>, Warning)>,
}

impl Warnings {
    /// Adds to the warning that this place has added before, or makes it; `message` is only called
    /// then. The first offset is kept.
    #[track_caller]
    pub(super) fn add(
        &mut self,
        kind: WarningKind,
        offset: Option<u64>,
        message: impl FnOnce() -> String,
    ) {
        let place = Location::caller();
        match self
            .warnings
            .iter_mut()
            .find(|(known, warning)| *known == place && warning.kind == kind)
        {
            Some((_, warning)) => warning.count += 1,
            None => {
                let warning = Warning { kind, offset, count: 1, message: message() };
                self.warnings.push((place, warning));
            }
        }
    }

    /// Adds a warning of its own, whose message names the thing that it is about.
    #[track_caller]
    pub(super) fn add_named(
        &mut self,
        kind: WarningKind,
        offset: Option<u64>,
        message: impl FnOnce() -> String,
    ) {
        let place = Location::caller();
        let mut same = self.warnings.iter_mut().rev().filter(|(known, _)| *known == place);
        match (same.next(), same.count() + 1 >= MOST_NAMED) {
            (Some((_, last)), true) => last.count += 1,
            _ => {
                let warning = Warning { kind, offset, count: 1, message: message() };
                self.warnings.push((place, warning));
            }
        }
    }

    /// All of them, worst first.
    pub(super) fn finish(self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = self.warnings.into_iter().map(|(_, it)| it).collect();
        warnings.sort_by_key(|warning| warning.kind);
        warnings
    }
}
