//! The terminal while `perftab top` has it: another screen, each key at once. Whatever ends it gives back what there was.
//!
//! rustix has all that it takes. A library for whole screens would bring an event loop of its own, and this has one.

use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::{Mutex, PoisonError};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::output::is_screen;

/// Another screen, without a cursor, and lines that are cut at its edge.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Of terminals that do not tell their size.
const USUAL: (usize, usize) = (80, 24);

/// How the terminal was before, while it is ours. Whoever draws holds it, so that nothing is drawn on what was given back.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether there is a terminal on both sides that can be written over.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && is_screen(&io::stdout())
}

/// Columns and rows.
pub fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => USUAL,
    }
}

/// Takes the terminal.
pub fn enter() -> io::Result<()> {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_none() {
        let was = tcgetattr(io::stdin())?;
        let mut raw = was.clone();
        // Ctrl-C and Ctrl-Z stay signals, and the ends of lines what they are.
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        *before = Some(was);
    }
    write(ENTER)
}

/// Gives it back. To do so twice does no harm.
pub fn leave() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(was) = before.take() {
        // Whoever hangs up has no terminal any more.
        let _ = write(LEAVE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &was);
    }
}

/// Gives it back before a panic says what it was.
pub fn leave_at_panic() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        // Who panics while drawing has the lock, and the reason goes before the terminal.
        if let Ok(mut before) = BEFORE.try_lock()
            && let Some(was) = before.take()
        {
            let _ = write(LEAVE);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &was);
        }
        usual(info);
    }));
}

/// A line, and whether it stands out.
pub type Line = (String, Emphasis);

/// How a line stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    None,
    /// It is a title.
    Bold,
    /// It is the one that keys act on.
    Reversed,
}

/// Shows these lines from the top, as far as there is room. They have no characters but such as can be seen.
pub fn draw(lines: &[Line]) -> io::Result<()> {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if before.is_none() {
        return Ok(());
    }
    let (columns, rows) = size();
    let mut text = String::from("\x1b[H");
    for (index, (line, emphasis)) in lines.iter().take(rows).enumerate() {
        if index > 0 {
            text.push_str("\r\n");
        }
        text.push_str(match emphasis {
            Emphasis::None => "",
            Emphasis::Bold => "\x1b[1m",
            Emphasis::Reversed => "\x1b[7m",
        });
        text.extend(line.chars().take(columns));
        text.push_str("\x1b[0m\x1b[K");
    }
    text.push_str("\x1b[J");
    write(&text)
}

fn write(text: &str) -> io::Result<()> {
    let mut to = io::stdout().lock();
    to.write_all(text.as_bytes())?;
    to.flush()
}
