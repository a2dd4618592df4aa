//! Warnings: one for each kind of trouble, however often it is met, or one for each thing that has
//! it, where it must be told which. Each place in the code that adds one tells of a kind of its own.

use perftab_perfdata::sorting::sort_by_key;
use std::panic::Location;

use perftab_perfdata::error::{Warning, WarningKind};

/// So many things are named; those after them are only counted.
const MOST_NAMED: usize = 20;

/// What has been met so far.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    warnings: Vec<(Source, Warning)>,
}

/// What makes a trouble the same as one that was met before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The place in the code that tells of it.
    Place(&'static Location<'static>),
    /// What it concerns.
    Subject(&'static str),
    /// What is said of it.
    Message,
}

impl Warnings {
    /// Adds to the warning that the same place in the code made of this kind, or makes it;
    /// `message` is only called then. The first offset is kept.
    #[track_caller]
    pub(super) fn add(
        &mut self,
        kind: WarningKind,
        offset: Option<u64>,
        message: impl FnOnce() -> String,
    ) {
        self.add_from(Source::Place(Location::caller()), kind, offset, message);
    }

    /// As [`Self::add`], of a sample: how many it concerns is how often it was met.
    #[track_caller]
    pub(super) fn add_sample(
        &mut self,
        kind: WarningKind,
        offset: u64,
        message: impl FnOnce() -> String,
    ) {
        let source = Source::Place(Location::caller());
        let warning = self.add_from(source, kind, Some(offset), message);
        warning.samples = Some(warning.count);
    }

    /// Adds a warning about so many samples, and says it once.
    pub(super) fn add_samples(&mut self, kind: WarningKind, samples: u64, message: String) {
        let warning = Warning { kind, offset: None, count: 1, samples: Some(samples), message };
        self.warnings.push((Source::Message, warning));
    }

    /// Adds to the warning of this kind about the same subject, or makes it.
    pub(super) fn add_of(
        &mut self,
        subject: &'static str,
        kind: WarningKind,
        offset: Option<u64>,
        message: impl FnOnce() -> String,
    ) {
        self.add_from(Source::Subject(subject), kind, offset, message);
    }

    /// Whether anything was said of this kind.
    pub(super) fn has(&self, kind: WarningKind) -> bool {
        self.warnings.iter().any(|(_, warning)| warning.kind == kind)
    }

    fn add_from(
        &mut self,
        source: Source,
        kind: WarningKind,
        offset: Option<u64>,
        message: impl FnOnce() -> String,
    ) -> &mut Warning {
        let same = |(known, warning): &(Source, Warning)| warning.kind == kind && *known == source;
        let known = self.warnings.iter().position(same);
        let index = known.unwrap_or(self.warnings.len());
        if known.is_none() {
            let message = message();
            let warning = Warning { kind, offset, count: 0, samples: None, message };
            self.warnings.push((source, warning));
        }
        let (_, warning) = &mut self.warnings[index];
        warning.count += 1;
        warning
    }

    /// Adds a warning of its own, whose message names the thing that it is about; or adds to the
    /// one with that message.
    pub(super) fn add_named(
        &mut self,
        kind: WarningKind,
        offset: Option<u64>,
        message: impl FnOnce() -> String,
    ) {
        let is_of_kind = |(source, warning): &(Source, Warning)| {
            warning.kind == kind && *source == Source::Message
        };
        let full = self.warnings.iter().filter(|known| is_of_kind(known)).count() >= MOST_NAMED;
        let message = if full { String::new() } else { message() };
        let same = |known: &&mut (Source, Warning)| {
            is_of_kind(known) && (full || known.1.message == message)
        };
        match self.warnings.iter_mut().rev().find(same) {
            Some((_, warning)) => warning.count += 1,
            None => {
                let warning = Warning { kind, offset, count: 1, samples: None, message };
                self.warnings.push((Source::Message, warning));
            }
        }
    }

    /// All of them, worst first.
    pub(super) fn finish(self) -> Vec<Warning> {
        let mut warnings: Vec<_> = self.warnings.into_iter().map(|(_, warning)| warning).collect();
        sort_by_key(&mut warnings, |warning| warning.kind);
        warnings
    }
}
