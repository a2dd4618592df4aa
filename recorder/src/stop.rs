//! Ctrl-C during work that must not leave half a file behind, or that can do with less.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// Signals that ask to stop. A hangup does not where it is ignored: what `nohup` started goes on when the terminal is closed.
/// (SIGINT does: shells ignore it for what a script starts in the background, and scripts end recorders by it.)
pub fn asking_signals() -> impl Iterator<Item = i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let is_ignored = move |signal: i32| ignored >> (signal - 1) & 1 == 1;
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(move |it| *it != SIGHUP || !is_ignored(*it))
}

/// Whether the user asked to stop. A second Ctrl-C ends at once, should the first hang.
#[derive(Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on, signals ask.
    pub fn install() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let install = || -> io::Result<_> {
            for signal in asking_signals() {
                // In this order: the first signal finds the flag unset and sets it.
                flag::register_conditional_default(signal, asked.clone())?;
                flag::register(signal, asked.clone())?;
            }
            // A limit on the size of files is then an error of the write.
            flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))
        };
        install().context("signal handlers cannot be installed")?;
        Ok(Self(asked))
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// From now on, a signal ends the process at once, as if none of this was.
    pub fn uninstall(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// An error if it was; `left` says what there is now.
    pub fn check(&self, left: &str) -> anyhow::Result<()> {
        if self.is_asked() {
            bail!("stopped: {left}");
        }
        Ok(())
    }
}
