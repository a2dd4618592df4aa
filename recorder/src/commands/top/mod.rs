//! `perftab top`: the functions that run now, again and again.
//!
//! The recorder runs on the thread that began. What it reads of its rings goes to another thread, which reads it as any
//! recording, takes a session of what there is by now, names it as `report` does, and shows the same views. So a picture
//! that takes its time costs no samples. Shown is what was sampled in the last seconds ([`RECENT`]), or all that is kept:
//! the recorder begins its stream anew after ten minutes or 256 MB, and with it the session, so memory is bounded.

mod keys;
mod rows;
mod screen;

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use perftab_core::{FunctionKey, Key as RowKey, Pattern, RangeSide, TimeRange};
use signal_hook::consts::{SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use self::keys::{Key, keys_of};
use self::rows::{Column, Columns, Hidden, Layout, Look, Open, Path, Picture};
use self::screen::{Emphasis, Line};
use crate::cli::TopArgs;
use crate::commands::report::sort;
use crate::images::search::NewCopies;
use crate::live_session::{LeafCallers, LiveSession};
use crate::output::{self, Outcome, Results, counted, grouped, percent, printable};
use crate::record::live::{self, Chains, Ender, Piece, Recorded};

/// Samples that are shown were taken in this time, or in that between two pictures if it is longer.
const RECENT: Duration = Duration::from_secs(10);
const DELAY: Duration = Duration::from_secs(2);
/// Until the first picture.
const FIRST_DELAY: Duration = Duration::from_millis(700);
/// If no sample was taken for so long, there was none.
const LAG: Duration = Duration::from_secs(1);
/// Pieces that may wait to be read. If more come, the recorder waits, and the kernel counts what it loses.
const WAITING: usize = 256;
/// Functions that are printed where no screen says how many.
const PRINTED: usize = 40;

/// What happens.
enum Message {
    Piece(Piece),
    Keys(Vec<u8>),
    Resized,
    /// Ctrl-Z.
    Suspend,
    /// Nothing more comes.
    End,
}

/// Where pictures go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Medium {
    Screen,
    Text,
}

/// Which samples are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Recent(Duration),
    /// All since the stream began.
    Kept,
}

/// What keys are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Usual,
    /// A filter is being written.
    Filter,
    Help,
}

/// Shows what runs until somebody ends it.
pub fn run(args: &TopArgs) -> anyhow::Result<Outcome> {
    let medium = match screen::is_there() && !args.stdio {
        true => Medium::Screen,
        false => Medium::Text,
    };
    let sort = sort::of_top(args)?;
    let (messages, incoming) = sync_channel(WAITING);
    let mut shows = None;
    let begin = |recorded: Recorded, ender: Ender| -> anyhow::Result<live::Take> {
        if medium == Medium::Screen {
            take_terminal(&messages)?;
        }
        let args = args.clone();
        // A session stays on its thread.
        let show = move || Top::new(&args, sort, medium, recorded, ender).run(&incoming);
        let thread = thread::Builder::new().name("top".to_owned()).spawn(show);
        shows = Some(thread.context("a thread cannot be started")?);
        let messages = messages.clone();
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        Ok(Box::new(move |piece| messages.send(Message::Piece(piece)).map_err(gone)))
    };
    let end = || {
        // At once: a picture may take its time.
        screen::leave();
        let _ = messages.send(Message::End);
    };
    live::record(&args.sampling, &args.target, args.duration, begin, end)?;
    // Nobody waits for a last picture of a screen, and what is typed by now is for the shell.
    let is_awaited =
        |thread: &thread::JoinHandle<_>| medium == Medium::Text || thread.is_finished();
    if let Some(thread) = shows.filter(is_awaited) {
        thread.join().map_err(|_| anyhow!("what is recorded could not be shown"))??;
    }
    Ok(Outcome::Complete)
}

/// Takes the terminal, and listens to its keys and signals.
fn take_terminal(messages: &SyncSender<Message>) -> anyhow::Result<()> {
    let mut signals =
        Signals::new([SIGWINCH, SIGTSTP]).context("signal handlers cannot be installed")?;
    screen::leave_at_panic();
    screen::enter().context("the terminal cannot be used; --stdio prints tables")?;
    let to = messages.clone();
    thread::spawn(move || {
        for signal in signals.forever() {
            let message = if signal == SIGTSTP { Message::Suspend } else { Message::Resized };
            if to.send(message).is_err() {
                return;
            }
        }
    });
    let to = messages.clone();
    thread::spawn(move || {
        let mut bytes = [0; 256];
        loop {
            match io::stdin().lock().read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    if to.send(Message::Keys(bytes[..count].to_vec())).is_err() {
                        return;
                    }
                }
            }
        }
    });
    Ok(())
}

/// Everything that pictures are made of.
struct Top {
    medium: Medium,
    recorded: Recorded,
    ender: Ender,
    live: LiveSession,
    look: Look,
    span: Span,
    recent: Duration,
    delay: Duration,
    entries: Option<usize>,
    mode: Mode,
    /// Where keys act; the first row if `None`.
    selected: Option<Path>,
    /// The first row that is on the screen.
    scrolled: usize,
    picture: Picture,
    /// How much time the samples of the picture are from.
    shown: Duration,
    is_paused: bool,
    /// When the stream began.
    begun: Instant,
}

impl Top {
    fn new(
        args: &TopArgs,
        (keys, order): (Vec<RowKey>, FunctionKey),
        medium: Medium,
        recorded: Recorded,
        ender: Ender,
    ) -> Self {
        let delay = args.delay.unwrap_or(DELAY);
        let recent = if args.zero { delay } else { delay.max(RECENT) };
        let has_chains = recorded.chains == Chains::Recorded;
        Self {
            medium,
            look: Look {
                layout: Layout::without_tree(&keys),
                keys,
                event: 0,
                order,
                hidden: Hidden::of(args.hide_kernel, args.hide_user),
                filter: String::new(),
                open: match medium {
                    Medium::Text if has_chains => Open::All,
                    Medium::Text | Medium::Screen => Open::These(HashSet::new()),
                },
                columns: Columns {
                    total: Column::of(has_chains),
                    samples: Column::of(args.show_nr_samples),
                    dso: Column::Shown,
                },
            },
            recorded,
            ender,
            live: LiveSession::new(NewCopies::Kept, LeafCallers::Found),
            span: Span::Recent(recent),
            recent,
            delay,
            entries: args.entries,
            mode: Mode::Usual,
            selected: None,
            scrolled: 0,
            picture: Picture::default(),
            shown: Duration::ZERO,
            is_paused: false,
            begun: Instant::now(),
        }
    }

    fn run(&mut self, incoming: &Receiver<Message>) -> anyhow::Result<()> {
        // What is said meanwhile would stand in the picture.
        output::be_quiet_here();
        let mut due = Instant::now() + self.delay.min(FIRST_DELAY);
        if self.medium == Medium::Text {
            due = Instant::now() + self.delay;
        }
        loop {
            match incoming.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Message::Piece(Piece::Begin(head))) => {
                    self.live.begin(&head)?;
                    self.begun = Instant::now();
                }
                Ok(Message::Piece(Piece::Records(records))) => self.live.push(&records),
                Ok(Message::Keys(bytes)) => {
                    keys_of(&bytes).into_iter().for_each(|key| self.press(key));
                    self.draw()?;
                }
                Ok(Message::Resized) => self.draw()?,
                Ok(Message::Suspend) => {
                    screen::leave();
                    emulate_default_handler(SIGTSTP)?;
                    screen::enter()?;
                    self.draw()?;
                }
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= due {
                if !self.is_paused {
                    self.live.refresh();
                    self.look_again();
                }
                self.show()?;
                due = Instant::now() + self.delay;
            }
        }
        if self.medium == Medium::Text {
            self.live.finish();
            self.look_again();
            self.show()?;
        }
        Ok(())
    }

    /// Makes the picture anew, of what was read last.
    fn look_again(&mut self) {
        let Some(session) = self.live.session() else { return };
        let profile = session.profile();
        let samples = &profile.samples;
        let last = samples.len().checked_sub(1).map(|row| samples.time_nanos.at(row));
        let (Some(first), Some(last)) = (profile.first_time(), last) else {
            // A stream that has just begun has none yet: what there was before stays.
            if self.begun.elapsed() > LAG + self.delay {
                (self.picture, self.shown) = (Picture::default(), Duration::ZERO);
            }
            return;
        };
        let now = self.recorded.now.map_or(last, |now| now()).max(last);
        // What was sampled in the last moments is not read yet.
        let now = if Duration::from_nanos(now - last) < LAG { last } else { now };
        let there = Duration::from_nanos(now - first.min(now));
        self.shown = match self.span {
            Span::Recent(recent) => recent.min(there),
            Span::Kept => there,
        };
        let range = match self.span {
            Span::Recent(recent) if recent < there => {
                let start = u64::try_from((there - recent).as_nanos()).unwrap_or(u64::MAX);
                Some(TimeRange { start, end: u64::MAX, side: RangeSide::Inside })
            }
            Span::Recent(_) | Span::Kept => None,
        };
        self.picture = Picture::of(session, &self.look, range);
    }

    fn show(&mut self) -> anyhow::Result<()> {
        match self.medium {
            Medium::Screen => self.draw(),
            Medium::Text => self.print(),
        }
    }

    /// A table, as `perf top --stdio` prints it.
    fn print(&self) -> anyhow::Result<()> {
        let mut results = Results::new();
        writeln!(results, "# perftab top: {}", self.heading())?;
        writeln!(results, "# {}", self.what_is_shown())?;
        writeln!(results, "#{}", &self.picture.titles(&self.look)[1..])?;
        let mut functions = self.entries.unwrap_or(PRINTED);
        for row in &self.picture.rows {
            if row.path.len() == 1 {
                if functions == 0 {
                    break;
                }
                functions -= 1;
            }
            let line = self.picture.line(row, &self.look, PRINTED_WIDTH);
            writeln!(results, "{}", line.trim_end())?;
        }
        writeln!(results)?;
        Ok(results.flush()?)
    }

    fn heading(&self) -> String {
        let seconds = self.shown.as_secs_f64();
        let rate = if seconds > 0.0 { self.picture.samples as f64 / seconds } else { 0.0 };
        let lost = match self.picture.lost {
            0 => "none lost".to_owned(),
            lost => format!("{} lost", grouped(lost)),
        };
        let event = match self.picture.event.is_empty() {
            true => &self.recorded.events,
            false => &self.picture.event,
        };
        let heading = format!(
            "{}/s, kernel {}, {lost} [{event}, {}] ({})",
            counted(rate.round() as u64, "sample", "samples"),
            percent(self.picture.kernel_share, 1.0),
            self.recorded.rate(event),
            self.recorded.target
        );
        printable(&heading).into_owned()
    }

    fn what_is_shown(&self) -> String {
        let samples = counted(self.picture.samples, "sample", "samples");
        let seconds = self.shown.as_secs_f64();
        let span = match self.span {
            Span::Recent(_) => format!("last {seconds:.0} s"),
            Span::Kept => format!("all that is kept: {seconds:.0} s"),
        };
        let named = percent(self.picture.named_share, 1.0);
        let mut line = match self.picture.samples {
            0 => format!("{span}: no samples yet"),
            _ => format!("{span}: {samples}, {named} end in a named function"),
        };
        match Pattern::parse(&self.look.filter) {
            Ok(None) => {}
            Ok(Some(_)) => line.push_str(&format!("; only {}", printable(&self.look.filter))),
            Err(problem) => line.push_str(&format!("; {}", printable(&problem.to_string()))),
        }
        if self.is_paused {
            line.push_str("; paused");
        }
        line
    }

    fn draw(&mut self) -> anyhow::Result<()> {
        if self.medium == Medium::Text {
            return Ok(());
        }
        let (width, height) = screen::size();
        let lines = if self.mode == Mode::Help { help() } else { self.lines(width, height) };
        Ok(screen::draw(&lines)?)
    }

    fn lines(&mut self, width: usize, height: usize) -> Vec<Line> {
        let room = room(height);
        let selected = self.selected_row();
        let most = self.entries.unwrap_or(usize::MAX).min(self.picture.rows.len());
        self.scrolled = self.scrolled.min(selected).max((selected + 1).saturating_sub(room));
        let mut lines = vec![
            (self.heading(), Emphasis::None),
            (self.what_is_shown(), Emphasis::None),
            (self.picture.titles(&self.look), Emphasis::Bold),
        ];
        let shown = self.picture.rows[..most].iter().enumerate().skip(self.scrolled).take(room);
        lines.extend(shown.map(|(index, row)| {
            let is_it = index == selected;
            let emphasis = if is_it { Emphasis::Reversed } else { Emphasis::None };
            let line = self.picture.line(row, &self.look, width);
            // The whole line stands out.
            let missing = if is_it { width.saturating_sub(line.chars().count()) } else { 0 };
            (line + &" ".repeat(missing), emphasis)
        }));
        lines.resize(height.saturating_sub(1), (String::new(), Emphasis::None));
        lines.push((self.last_line(), Emphasis::Bold));
        lines
    }

    fn last_line(&self) -> String {
        match self.mode {
            Mode::Filter => format!("only: {}_", printable(&self.look.filter)),
            Mode::Usual | Mode::Help => {
                "q quit  h help  Enter callers  t tree  / filter  z all kept  p pause".to_owned()
            }
        }
    }

    fn selected_row(&self) -> usize {
        let selected = self.selected.as_ref();
        let place =
            selected.and_then(|path| self.picture.rows.iter().position(|row| row.path == *path));
        place.unwrap_or(0)
    }

    fn select(&mut self, row: usize) {
        let last = self.entries.unwrap_or(usize::MAX).min(self.picture.rows.len());
        let row = row.min(last.saturating_sub(1));
        // The first is that which is the first by then.
        let selected = self.picture.rows.get(row).filter(|_| row > 0);
        self.selected = selected.map(|row| row.path.clone());
    }

    fn press(&mut self, key: Key) {
        match self.mode {
            Mode::Help => self.mode = Mode::Usual,
            Mode::Filter => self.press_in_filter(key),
            Mode::Usual => self.press_usual(key),
        }
    }

    fn press_in_filter(&mut self, key: Key) {
        match key {
            Key::Text(c) => self.look.filter.push(c),
            Key::Backspace => drop(self.look.filter.pop()),
            Key::Enter => self.mode = Mode::Usual,
            Key::Escape => {
                self.look.filter.clear();
                self.mode = Mode::Usual;
            }
            _ => return,
        }
        self.selected = None;
        self.look_again();
    }

    fn press_usual(&mut self, key: Key) {
        let (at, page) = (self.selected_row(), room(screen::size().1));
        match key {
            Key::Text('q') => self.ender.end(),
            Key::Text('h' | '?') => self.mode = Mode::Help,
            Key::Text('/') => self.mode = Mode::Filter,
            Key::Text('p') => self.is_paused = !self.is_paused,
            Key::Text('j') | Key::Down => self.select(at + 1),
            Key::Text('k') | Key::Up => self.select(at.saturating_sub(1)),
            Key::PageDown => self.select(at + page),
            Key::PageUp => self.select(at.saturating_sub(page)),
            Key::Home => self.select(0),
            Key::End => self.select(usize::MAX - 1),
            Key::Text('d') => self.look.columns.dso = self.look.columns.dso.other(),
            Key::Text('n') => self.look.columns.samples = self.look.columns.samples.other(),
            key => {
                self.press_for_another(key, at);
                self.look_again();
            }
        }
    }

    /// Keys that ask for another picture.
    fn press_for_another(&mut self, key: Key, at: usize) {
        match key {
            Key::Text('e') | Key::Enter => {
                if let Some(row) = self.picture.rows.get(at) {
                    self.look.toggle(&row.path);
                }
            }
            Key::Text('E') => self.look.open = Open::All,
            Key::Text('C') => self.look.open = Open::These(HashSet::new()),
            Key::Text('t') => {
                self.look.layout = match self.look.layout {
                    Layout::Functions | Layout::Rows => Layout::Tree,
                    Layout::Tree => Layout::without_tree(&self.look.keys),
                };
                self.selected = None;
            }
            Key::Text('s') if self.recorded.chains == Chains::Recorded => {
                self.look.order = match self.look.order {
                    FunctionKey::SelfWeight => FunctionKey::Total,
                    _ => FunctionKey::SelfWeight,
                };
            }
            Key::Text('z') => {
                self.span = match self.span {
                    Span::Recent(_) => Span::Kept,
                    Span::Kept => Span::Recent(self.recent),
                };
            }
            Key::Text('K') => self.look.hidden = self.look.hidden.with_other_kernel(),
            Key::Text('U') => self.look.hidden = self.look.hidden.with_other_user(),
            Key::Text('v') => self.look.event = self.next_event(),
            Key::Escape => self.look.filter.clear(),
            _ => {}
        }
    }

    fn next_event(&mut self) -> u32 {
        let count = self.live.session().map_or(1, |session| session.profile().events.len());
        (self.look.event + 1) % count.max(1) as u32
    }
}

/// Characters of a printed line.
const PRINTED_WIDTH: usize = 100;

/// Rows that there is room for between heading and keys.
fn room(height: usize) -> usize {
    height.saturating_sub(4).max(1)
}

fn help() -> Vec<Line> {
    let text = "\
perftab top: what runs now

  q, Ctrl-C         end
  Up, Down, k, j    another row
  PgUp, PgDn, Home, End
  Enter, e          callers of a function, or callees in the tree: with -g
  E, C              open all that has weight, close all
  t                 functions or rows of --sort, or the call tree from its root
  s                 order by self, or by total
  /                 only functions with these words, in the tree calls through them;
                    Escape: all
  z                 the last seconds, or all that is kept: ten minutes at most
  p                 pause: the picture stays
  d, n              column of DSOs, column of samples
  K, U              hide functions of the kernel, of user space
  v                 another event

Any key goes back.";
    text.lines().map(|line| (line.to_owned(), Emphasis::None)).collect()
}
