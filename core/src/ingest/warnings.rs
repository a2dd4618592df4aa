//! Warnings, one for each kind of trouble, however often it is met. Each place in the code that
//! adds one tells of a kind of its own.

use std::panic::Location;

use crate::error::{Warning, WarningKind};

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

    /// All of them, worst first.
    pub(super) fn finish(self) -> Vec<Warning> {
        let mut warnings: Vec<Warning> = self.warnings.into_iter().map(|(_, it)| it).collect();
        warnings.sort_by_key(|warning| warning.kind);
        warnings
    }
}
