//! Ctrl-C during work that must not leave half a file behind, or that can do with less.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{fs, io};

use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level::unregister;
use signal_hook::{SigId, flag};

/// Signals that ask to stop. A hangup does not where it is ignored: what `nohup` started goes on when the terminal is closed.
/// (SIGINT does: shells ignore it for what a script starts in the background, and scripts end recorders by it.)
pub fn asking_signals() -> impl Iterator<Item = i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let is_ignored = move |signal: i32| ignored >> (signal - 1) & 1 == 1;
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |it| *it != SIGHUP || !is_ignored(*it))
}

/// Whether the user asked to stop, for as long as it is there: then signals end the process as if it had never been. A second
/// Ctrl-C ends it at once, should the first hang.
#[derive(Clone)]
pub struct Stop(Arc<Waiting>);

impl Stop {
    /// From now on, signals ask.
    pub fn install() -> anyhow::Result<Self> {
        static ENDING: OnceLock<Ending> = OnceLock::new();
        let ending = ENDING.get_or_init(Ending::default);
        let waiting = ending.wait(asking_signals().collect());
        Ok(Self(Arc::new(waiting.context("signal handlers cannot be installed")?)))
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// As a signal does.
    #[cfg(test)]
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// An error if it was; `left` says what there is now.
    pub fn check(&self, left: &str) -> anyhow::Result<()> {
        if self.is_asked() {
            bail!("stopped: {left}");
        }
        Ok(())
    }
}

/// Whether a signal ends the process. Its handlers stay: one that is taken back is not replaced by what the system does.
#[derive(Default)]
struct Ending {
    at_once: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_installed: bool,
    /// How many wait for a signal.
    waiting: usize,
}

/// One who waits for a signal.
struct Waiting {
    asked: Arc<AtomicBool>,
    handlers: Vec<SigId>,
    ending: &'static Ending,
}

impl Ending {
    fn wait(&'static self, signals: Vec<i32>) -> io::Result<Waiting> {
        let mut state = self.state();
        if state.waiting == 0 {
            self.at_once.store(false, Ordering::Relaxed);
        }
        if !state.is_installed {
            for &signal in &signals {
                // In this order: the first signal finds it unset and sets it.
                flag::register_conditional_default(signal, self.at_once.clone())?;
                flag::register(signal, self.at_once.clone())?;
            }
            // A limit on the size of files is then an error of the write.
            flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
            state.is_installed = true;
        }
        state.waiting += 1;
        drop(state);
        let mut waiting = Waiting { asked: Arc::default(), handlers: Vec::new(), ending: self };
        for signal in signals {
            waiting.handlers.push(flag::register(signal, waiting.asked.clone())?);
        }
        Ok(waiting)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.ending.state();
        state.waiting -= 1;
        if state.waiting == 0 {
            self.ending.at_once.store(true, Ordering::Relaxed);
        }
        for handler in self.handlers.drain(..) {
            unregister(handler);
        }
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::SIGWINCH;
    use signal_hook::low_level::raise;

    use super::*;

    /// By a signal that ends nothing.
    #[test]
    fn who_waits_after_another_was_asked_is_asked_anew() {
        let ending: &'static Ending = Box::leak(Box::default());
        let wait = || ending.wait(vec![SIGWINCH]).expect("handlers");
        let ends_at_once = || ending.at_once.load(Ordering::Relaxed);
        let is_asked = |waiting: &Waiting| waiting.asked.load(Ordering::Relaxed);
        for _ in 0..2 {
            let (first, second) = (wait(), wait());
            assert!(!ends_at_once() && !is_asked(&first) && !is_asked(&second));
            raise(SIGWINCH).expect("a signal");
            assert!(ends_at_once() && is_asked(&first) && is_asked(&second));
            drop(first);
            drop(second);
        }
        drop(wait());
        assert!(ends_at_once(), "nobody waits");
    }
}
