//! What reaches the terminal: results on standard output, notices and progress on standard error.
//!
//! Constraint: names come from files of strangers, so control characters never reach the terminal
//! ([`printable`]); a reader that went away ([`is_closed`]) is no failure.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use perftab_core::text::{grouped, printable};

/// How a command ended when it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was read and shown.
    Complete,
    /// Done, but events were lost or parts were unreadable; warnings said which.
    WithLosses,
}

/// Standard output was closed by its reader.
#[derive(Debug)]
struct OutputClosed;

impl fmt::Display for OutputClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed")
    }
}

impl std::error::Error for OutputClosed {}

/// Buffered standard output. `print!` would panic where the reader has gone.
pub struct Results(BufWriter<StdoutLock<'static>>);

impl Results {
    /// Locks standard output until dropped.
    pub fn new() -> Self {
        Self(BufWriter::with_capacity(64 << 10, io::stdout().lock()))
    }

    fn check<T>(result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => io::Error::new(io::ErrorKind::BrokenPipe, OutputClosed),
            _ => error,
        })
    }
}

impl Write for Results {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::check(self.0.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::check(self.0.flush())
    }
}

/// Writes results into a file, or to standard output where that is named `-`.
pub fn write(output: &Path, pieces: &[&[u8]]) -> anyhow::Result<()> {
    let write_all = |to: &mut dyn Write| {
        pieces.iter().try_for_each(|piece| to.write_all(piece))?;
        to.flush()
    };
    if output == Path::new("-") {
        return Ok(write_all(&mut Results::new())?);
    }
    let written = File::create(output).and_then(|mut file| write_all(&mut file));
    written.with_context(|| format!("writing {}", output.display()))
}

/// A file for results that come piece by piece, or standard output where it is named `-`.
pub fn open(output: &Path) -> io::Result<Box<dyn Write>> {
    match output == Path::new("-") {
        true => Ok(Box::new(Results::new())),
        false => Ok(Box::new(BufWriter::new(File::create(output)?))),
    }
}

/// An error if what is to be written would take the place of what is read.
pub fn refuse_input(output: &Path, input: &Path) -> anyhow::Result<()> {
    let identity = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino()));
    match (identity(output), identity(input)) {
        (Ok(output_file), Ok(input_file)) if output_file == input_file => {
            bail!("{} is the recording itself; name another file with -o", output.display())
        }
        _ => Ok(()),
    }
}

/// Whether a command ended because the reader of its standard output had enough. A broken pipe of
/// anything else (a socket, a child) is an error like others.
pub fn is_closed(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause.is::<OutputClosed>() || inner.is_some_and(|inner| inner.is::<OutputClosed>())
    })
}

/// One line about something the user may want to know; not a result.
pub fn notice(text: impl fmt::Display) {
    // Nothing is left to do if standard error is closed too.
    let _ = writeln!(io::stderr(), "perftab: {}", printable(&text.to_string()));
}

/// The one line of a failed command: what failed, then why.
pub fn failure(error: &anyhow::Error) {
    notice(format_args!("{error:#}"));
}

/// A text as far as it says something: so many characters of it, and a sign where there were more.
pub fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The share of `part` in `whole` as `7.8 %`, with one decimal and a thin space.
pub fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { part / whole * 100.0 } else { 0.0 };
    format!("{share:.1}\u{2009}%")
}

/// A size in decimal units: `412 B`, `1.5 kB`, `153.2 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{} MB", {
            let tenths = (bytes as f64 / 1e5).round() as u64;
            format!("{}.{}", grouped(tenths / 10), tenths % 10)
        }),
    }
}

/// What a progress bar counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, in decimal units.
    Bytes,
    /// Frames.
    Frames,
    /// Of work, in no unit.
    Parts,
}

/// A progress bar: on standard error, on a terminal, and only once the work has taken a second;
/// otherwise nothing.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: bool,
}

impl Progress {
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Begins work called `what`; `total` units if known.
    pub fn begin(what: &str, unit: Unit, total: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let template = match (unit, total) {
            (Unit::Bytes, Some(_)) => {
                "{msg} {wide_bar} {decimal_bytes} of {decimal_total_bytes}, {eta} left"
            }
            (Unit::Bytes, None) => "{msg} {spinner} {decimal_bytes}",
            (Unit::Parts, Some(_)) => "{msg} {wide_bar} {percent} %",
            (Unit::Parts, None) => "{msg} {spinner}",
            (Unit::Frames, _) => "{msg} {wide_bar} {human_pos} of {human_len} frames",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(printable(what).into_owned());
        Self { bar, begun: Instant::now(), shown: false }
    }

    /// Says how many units are done, of how many, which may change.
    pub fn update_of(&mut self, done: usize, total: usize) {
        self.bar.set_length(total as u64);
        self.update(done as u64);
    }

    /// Says how many units are done.
    pub fn update(&mut self, done: u64) {
        if !self.shown && self.begun.elapsed() >= Self::PATIENCE && io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_sizes() {
        assert_eq!(percent(78.0, 1000.0), "7.8\u{2009}%");
        assert_eq!(percent(1.0, 0.0), "0.0\u{2009}%");
        assert_eq!(size(412), "412 B");
        assert_eq!(size(1_540), "1.5 kB");
        assert_eq!(size(1_400_000_000), "1,400.0 MB");
    }

    #[test]
    fn only_a_closed_standard_output_is_no_failure() {
        let closed = Results::check::<()>(Err(io::ErrorKind::BrokenPipe.into())).unwrap_err();
        assert!(is_closed(&anyhow::Error::from(closed).context("writing the report")));
        let other = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(!is_closed(&anyhow::Error::from(other)));
    }
}
