//! Samples with the fields that somebody chose, spaced as `perf script -F` spaces them: a line for each, and where
//! addresses or names are among the fields and call chains were recorded, a line for each word of the chain.
//!
//! As in perf, an address of user space is where it is in its file. Names are perftab's: only what matches has one.

use std::fmt::Write;

use perftab_names::{Inlining, Provenance, Symbols};
use perftab_perfdata::decode::print_format::FunctionAt;
use perftab_perfdata::text::printable;
use perftab_profile::ingest::WatchedSample;
use perftab_profile::{CallChains, DsoKind, FrameId, Profile};

use crate::script::{Found, FramesOfWords, Traces, UNKNOWN, chain_of};

/// A field; perf's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Name of the thread.
    Comm,
    /// Process.
    Pid,
    /// Thread.
    Tid,
    /// CPU.
    Cpu,
    /// When.
    Time,
    /// How much it stands for.
    Period,
    /// What was counted.
    Event,
    /// Of tracepoints, what they say in their own words.
    Trace,
    /// Addresses.
    Ip,
    /// Functions.
    Sym,
    /// How far behind the beginning of its function an address is; beside the function.
    Symoff,
    /// DSOs.
    Dso,
}

impl Column {
    /// All of them, in perf's order: what is asked for in another order is printed in this one.
    pub const ALL: [Self; 12] = [
        Self::Comm,
        Self::Pid,
        Self::Tid,
        Self::Cpu,
        Self::Time,
        Self::Period,
        Self::Event,
        Self::Trace,
        Self::Ip,
        Self::Sym,
        Self::Symoff,
        Self::Dso,
    ];

    /// As perf calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Comm => "comm",
            Self::Pid => "pid",
            Self::Tid => "tid",
            Self::Cpu => "cpu",
            Self::Time => "time",
            Self::Period => "period",
            Self::Event => "event",
            Self::Trace => "trace",
            Self::Ip => "ip",
            Self::Sym => "sym",
            Self::Symoff => "symoff",
            Self::Dso => "dso",
        }
    }

    /// Whether it says something of each word of a call chain.
    fn is_of_frames(self) -> bool {
        matches!(self, Self::Ip | Self::Sym | Self::Symoff | Self::Dso)
    }
}

/// How samples are printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What is printed.
    pub columns: Vec<Column>,
    /// Who says so.
    pub choice: Choice,
    /// Words of a call chain that are printed at most, the innermost first.
    pub most_words: usize,
    /// How times are printed.
    pub times: Times,
    /// What times are counted from.
    pub zero_nanos: u64,
    /// Whether call chains are printed.
    pub chains: Chains,
}

/// Where columns come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// They are what perf prints by itself, more or less: of tracepoints that is neither a period nor, without call
    /// chains, where they are.
    Usual,
    /// They were named.
    Named,
}

/// Digits of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Six behind the point.
    Microseconds,
    /// Nine.
    Nanoseconds,
}

/// What is printed of a call chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chains {
    /// All of it, a line each.
    Whole,
    /// Its innermost word, beside the rest.
    Innermost,
}

impl Layout {
    fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    fn is_usual_of_tracepoint(&self, sample: &WatchedSample<'_>) -> bool {
        self.choice == Choice::Usual && sample.format.is_some()
    }
}

/// What names come from: the profile, its functions, and how far behind the beginning of its symbol a frame is.
pub struct Names<'a> {
    /// The profile.
    pub profile: &'a Profile,
    /// Its functions.
    pub symbols: &'a Symbols,
    /// Where in its symbol a frame is.
    pub offset: &'a dyn Fn(FrameId) -> Option<u64>,
    /// The function of the kernel at an address, and how far behind its beginning that is.
    pub function_at: &'a FunctionAt<'a>,
}

/// Appends a sample. `unwound` is as in [`crate::script::write_sample`].
pub fn write_fields(
    names: &Names<'_>,
    sample: &WatchedSample<'_>,
    unwound: &[u64],
    layout: &Layout,
    traces: &mut Traces,
    text: &mut String,
) {
    let profile = names.profile;
    let has_chains = profile
        .events
        .get(sample.event.index())
        .is_some_and(|event| event.call_chains == CallChains::Recorded);
    let below = has_chains && layout.chains == Chains::Whole;
    let has_frames = layout.columns.iter().any(|column| column.is_of_frames())
        && (below || !layout.is_usual_of_tracepoint(sample));
    let below = below && has_frames;
    write_head(profile, sample, layout, below, text);
    if layout.has(Column::Trace) {
        traces.write(sample, names.function_at, text);
    }
    if has_frames {
        let addresses = chain_of(sample, unwound);
        let mut frames = FramesOfWords::new(profile, sample, addresses.len());
        text.push(if below { '\n' } else { ' ' });
        let shown = if below { layout.most_words } else { 1 };
        let mut before: Option<u64> = None;
        for address in addresses.into_iter().take(shown) {
            let frame = frames.next();
            let is_in_kernel = |address: u64| address >> 63 == 1;
            // The first word of user code below the kernel's is where the kernel was entered.
            let is_caller =
                before.is_some_and(|before| is_in_kernel(before) <= is_in_kernel(address));
            let word = Word { address, frame, found: frames.found, is_caller };
            before = Some(address);
            write_word(names, (&word, layout, below), text);
        }
    }
    text.push('\n');
}

fn write_head(
    profile: &Profile,
    sample: &WatchedSample<'_>,
    layout: &Layout,
    below: bool,
    text: &mut String,
) {
    // A String takes everything that is written.
    let _ = if layout.has(Column::Comm) {
        let thread = sample.so_far.threads.thread(sample.thread);
        let comm = printable(sample.so_far.strings.get(thread.name));
        if below { write!(text, "{comm} ") } else { write!(text, "{comm:>16} ") }
    } else {
        Ok(())
    };
    let (pid, tid) = (sample.pid as i32, sample.tid as i32);
    let _ = match (layout.has(Column::Pid), layout.has(Column::Tid)) {
        (true, true) => write!(text, "{pid:5}/{tid:<5} "),
        (true, false) => write!(text, "{pid:5} "),
        (false, true) => write!(text, "{tid:5} "),
        (false, false) => Ok(()),
    };
    if layout.has(Column::Cpu) {
        let _ = match sample.cpu {
            Some(cpu) if cpu != u32::MAX => write!(text, "[{cpu:03}] "),
            // As in perf, which has it among its usual fields where it was recorded.
            _ => Ok(()),
        };
    }
    if layout.has(Column::Time) {
        let (seconds, nanos) = match sample.time_nanos {
            Some(time) => {
                let time = time.saturating_sub(layout.zero_nanos);
                (time / 1_000_000_000, time % 1_000_000_000)
            }
            None => (0, 0),
        };
        let _ = match (sample.time_nanos, layout.times) {
            (None, _) => write!(text, "{:>12}: ", "-"),
            (_, Times::Nanoseconds) => write!(text, "{seconds:5}.{nanos:09}: "),
            (_, Times::Microseconds) => {
                let time = format!("{seconds}.{:06}", nanos / 1000);
                write!(text, "{time:>12}: ")
            }
        };
    }
    if layout.has(Column::Period) && !layout.is_usual_of_tracepoint(sample) {
        let _ = write!(text, "{:10} ", sample.weight);
    }
    if layout.has(Column::Event) {
        let events = || profile.events.iter().map(|event| event.name.as_str());
        let width = events().map(str::len).max().unwrap_or_default();
        let event = printable(events().nth(sample.event.index()).unwrap_or_default());
        let _ = write!(text, "{event:>width$}: ");
    }
}

/// A word of a call chain.
struct Word {
    address: u64,
    frame: Option<FrameId>,
    found: Found,
    is_caller: bool,
}

fn write_word(names: &Names<'_>, (word, layout, below): (&Word, &Layout, bool), text: &mut String) {
    let Names { profile, symbols, offset, .. } = names;
    let frame = word.frame.map(|id| (id, profile.frames.get(id)));
    let dso = frame.map(|(_, frame)| profile.dsos.get(frame.dso));
    let dso = dso.filter(|dso| dso.kind != DsoKind::Unmapped);
    // In files, where perf knows one; a single address is printed as it was recorded.
    let address = match (frame, dso.map(|dso| dso.kind)) {
        (Some((_, frame)), Some(DsoKind::User | DsoKind::Vdso)) if below => {
            frame.address.saturating_add(u64::from(word.is_caller))
        }
        _ => word.address,
    };
    let place = match dso {
        Some(dso) => printable(&dso.path),
        None => UNKNOWN.into(),
    };
    let levels = frame.map_or(&[][..], |(id, _)| symbols.levels(id));
    // As in perf: of what was inlined, too, it is that of the function around it.
    let within = frame.filter(|_| layout.has(Column::Symoff) && !levels.is_empty());
    let within = within.and_then(|(id, _)| offset(id));
    let within = within.map(|within| within.saturating_add(u64::from(word.is_caller)));
    let mut line = |name: &str, mark: &str, place: &str| {
        if layout.has(Column::Ip) {
            let _ = write!(text, "{}{address:16x}", if below { "\t" } else { "" });
        }
        if layout.has(Column::Sym) {
            let _ = write!(text, " {mark}{name}");
            let _ = within.map_or(Ok(()), |within| write!(text, "+{within:#x}"));
        }
        if layout.has(Column::Dso) {
            let _ = write!(text, " ({place})");
        }
        if below {
            text.push('\n');
        }
    };
    if levels.is_empty() {
        line(UNKNOWN, "", &place);
    }
    let shown = if below { usize::MAX } else { 1 };
    for level in levels.iter().rev().take(shown) {
        let function = symbols.function(level.function);
        let mark = match (function.provenance, word.found) {
            (Provenance::Forced, _) => "[forced] ",
            (_, Found::Guessed) => "[guessed] ",
            _ => "",
        };
        let name = function.name.map_or(UNKNOWN.into(), printable);
        match level.inlining {
            Inlining::Inlined => line(&name, mark, "inlined"),
            Inlining::Called => line(&name, mark, &place),
        }
    }
}
