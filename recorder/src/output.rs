//! What reaches the terminal: results on standard output, notices and progress on standard error.
//!
//! Constraint: names come from files of strangers, so control characters never reach the terminal
//! ([`printable`]); a reader that went away ([`is_closed`]) is no failure; no file is written that
//! somebody else may have put there to get it ([`open_there`]).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;

use crate::pager::Pager;
use crate::result_file::ResultFile;

pub use perftab_perfdata::text::{counted, grouped, printable};

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

/// Buffered standard output, or a pager in front of it. `print!` would panic where the reader has gone.
pub struct Results {
    to: BufWriter<Reader>,
}

/// Who reads results.
enum Reader {
    Stdout(StdoutLock<'static>),
    Pager(Pager),
}

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Pager(pager) => pager.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Pager(pager) => pager.flush(),
        }
    }
}

impl Results {
    /// Locks standard output until dropped.
    pub fn new() -> Self {
        Self::to(Reader::Stdout(io::stdout().lock()))
    }

    /// The same, but that people on a terminal have a pager.
    pub fn paged() -> Self {
        match io::stdout().is_terminal().then(Pager::start).flatten() {
            Some(pager) => Self::to(Reader::Pager(pager)),
            None => Self::new(),
        }
    }

    fn to(reader: Reader) -> Self {
        Self { to: BufWriter::with_capacity(64 << 10, reader) }
    }

    /// Writes what is left, and waits until a pager has ended.
    pub fn end(mut self) -> io::Result<()> {
        self.flush()?;
        match self.to.get_mut() {
            Reader::Stdout(_) => Ok(()),
            Reader::Pager(pager) => Self::check(pager.end()),
        }
    }

    fn check<T>(result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => io::Error::new(io::ErrorKind::BrokenPipe, OutputClosed),
            _ => io::Error::new(error.kind(), format!("standard output: {error}")),
        })
    }
}

impl Write for Results {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::check(self.to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Self::check(self.to.flush())
    }
}

/// Writes results into a file, or to standard output where that is named `-`.
pub fn write(output: &Path, readers: Readers, pieces: &[&[u8]]) -> anyhow::Result<()> {
    let mut file = ResultFile::create(output, readers)?;
    let written = pieces.iter().try_for_each(|piece| file.write_all(piece));
    let finished = written.map_err(anyhow::Error::from).and_then(|()| file.finish());
    match output == Path::new("-") {
        true => finished?,
        false => finished.with_context(|| format!("writing {}", output.display()))?,
    };
    Ok(())
}

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Nobody but its owner.
    Owner,
    /// Whoever the user lets read files, by the umask.
    All,
}

/// Everybody may make files in such a folder. Where it is sticky only owners may remove and rename them.
const SHARED: u32 = 0o1002;
/// The mode of a file that nobody else may read.
pub const OWNER_ONLY: u32 = 0o600;
/// Who could have any file anyway.
const ROOT: u32 = 0;

/// Opens a file that nobody else may read, to write it anew.
pub fn create_private(path: &Path) -> anyhow::Result<File> {
    let cannot = || format!("{} cannot be written", path.display());
    let Some(file) = open_there(path, OFlags::WRONLY, Readers::Owner)? else {
        let made = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(path);
        return made.with_context(cannot);
    };
    let metadata = file.metadata().with_context(cannot)?;
    if metadata.is_file() {
        if !is_ours(&metadata) {
            bail!(
                "{} belongs to somebody else: remove it, or write elsewhere with -o",
                path.display()
            );
        }
        file.set_permissions(Permissions::from_mode(OWNER_ONLY)).with_context(cannot)?;
        file.set_len(0).with_context(cannot)?;
    }
    Ok(file)
}

/// What is there already, where [`open_there`] would look; `None` if nothing is. Refuses no file for being write-protected.
pub fn there(path: &Path, readers: Readers) -> anyhow::Result<Option<Metadata>> {
    let file = open_there(path, OFlags::PATH, readers)?;
    let metadata = file.map(|file| file.metadata()).transpose();
    metadata.with_context(|| path.display().to_string())
}

/// Whether a file is the user's.
pub fn is_ours(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Opens what is there already. Somebody else may have put it there, to get what is written or to have another file
/// overwritten: so what was opened is looked at, not what was there before.
///
/// A recording is often root's, in whatever folder that happens to be, and never follows a link. For others, links count in
/// folders that are the user's own or the system's: `/dev/stdout` is one.
pub fn open_there(path: &Path, access: OFlags, readers: Readers) -> anyhow::Result<Option<File>> {
    let shown = path.display();
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::metadata(folder).ok();
    let is_shared = folder.as_ref().is_some_and(|it| it.mode() & SHARED != 0);
    let is_of_others = folder.as_ref().is_some_and(|it| !is_ours(it) && it.uid() != ROOT);
    let is_followed = readers == Readers::All && !is_shared && !is_of_others;
    let follow = if is_followed { OFlags::empty() } else { OFlags::NOFOLLOW };
    let flags = access | OFlags::CLOEXEC | follow;
    let link =
        || anyhow!("{shown} is a link: remove it, or name with -o the file that it leads to");
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) if fs::symlink_metadata(path).is_err() => return Ok(None),
        Err(Errno::NOENT) => {
            bail!("{shown} is a link to a file that does not exist: remove it, or write elsewhere")
        }
        Err(Errno::LOOP) if !is_followed => return Err(link()),
        Err(error) => {
            return Err(io::Error::from(error))
                .with_context(|| format!("{shown} cannot be written"));
        }
    };
    let metadata = file.metadata().with_context(|| shown.to_string())?;
    if metadata.is_symlink() {
        return Err(link());
    }
    if is_shared && !is_ours(&metadata) {
        bail!(
            "{shown} belongs to somebody else, in a folder that everybody may write to: remove \
             it, or write elsewhere with -o"
        );
    }
    Ok(Some(file))
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

thread_local! {
    /// What notices are about, where a command reads several recordings.
    static SUBJECT: RefCell<Option<&'static str>> = const { RefCell::new(None) };
}

/// Does work all of whose notices are about one of several recordings: they say so.
pub fn about<T>(subject: &'static str, work: impl FnOnce() -> T) -> T {
    let outer = SUBJECT.replace(Some(subject));
    let done = work();
    SUBJECT.replace(outer);
    done
}

thread_local! {
    /// Whether this thread leaves notices out.
    static IS_QUIET_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Leaves notices and progress bars of this thread out from now on: it has the terminal.
pub fn be_quiet_here() {
    IS_QUIET_HERE.set(true);
}

/// Whether notices are left out.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves notices out from now on, as `-q` says.
pub fn be_quiet() {
    IS_QUIET.store(true, Relaxed);
}

/// Whether `-q` was given: then there are no lines above tables either.
pub fn is_quiet() -> bool {
    IS_QUIET.load(Relaxed) || IS_QUIET_HERE.get()
}

/// One line about something the user may want to know; not a result.
pub fn notice(text: impl fmt::Display) {
    if !is_quiet() {
        say(text);
    }
}

fn say(text: impl fmt::Display) {
    let subject = SUBJECT.with_borrow(|subject| subject.map(|subject| format!("{subject}: ")));
    let text = text.to_string();
    StatusLine::clear();
    let line = format!("perftab: {}{}\n", subject.unwrap_or_default(), printable(&text));
    // At once, so that nothing comes between that others write. Nothing is left to do if standard error is closed too.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Whether it is a terminal on which lines can be written anew: those of editors and of old consoles are `dumb`.
pub fn is_screen(stream: &impl IsTerminal) -> bool {
    let kind = std::env::var_os("TERM").unwrap_or_default();
    stream.is_terminal() && !kind.is_empty() && kind != "dumb"
}

/// A line on the terminal that is written anew as things go on, and gone at the end.
pub struct StatusLine;

/// Whether there is text in it.
static HAS_STATUS: AtomicBool = AtomicBool::new(false);

impl StatusLine {
    /// `None` where standard error is no such terminal.
    pub fn begin() -> Option<Self> {
        is_screen(&io::stderr()).then_some(Self)
    }

    /// Writes it; what a narrow terminal has no room for is left out.
    pub fn show(&self, text: impl fmt::Display) {
        let text = printable(&text.to_string()).into_owned();
        // A terminal that does not tell its width is taken for the narrowest.
        let width = tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
        let width = usize::from(if width == 0 { 80 } else { width });
        let shown: String = text.chars().take(width.saturating_sub(1)).collect();
        let _ = write!(io::stderr(), "\r\x1b[K{shown}");
        HAS_STATUS.store(true, Relaxed);
    }

    /// Makes room for a line that stays.
    fn clear() {
        if HAS_STATUS.swap(false, Relaxed) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        Self::clear();
    }
}

/// The one line of a failed command: what failed, then why.
pub fn failure(error: &anyhow::Error) {
    say(format_args!("{error:#}"));
}

/// The system's words without `(os error N)`.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words).to_owned()
}

/// A path as a word of a command line for the shell: in quotes where that needs any, and such that all of it can be seen.
pub fn shell_word(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    // What begins with a hyphen is an option.
    let folder = if bytes.first() == Some(&b'-') { "./" } else { "" };
    match path.to_str() {
        Some(text) if !text.is_empty() && bytes.iter().all(is_plain) => format!("{folder}{text}"),
        Some(text) if printable(text) == text => {
            format!("'{folder}{}'", text.replace('\'', r"'\''"))
        }
        // As bash, zsh, ksh and POSIX since 2024 read it.
        _ => {
            let escaped = |byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            };
            format!("$'{folder}{}'", bytes.iter().map(escaped).collect::<String>())
        }
    }
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
        let is_due = !self.shown && self.begun.elapsed() >= Self::PATIENCE;
        if is_due && !is_quiet() && is_screen(&io::stderr()) {
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

    /// The shell itself reads them.
    #[test]
    fn words_for_the_shell_are_read_as_the_same_path() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        for bytes in [
            &b"perf.data"[..],
            b"my data/it's \"here\".data",
            b"$HOME`x`\\!*?",
            b"-rf",
            "f\u{fc}r dich".as_bytes(),
            b"a\nb\x1b[2J'\\",
            b"\xff\xfe1",
            "\u{202e}x".as_bytes(),
        ] {
            let word = shell_word(Path::new(OsStr::from_bytes(bytes)));
            assert!(printable(&word) == word, "{word:?}");
            let script = format!("printf %s {word}");
            let Ok(said) = std::process::Command::new("bash").args(["-c", &script]).output() else {
                println!("SKIPPED: words_for_the_shell: bash is not installed");
                return;
            };
            let read = said.stdout.strip_prefix(b"./").unwrap_or(&said.stdout);
            assert_eq!(read, bytes, "{word}");
        }
        assert_eq!(shell_word(Path::new("perf.data")), "perf.data");
        assert_eq!(shell_word(Path::new("a b")), "'a b'");
    }

    /// The link may have come after somebody looked: it must not be followed when it is opened.
    #[test]
    fn no_link_of_others_is_followed_and_none_to_a_recording() {
        use std::os::unix::fs::{chown, symlink};
        let folder = std::env::temp_dir().join(format!("perftab-output-{}", std::process::id()));
        let (shared, theirs) = (folder.join("shared"), folder.join("theirs"));
        fs::create_dir_all(&shared).unwrap();
        fs::create_dir_all(&theirs).unwrap();
        let own = folder.join("own");
        fs::write(&own, "mine").unwrap();
        let open_to_all = folder.join("open-to-all");
        fs::create_dir_all(&open_to_all).unwrap();
        for place in [&folder, &shared, &theirs, &open_to_all] {
            symlink(&own, place.join("link")).unwrap();
            symlink(folder.join("nowhere"), place.join("dangling")).unwrap();
        }
        fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
        // Whatever the umask.
        for own in [&folder, &theirs] {
            fs::set_permissions(own, Permissions::from_mode(0o755)).unwrap();
        }
        fs::set_permissions(&open_to_all, Permissions::from_mode(0o777)).unwrap();
        let mut refused = vec![
            (shared.join("link"), Readers::All, "is a link"),
            (open_to_all.join("link"), Readers::All, "is a link"),
            (shared.join("dangling"), Readers::All, "is a link"),
            (folder.join("dangling"), Readers::All, "does not exist"),
            (folder.join("link"), Readers::Owner, "is a link"),
            (folder.join("dangling"), Readers::Owner, "is a link"),
        ];
        match chown(&theirs, Some(65534), None) {
            Ok(()) => refused.push((theirs.join("link"), Readers::All, "is a link")),
            Err(_) => println!("SKIPPED: no_link_of_others_is_followed: folders are all our own"),
        }
        for (path, readers, reason) in refused {
            let refusals =
                [ResultFile::create(&path, readers).map(drop), there(&path, readers).map(drop)];
            for error in refusals.map(Result::unwrap_err) {
                assert!(error.to_string().contains(reason), "{}: {error}", path.display());
            }
        }
        assert_eq!(fs::read_to_string(&own).unwrap(), "mine");
        assert!(!folder.join("nowhere").exists());
        // Of one's own folder one knows the links, and there one's own file is overwritten.
        write(&folder.join("link"), Readers::All, &[b"text"]).unwrap();
        assert_eq!(fs::read_to_string(&own).unwrap(), "text");
        write(&shared.join("new"), Readers::All, &[b"first"]).unwrap();
        write(&shared.join("new"), Readers::All, &[b"last"]).unwrap();
        assert_eq!(fs::read_to_string(shared.join("new")).unwrap(), "last");
        // Whoever could read the file before reads no recording.
        fs::set_permissions(&own, Permissions::from_mode(0o666)).unwrap();
        let recording = create_private(&own).unwrap().metadata().unwrap();
        assert_eq!((recording.mode() & 0o777, recording.len()), (0o600, 0));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_a_closed_standard_output_is_no_failure() {
        let closed = Results::check::<()>(Err(io::ErrorKind::BrokenPipe.into())).unwrap_err();
        assert!(is_closed(&anyhow::Error::from(closed).context("writing the report")));
        let other = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(!is_closed(&anyhow::Error::from(other)));
    }
}
