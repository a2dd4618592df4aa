//! Numbers that stand for kinds of things. They are part of the format: positions never change,
//! new ones are appended.

use perftab_images::ImageContents;
use perftab_names::{Provenance, Status};
use perftab_perfdata::error::WarningKind;
use perftab_profile::{DsoKind, EventOrigin, MarkKind, RecordedBy};

use crate::Times;

pub(super) const DSO_KINDS: [DsoKind; 7] = [
    DsoKind::User,
    DsoKind::Kernel,
    DsoKind::Module,
    DsoKind::Vdso,
    DsoKind::Jit,
    DsoKind::Anon,
    DsoKind::Pseudo,
];

pub(super) const RECORDED_BY: [Option<RecordedBy>; 4] =
    [None, Some(RecordedBy::Mmap), Some(RecordedBy::Table), Some(RecordedBy::Stream)];

/// Of the first so many, facts have a number each.
pub(super) const COUNTED_STATUSES: usize = 6;

pub(super) const STATUSES: [Status; 8] = [
    Status::Matched,
    Status::Embedded,
    Status::Missing,
    Status::Mismatched,
    Status::NoIdentity,
    Status::Forced,
    Status::NoSymbols,
    Status::SelfNamed,
];

pub(super) const PROVENANCES: [Provenance; 4] =
    [Provenance::Matched, Provenance::Embedded, Provenance::Forced, Provenance::SelfNamed];

pub(super) const WARNING_KINDS: [WarningKind; 20] = [
    WarningKind::Unfinished,
    WarningKind::Truncated,
    WarningKind::Unreadable,
    WarningKind::Unsupported,
    WarningKind::Lost,
    WarningKind::OutOfOrder,
    WarningKind::UnknownEvent,
    WarningKind::BuildIdConflict,
    WarningKind::Ambiguous,
    WarningKind::PartsMissing,
    WarningKind::Damaged,
    WarningKind::Unpacking,
    WarningKind::BadSection,
    WarningKind::Text,
    WarningKind::NoTime,
    WarningKind::NotUnwound,
    WarningKind::TruncatedStacks,
    WarningKind::PartRead,
    WarningKind::NoFramePointers,
    WarningKind::StacksReadLater,
];

pub(super) const EVENT_ORIGINS: [EventOrigin; 2] = [EventOrigin::Recorded, EventOrigin::Derived];

pub(super) const MARK_KINDS: [MarkKind; 3] = [MarkKind::Lost, MarkKind::Exec, MarkKind::Fork];

pub(super) const TIMES: [Times; 4] =
    [Times::None, Times::Processes, Times::Threads, Times::Samples];

/// What of a single sample is otherwise than was expected; its event stands above these bits.
pub(super) const OTHER_CPU: u64 = 1;
pub(super) const OTHER_THREAD: u64 = 2;
/// It has the time of the sample before it.
pub(super) const SAME_TIME: u64 = 4;
pub(super) const NO_TIME: u64 = 8;
pub(super) const EVENT_SHIFT: u32 = 4;

/// Length that says that an identity is a content hash; others are those of build-ids.
pub(super) const CONTENT_HASH: u8 = 32;

/// What a function is called with: the first two are no functions.
pub(super) const CODE_FOLDED: u64 = 0;
pub(super) const CODE_NO_MAPPING: u64 = 1;
pub(super) const CODE_FUNCTIONS: u64 = 2;
/// In place of a caller's code: a process.
pub(super) const CODE_GROUP: u64 = u64::MAX;

/// Position of a thing in its table. What is in none is written as the first.
pub(super) fn code<T: PartialEq>(table: &[T], thing: &T) -> u8 {
    table.iter().position(|known| known == thing).unwrap_or_default() as u8
}

pub(super) fn gives_code(gives: ImageContents) -> u8 {
    u8::from(gives.functions) | u8::from(gives.inlines) << 1 | u8::from(gives.unwinding) << 2
}

pub(super) fn gives_of(code: u8) -> ImageContents {
    ImageContents {
        memory: false,
        functions: code & 1 != 0,
        inlines: code & 2 != 0,
        unwinding: code & 4 != 0,
        symbol_table: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_warning_has_a_code() {
        use WarningKind::*;
        // A new kind does not compile here until it is in the list below, and in the table.
        let all = |kind: WarningKind| match kind {
            Unfinished | PartsMissing | Truncated | Damaged | Unpacking | BadSection
            | Unreadable | Unsupported | NotUnwound | TruncatedStacks | Text | Lost
            | OutOfOrder | NoTime | UnknownEvent | BuildIdConflict | Ambiguous | PartRead
            | NoFramePointers | StacksReadLater => [
                Unfinished,
                PartsMissing,
                Truncated,
                Damaged,
                Unpacking,
                BadSection,
                Unreadable,
                Unsupported,
                NotUnwound,
                TruncatedStacks,
                Text,
                Lost,
                OutOfOrder,
                NoTime,
                UnknownEvent,
                BuildIdConflict,
                Ambiguous,
                PartRead,
                NoFramePointers,
                StacksReadLater,
            ],
        };
        for kind in all(Lost) {
            assert_eq!(WARNING_KINDS[usize::from(code(&WARNING_KINDS, &kind))], kind);
        }
    }
}
