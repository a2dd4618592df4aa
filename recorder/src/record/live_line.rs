//! How far a recording is, and what runs, on a line of the terminal: of what runs already, as a command that is recorded has
//! the terminal for itself.

use std::time::{Duration, Instant};

use super::hot_functions::HotFunctions;
use super::options::Plan;
use super::part::Part;
use crate::output::{StatusLine, grouped, size};

/// It is written anew this often at most.
const PACE: Duration = Duration::from_secs(1);

/// The line.
pub struct LiveLine {
    line: StatusLine,
    hot: Option<HotFunctions>,
    begun: Instant,
    /// When it was written last, and how many samples there were.
    last: (Instant, u64),
    /// Samples in files that are finished.
    before: u64,
    /// Those of the present one.
    present: u64,
}

impl LiveLine {
    /// `None` if nobody watches. Functions are shown if there is a head of a stream for what is recorded.
    pub fn begin(plan: &Plan, head: impl FnOnce() -> Option<Vec<u8>>) -> Option<Self> {
        let line = StatusLine::begin().filter(|_| plan.command.is_empty())?;
        let hot = head().and_then(HotFunctions::start);
        let now = Instant::now();
        Some(Self { line, hot, begun: now, last: (now, 0), before: 0, present: 0 })
    }

    /// Takes whole records that are written.
    pub fn take(&mut self, records: &[u8]) {
        self.hot.iter_mut().for_each(|hot| hot.take(records));
    }

    /// Says what there is by now, if it is time.
    pub fn show(&mut self, part: &Part) {
        let samples = part.tally.samples;
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
        let lost = match part.tally.lost() {
            0 => String::new(),
            lost => format!(", {} lost", grouped(lost)),
        };
        // A terminal of 80 columns has room for one or two functions, or for how it ends.
        let hot = self.hot.as_mut().map_or("", HotFunctions::look);
        self.line.show(format_args!(
            "recording {} s: {} samples ({}/s){lost}, {}; {}",
            grouped(self.begun.elapsed().as_secs()),
            grouped(all),
            grouped(rate as u64),
            size(part.to.data_size()),
            if hot.is_empty() { "Ctrl-C ends it" } else { hot },
        ));
        self.last = (Instant::now(), all);
    }
}
