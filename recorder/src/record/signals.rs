//! Signals that end a recording, or have it go on in another file, turned into something that can be polled.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGCHLD, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::{flag, low_level::pipe};

use crate::stop::asking_signals;

/// Ctrl-C and friends ask for an end; a second one ends at once, should the first hang.
pub struct Signals {
    wake: UnixStream,
    waker: UnixStream,
    asked_to_end: Arc<AtomicBool>,
    usr2: Arc<AtomicBool>,
}

/// Ends a recording from another thread.
pub struct Ender {
    waker: UnixStream,
    asked_to_end: Arc<AtomicBool>,
}

impl Ender {
    /// Asks for the end.
    pub fn end(&self) {
        self.asked_to_end.store(true, Ordering::Relaxed);
        // A socket that is full wakes as well.
        let _ = (&self.waker).write(&[0]);
    }
}

/// Whether SIGUSR2 has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usr2 {
    /// It has.
    Came,
    /// It has not.
    None,
}

impl Signals {
    /// Installs the handlers.
    pub fn install() -> Result<Self> {
        Self::try_install().context("signal handlers cannot be installed")
    }

    fn try_install() -> io::Result<Self> {
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let asked_to_end = Arc::new(AtomicBool::new(false));
        for signal in asking_signals() {
            // In this order: the first signal finds the flag unset and sets it.
            flag::register_conditional_default(signal, asked_to_end.clone())?;
            flag::register(signal, asked_to_end.clone())?;
            pipe::register(signal, waker.try_clone()?)?;
        }
        pipe::register(SIGCHLD, waker.try_clone()?)?;
        // In this order: whoever is woken finds it set.
        let usr2 = Arc::new(AtomicBool::new(false));
        flag::register(SIGUSR2, usr2.clone())?;
        pipe::register(SIGUSR2, waker.try_clone()?)?;
        // A limit on the size of files is then an error of the write, handled like a full disk.
        // The other asks perf for a snapshot: whoever sends it does not want the recording to end.
        for signal in [SIGXFSZ, SIGUSR1] {
            flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        Ok(Self { wake, waker, asked_to_end, usr2 })
    }

    /// Readable once any of the signals has come, or a child has ended.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// For another thread, which then asks as a signal does.
    pub fn ender(&self) -> Result<Ender> {
        let waker = self.waker.try_clone().context("a descriptor cannot be copied")?;
        Ok(Ender { waker, asked_to_end: self.asked_to_end.clone() })
    }

    /// Forgets the wake-ups so far.
    pub fn clear(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(count) if count > 0) {}
    }

    /// Whether SIGUSR2 has come since this was last asked.
    pub fn took_usr2(&self) -> Usr2 {
        match self.usr2.swap(false, Ordering::Relaxed) {
            true => Usr2::Came,
            false => Usr2::None,
        }
    }

    /// Whether the recording is to end.
    pub fn asked_to_end(&self) -> bool {
        self.asked_to_end.load(Ordering::Relaxed)
    }
}
