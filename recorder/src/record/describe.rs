//! What ran before a recording began, or a part of it, and the kernel modules that come meanwhile.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::options::{Plan, Start};
use super::session::{CANNOT_START, Session};
use super::signals::Signals;
use super::target::Target;
use super::tasks;
use super::unwound::Lending;

/// While running processes are described, the rings are emptied this often.
pub(super) const DESCRIBE_ROUND: Duration = Duration::from_millis(10);

/// Which description of what runs it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Description {
    /// The first.
    OfTheBeginning,
    /// Another, for a file of its own.
    OnceMore,
}

impl Session {
    /// Starts the counters, unless the command's exec will, and describes the kernel and the
    /// processes that run already. In this order nothing is missed: what is mapped meanwhile is
    /// recorded twice, which is harmless, as the description has time 0 and so comes first. Where sampling takes all there is
    /// of the processors that takes long: whoever ends the recording meanwhile stops the counters.
    pub fn describe_what_runs(&mut self, plan: &Plan, signals: &Signals) -> Result<()> {
        let processes = match plan.target {
            Target::Command => Vec::new(),
            Target::Cpus(_) | Target::Cgroups { .. } => tasks::all_processes(),
            Target::Processes(_) | Target::Threads(_) => self.counters.processes.clone(),
        };
        if plan.target != Target::Command {
            self.counters.enable_sideband().context(CANNOT_START)?;
            if plan.start == Start::AtOnce {
                self.enable_samples()?;
            }
        }
        self.began = Instant::now();
        let deadline = self.deadline(plan);
        let is_over = || {
            signals.asked_to_end() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
        };
        self.describe(processes, Description::OfTheBeginning, is_over);
        Ok(())
    }

    /// The same for a part that begins while counters run.
    pub(super) fn describe_once_more(&mut self, plan: &Plan) {
        let processes = self.running_processes(plan);
        self.describe(processes, Description::OnceMore, || false);
    }

    /// Processes of the target, as far as records tell.
    pub(super) fn running_processes(&self, plan: &Plan) -> Vec<i32> {
        match plan.target {
            Target::Cpus(_) | Target::Cgroups { .. } => tasks::all_processes(),
            Target::Command | Target::Processes(_) | Target::Threads(_) => {
                self.part.tally.processes().collect()
            }
        }
    }

    fn describe(
        &mut self,
        processes: Vec<i32>,
        description: Description,
        is_over: impl Fn() -> bool,
    ) {
        let mut described = Vec::new();
        if let Some(kernel) = &self.kernel {
            kernel.write_mappings(&mut described, self.trailer);
        }
        let mut emptied = Instant::now();
        let mut counts = true;
        for pid in processes {
            self.tasks.write_process(pid, &mut described);
            if emptied.elapsed() >= DESCRIBE_ROUND {
                self.take_description(&mut described, description);
                // No FINISHED_ROUND before all is described: readers hold the samples back.
                self.empty_rings(Lending::Refused);
                if counts && is_over() {
                    counts = false;
                    self.counters.disable();
                }
                emptied = Instant::now();
            }
        }
        self.take_description(&mut described, description);
        self.write_buffer();
    }

    fn take_description(&mut self, described: &mut Vec<u8>, description: Description) {
        if let (Some(unwinder), Description::OfTheBeginning) = (&mut self.unwinder, description) {
            unwinder.know(described);
        }
        if let Some(line) = &mut self.live {
            line.take(described);
        }
        self.part.describe(described);
    }

    /// After the rings were emptied: describes the modules that came since the last round. If there
    /// are any, returns the time of the latest record before it looked.
    pub(super) fn describe_new_modules(&mut self) -> Option<u64> {
        let change = self.kernel.as_mut()?.modules.look()?;
        self.write_buffer();
        let before = self.latest();
        if change.is_unclear() {
            self.empty_rings(Lending::Refused);
            self.write_buffer();
        }
        let (kernel, latest) = (self.kernel.as_ref()?, self.latest());
        kernel.modules.write_change(&change, latest, &mut self.buffer, self.trailer);
        Some(before)
    }
}
