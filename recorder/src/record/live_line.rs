//! How far a recording is, on a line of the terminal: of what runs already, as a command that is recorded has the terminal for
//! itself.

use std::time::{Duration, Instant};

use super::options::Plan;
use super::session::Session;
use crate::output::{StatusLine, grouped, size};

/// It is written anew this often at most.
const PACE: Duration = Duration::from_secs(1);

/// The line.
pub struct LiveLine {
    line: StatusLine,
    begun: Instant,
    /// When it was written last, and how many samples there were.
    last: (Instant, u64),
    /// Samples in files that are finished.
    before: u64,
    /// Those of the present one.
    present: u64,
}

impl LiveLine {
    /// `None` if nobody watches.
    pub fn begin(plan: &Plan, session: &Session) -> Option<Self> {
        let line = StatusLine::begin().filter(|_| plan.command.is_empty() && !session.is_quiet)?;
        let now = Instant::now();
        Some(Self { line, begun: now, last: (now, 0), before: 0, present: 0 })
    }

    /// Says what there is by now, if it is time.
    pub fn show(&mut self, session: &Session) {
        let samples = session.part.tally.samples;
        if samples < self.present {
            self.before += self.present;
        }
        self.present = samples;
        let since = self.last.0.elapsed();
        if since < PACE {
            return;
        }
        let all = self.before + self.present;
        let rate = (all - self.last.1.min(all)) as f64 / since.as_secs_f64();
        let lost = match session.part.tally.lost() {
            0 => "none lost".to_owned(),
            lost => format!("{} lost", grouped(lost)),
        };
        self.line.show(format_args!(
            "recording {} s: {} samples ({}/s), {lost}, {}; Ctrl-C ends it",
            grouped(self.begun.elapsed().as_secs()),
            grouped(all),
            grouped(rate as u64),
            size(session.part.to.data_size()),
        ));
        self.last = (Instant::now(), all);
    }
}
