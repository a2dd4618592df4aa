//! What a recorder waits for.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::counters::Counters;
use super::options::Plan;
use super::target::Target;

/// Who ended the waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// Records came back from threads that work on them, and that is all.
    HelpersAlone,
    /// Nothing came.
    Nobody,
    /// Anything else.
    Others,
    /// What was recorded waits for the disk, and nobody was waited for.
    DiskIsBehind,
}

/// The counters that are polled: for wake-ups, and to learn that their thread has ended.
pub struct PolledCounters {
    /// Indices into the first event's descriptors; those of ended threads are taken out, as they
    /// would be ready for ever.
    open: Vec<usize>,
    /// The same of those for sideband.
    sideband: Vec<usize>,
}

impl PolledCounters {
    pub fn new(counters: &Counters) -> Self {
        Self {
            open: (0..counters.events[0].fds.len()).collect(),
            sideband: (0..counters.sideband.fds.len()).collect(),
        }
    }

    /// Waits until a ring is filled so far that it should be read, until one of the others is
    /// readable, or for so long.
    pub fn wait(
        &mut self,
        counters: &Counters,
        helpers: &[BorrowedFd<'_>],
        others: &[BorrowedFd<'_>],
        time: Duration,
    ) -> Result<Woken> {
        let of_open = self.open.iter().map(|index| &counters.events[0].fds[*index]);
        let of_sideband = self.sideband.iter().map(|index| &counters.sideband.fds[*index]);
        let counters = of_open.chain(of_sideband);
        let mut polled: Vec<PollFd<'_>> =
            counters.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
        let others = others.iter().chain(helpers).copied();
        polled.extend(others.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let time = Timespec::try_from(time).context("the time to wait is too long")?;
        let ready = match poll(&mut polled, Some(&time)) {
            Ok(ready) => ready,
            Err(Errno::INTR) => 0,
            Err(error) => return Err(error).context("waiting for samples failed"),
        };
        let of_helpers = polled.iter().rev().take(helpers.len());
        let woken = match of_helpers.filter(|fd| !fd.revents().is_empty()).count() {
            _ if ready == 0 => Woken::Nobody,
            helpers if helpers == ready => Woken::HelpersAlone,
            _ => Woken::Others,
        };
        let ended = PollFlags::HUP | PollFlags::ERR;
        let mut results = polled.iter().map(|fd| fd.revents().intersects(ended));
        self.open.retain(|_| !results.next().unwrap_or(false));
        self.sideband.retain(|_| !results.next().unwrap_or(false));
        Ok(woken)
    }

    pub fn target_has_ended(&self, plan: &Plan) -> bool {
        matches!(plan.target, Target::Processes(_) | Target::Threads(_)) && self.open.is_empty()
    }
}
