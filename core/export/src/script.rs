//! Samples as text, one block each: who, where, when and what, then a line for each word of the
//! call chain. Nothing is folded or left out; scripts read it.
//!
//! ```text
//! comm pid/tid [cpu] seconds.nanoseconds: period event: what a tracepoint's print format says, or name=value …
//!         address name (inlined)
//!         address name (dso)
//!         addr, data_src … and what they are, for each field that was asked for
//!         branches from/to/predicted/transaction/abort/cycles …
//!         raw bytes in hex, if nothing says what their fields are
//! ```
//!
//! What a tracepoint says stands where perf has it: programs that read `perf script` take lines below for a call chain.
//! Lines after the first begin with a tab; an empty line ends the block. What was not recorded is
//! `-` (cpu, time) or -1 (pid, tid). Addresses are hex, as the kernel wrote them: those of callers
//! are return addresses, while their names are looked up one byte earlier, where the call is. `[guessed]` stands before
//! names of callers that were found by the frame pointer, `[forced]` before names of another build.

use std::fmt::Write;

use perftab_names::{Inlining, Provenance};
use perftab_perfdata::decode::data_source::{DataSource, page_size_text};
use perftab_perfdata::decode::event_format::EventFormat;
use perftab_perfdata::decode::print_format::{FunctionAt, PrintFormat};
use perftab_perfdata::decode::sample_tail::{Branch, BranchFlags, BranchStack};
use perftab_perfdata::map::Map;
use perftab_perfdata::text::printable;
use perftab_profile::ingest::WatchedSample;
use perftab_profile::{DsoKind, FrameId, Profile, PseudoFrame, StackId, Stacks};

use crate::script_fields::Names;

/// What is printed of samples that have it, if somebody asks; perf's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Address of data.
    Addr,
    /// What memory access it was.
    DataSrc,
    /// What that cost.
    Weight,
    /// Physical address of data.
    PhysAddr,
    /// Size of the page of data.
    DataPageSize,
    /// What a tracepoint's fields hold, `name=value` each.
    Fields,
    /// Below each frame, the line of source that it is at, where that is known.
    Srcline(SourcePath),
}

/// How much is printed of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePath {
    /// The name of the file.
    Name,
    /// All of it.
    Whole,
}

impl Field {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Addr,
        Self::DataSrc,
        Self::Weight,
        Self::PhysAddr,
        Self::DataPageSize,
        Self::Fields,
        Self::Srcline(SourcePath::Name),
    ];

    /// As perf calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Addr => "addr",
            Self::DataSrc => "data_src",
            Self::Weight => "weight",
            Self::PhysAddr => "phys_addr",
            Self::DataPageSize => "data_page_size",
            Self::Fields => "fields",
            Self::Srcline(_) => "srcline",
        }
    }

    /// What a sample has for it; `None` also of what its frames have.
    fn value(self, sample: &WatchedSample<'_>) -> Option<String> {
        let tail = &sample.tail;
        let hex = |address: u64| format!("{address:x}");
        match self {
            Self::Addr => sample.data_address.map(hex),
            Self::DataSrc => {
                tail.data_source.map(|source| format!("{source:x} {}", DataSource::new(source)))
            }
            Self::Weight => tail.weight.map(|weight| weight.cost().to_string()),
            Self::PhysAddr => tail.physical_address.map(hex),
            Self::DataPageSize => tail.data_page_size.map(page_size_text),
            Self::Fields => {
                let mut text = String::new();
                write_fields(sample.format?, tail.raw?, &mut text);
                Some(text.trim_start().to_owned())
            }
            Self::Srcline(_) => None,
        }
    }
}

/// What tracepoints say of samples, in their own words.
#[derive(Default)]
pub struct Traces {
    /// By the tracepoint's id; `None`: its format cannot be read.
    formats: Map<u64, Option<PrintFormat>>,
}

impl Traces {
    /// Appends it, or where that cannot be read the fields behind a blank, as perf does.
    pub(crate) fn write(
        &mut self,
        sample: &WatchedSample<'_>,
        function_at: &FunctionAt<'_>,
        text: &mut String,
    ) {
        let (Some(raw), Some(format)) = (sample.tail.raw, sample.format) else { return };
        let known = self.formats.entry(format.id).or_insert_with(|| PrintFormat::of(format));
        match known {
            Some(known) => known.write(raw, function_at, text),
            None => write_fields(format, raw, text),
        }
    }
}

/// Name of what has none.
pub(crate) const UNKNOWN: &str = "[unknown]";

/// Addresses of a sample's call chain, those of user space as they were unwound.
pub(crate) fn chain_of(sample: &WatchedSample<'_>, unwound: &[u64]) -> Vec<u64> {
    let mut addresses = sample.addresses();
    if !unwound.is_empty() {
        // The upper half is the kernel's, which comes first.
        let of_kernel = addresses.iter().take_while(|&address| address >> 63 == 1).count();
        addresses.truncate(of_kernel);
        addresses.extend_from_slice(unwound);
    }
    addresses
}

/// Appends the block of a sample. `names` are those of the whole recording, which
/// has been read before: names may come from its end. `unwound` has the addresses of user space on its stack, if more
/// is known of it than its call chain. `more` are lines that whoever asks has of the sample.
pub fn write_sample(
    names: &Names<'_>,
    sample: &WatchedSample<'_>,
    unwound: &[u64],
    fields: &[Field],
    traces: &mut Traces,
    more: &str,
    text: &mut String,
) {
    let profile = names.profile;
    write_head(profile, sample, text);
    if sample.format.is_some() && sample.tail.raw.is_some() {
        text.push(' ');
        traces.write(sample, names.function_at, text);
    }
    text.push('\n');
    let addresses = chain_of(sample, unwound);
    let mut frames = FramesOfWords::new(profile, sample, addresses.len());
    for address in addresses {
        let frame = frames.next();
        write_frame(names, (address, frame, frames.found), fields, text);
    }
    for field in fields {
        if let Some(value) = field.value(sample) {
            let _ = writeln!(text, "\t{} {value}", field.name());
        }
    }
    if let Some(branches) = sample.tail.branches.filter(|branches| !branches.is_empty()) {
        write_branches(&branches, text);
    }
    write_raw(sample, text);
    text.push_str(more);
    text.push('\n');
}

fn write_head(profile: &Profile, sample: &WatchedSample<'_>, text: &mut String) {
    // A String takes everything that is written.
    let thread = sample.so_far.threads.thread(sample.thread);
    let comm = printable(sample.so_far.strings.get(thread.name));
    let _ = write!(text, "{comm} {}/{} ", sample.pid as i32, sample.tid as i32);
    let _ = match sample.cpu {
        Some(cpu) if cpu != u32::MAX => write!(text, "[{cpu:03}] "),
        _ => write!(text, "[-] "),
    };
    let _ = match sample.time_nanos {
        Some(time) => write!(text, "{}.{:09}: ", time / 1_000_000_000, time % 1_000_000_000),
        None => write!(text, "-: "),
    };
    let event = profile.events.get(sample.event.index());
    let event = printable(event.map_or("", |event| event.name.as_str()));
    let _ = write!(text, "{} {event}:", sample.weight);
}

/// A word of a call chain: its inlined levels first, as they are innermost.
fn write_frame(
    &Names { profile, symbols, .. }: &Names<'_>,
    (address, frame, found): (u64, Option<FrameId>, Found),
    fields: &[Field],
    text: &mut String,
) {
    let Some(frame) = frame else {
        let _ = writeln!(text, "\t{address:16x} {UNKNOWN} ({UNKNOWN})");
        return;
    };
    let dso = profile.dsos.get(profile.frames.get(frame).dso);
    let dso = match dso.kind {
        DsoKind::Unmapped => UNKNOWN.into(),
        _ => printable(&dso.path),
    };
    let guessed = if found == Found::Guessed { "[guessed] " } else { "" };
    for level in symbols.levels(frame).iter().rev() {
        let function = symbols.function(level.function);
        let forced = if function.provenance == Provenance::Forced { "[forced] " } else { "" };
        let name = function.name.map_or(UNKNOWN.into(), printable);
        let place = match level.inlining {
            Inlining::Inlined => "inlined",
            Inlining::Called => &dso,
        };
        let _ = writeln!(text, "\t{address:16x} {guessed}{forced}{name} ({place})");
        let paths = fields.iter().find_map(|field| match field {
            Field::Srcline(paths) => Some(*paths),
            _ => None,
        });
        if let (Some(file), Some(line), Some(paths)) = (level.file, level.line, paths) {
            let path = symbols.file(file);
            let file = match paths {
                SourcePath::Name => path.rsplit('/').next().unwrap_or(path),
                SourcePath::Whole => path,
            };
            let _ = writeln!(text, "  {}:{line}", printable(file));
        }
    }
}

/// Newest first.
fn write_branches(branches: &BranchStack<'_>, text: &mut String) {
    text.push_str("\tbranches");
    for Branch { from, to, flags } in branches.iter() {
        let _ = write!(text, " {from:#x}/{to:#x}/");
        write_flags(flags, text);
    }
    text.push('\n');
}

/// Letters as perf has them (mispredicted or predicted, in a transaction, aborted), and cycles.
pub fn write_flags(flags: BranchFlags, text: &mut String) {
    let prediction = match (flags.is_mispredicted(), flags.is_predicted()) {
        (true, _) => 'M',
        (false, true) => 'P',
        (false, false) => '-',
    };
    let transaction = if flags.is_in_transaction() { 'X' } else { '-' };
    let abort = if flags.is_abort() { 'A' } else { '-' };
    let _ = write!(text, "{prediction}/{transaction}/{abort}/{}", flags.cycles());
}

fn write_raw(sample: &WatchedSample<'_>, text: &mut String) {
    let Some(raw) = sample.tail.raw.filter(|_| sample.format.is_none()) else { return };
    text.push_str("\traw ");
    for byte in raw {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\n');
}

/// Each field of a tracepoint and its value, behind a blank.
fn write_fields(format: &EventFormat, raw: &[u8], text: &mut String) {
    for field in format.own_fields() {
        if let Some(value) = field.read(raw) {
            let _ = write!(text, " {}={}", printable(&field.name), printable(&value.to_string()));
        }
    }
}

/// How a caller was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// As was recorded, or as files tell.
    Known,
    /// By the frame pointer, or from there on.
    Guessed,
}

/// The frame of each word of a chain: a frame in no mapping counts several, and one that is no code counts none.
pub(crate) struct FramesOfWords<'a, I> {
    profile: &'a Profile,
    frames: I,
    run: Option<(FrameId, u64)>,
    /// How the frame that came last was found.
    pub(crate) found: Found,
}

impl<'a> FramesOfWords<'a, ()> {
    pub(crate) fn new(
        profile: &'a Profile,
        sample: &WatchedSample<'_>,
        words: usize,
    ) -> FramesOfWords<'a, impl Iterator<Item = FrameId> + use<'a>> {
        let of = |stack| {
            let frames = profile.stacks.frames(stack);
            FramesOfWords { profile, frames, run: None, found: Found::Known }
        };
        // In a broken file some may have no frame; no word has the name of another then.
        let is_of_words = |&stack: &StackId| of(stack).take(words + 1).count() == words;
        of(sample.stack_in(profile).filter(is_of_words).unwrap_or(Stacks::EMPTY))
    }
}

impl<I: Iterator<Item = FrameId>> Iterator for FramesOfWords<'_, I> {
    type Item = FrameId;

    fn next(&mut self) -> Option<FrameId> {
        if let Some((frame, left @ 1..)) = self.run {
            self.run = Some((frame, left - 1));
            return Some(frame);
        }
        loop {
            let id = self.frames.next()?;
            let frame = self.profile.frames.get(id);
            match self.profile.dsos.get(frame.dso).kind {
                DsoKind::Pseudo if frame.address == PseudoFrame::Guessed.number() => {
                    self.found = Found::Guessed;
                }
                DsoKind::Pseudo => {}
                DsoKind::Unmapped => {
                    self.run = Some((id, frame.address.saturating_sub(1)));
                    return Some(id);
                }
                _ => return Some(id),
            }
        }
    }
}
