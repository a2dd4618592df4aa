//! Warnings, one for each kind of trouble, however often it is met.

use crate::error::{Warning, WarningKind};

/// What has been met so far.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    warnings: Vec<Warning>,
}

impl Warnings {
    /// Adds to the warning of this kind, or makes it; `message` is only called then. The first
    /// place is kept.
    pub(super) fn add(
        &mut self,
        kind: WarningKind,
        offset: Option<u64>,
        message: impl FnOnce() -> String,
    ) {
        match self.warnings.iter_mut().find(|warning| warning.kind == kind) {
            Some(warning) => warning.count += 1,
            None => self.warnings.push(Warning { kind, offset, count: 1, message: message() }),
        }
    }

    /// All of them, worst first.
    pub(super) fn finish(mut self) -> Vec<Warning> {
        self.warnings.sort_by_key(|warning| warning.kind);
        self.warnings
    }
}
