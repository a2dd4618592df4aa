//! Ctrl-C during work that must not leave half a file behind, or that can do with less.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether the user asked to stop. A second Ctrl-C ends at once, should the first hang.
#[derive(Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on, signals ask.
    pub fn install() -> anyhow::Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag unset and sets it.
            flag::register_conditional_default(signal, asked.clone())
                .and_then(|_| flag::register(signal, asked.clone()))
                .context("signal handlers cannot be installed")?;
        }
        Ok(Self(asked))
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// From now on, a signal ends the process at once, as if none of this was.
    pub fn uninstall(self) {
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
