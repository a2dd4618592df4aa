//! A recording that is read by another thread while it is made: `perftab top`.
//!
//! The reader has a stream as perf writes it into a pipe. It may run for days, so it begins anew once it has much, with
//! a description of what runs then: whoever reads keeps no more than one such stream.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::cgroup::Place;
use super::clock::Clock;
use super::counters::Counters;
use super::events::EventSpec;
use super::finish::stream_head;
use super::options::{Plan, Rate, SamplingArgs};
use super::part::Destination;
use super::probes::Probes;
use super::session::{Loudness, Session};
use super::signals::Signals;
use super::target::{Target, TargetArgs};
use crate::output::notice;

pub use super::signals::Ender;

/// Rings are read at least this often: what is shown is two such rounds old.
pub const PATIENCE: Duration = Duration::from_millis(200);
/// A stream has so many bytes at most, but for its last round.
const MOST: u64 = 256 << 20;
/// It begins anew after this time, too.
const LONGEST: Duration = Duration::from_secs(600);

/// What a reader is given.
pub enum Piece {
    /// A stream begins; this comes before its records.
    Begin(Vec<u8>),
    /// Whole records.
    Records(Vec<u8>),
}

/// Who takes pieces. An error ends the recording.
pub type Take = Box<dyn FnMut(Piece) -> io::Result<()>>;

/// Where the records go.
pub struct RecordsReader {
    take: Take,
    begun: Instant,
    data_size: u64,
}

impl RecordsReader {
    fn begin(mut take: Take, head: Vec<u8>) -> io::Result<Self> {
        take(Piece::Begin(head))?;
        Ok(Self { take, begun: Instant::now(), data_size: 0 })
    }

    /// Hands whole records on.
    pub fn append(&mut self, records: &[u8]) -> io::Result<()> {
        self.data_size += records.len() as u64;
        (self.take)(Piece::Records(records.to_vec()))
    }

    /// Bytes of records since the stream began.
    pub fn data_size(&self) -> u64 {
        self.data_size
    }

    /// Whether the stream has to begin anew.
    pub fn has_enough(&self) -> bool {
        self.data_size >= MOST || self.begun.elapsed() >= LONGEST
    }
}

/// What is recorded, in words.
pub struct Recorded {
    /// The events.
    pub events: String,
    /// How often a sample is taken of each.
    rates: Vec<(String, String)>,
    /// Where samples are taken.
    pub target: String,
    /// Whether samples have their callers.
    pub chains: Chains,
    /// What time it is by the clock of samples, if that can be read.
    pub now: Option<fn() -> u64>,
}

impl Recorded {
    /// How often a sample is taken of the event of this name; if there is none, of all.
    pub fn rate(&self, event: &str) -> String {
        if let Some((_, rate)) = self.rates.iter().find(|(name, _)| name == event) {
            return rate.clone();
        }
        let mut rates: Vec<&str> = Vec::new();
        for (_, rate) in &self.rates {
            if !rates.contains(&rate.as_str()) {
                rates.push(rate);
            }
        }
        rates.join(", ")
    }
}

/// Whether samples have their callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chains {
    /// They do.
    Recorded,
    /// They have their address alone.
    LeftOut,
}

/// Records until something ends it, and hands on what `begin` wants. That is called once nothing can be refused any more.
pub fn record(
    sampling: &SamplingArgs,
    target: &TargetArgs,
    duration: Option<Duration>,
    begin: impl FnOnce(Recorded, Ender) -> Result<Take>,
    end: impl FnOnce(),
) -> Result<()> {
    let mut plan = Plan::of_live(sampling, target, duration)?;
    super::say_what_cannot_be_seen(&plan);
    let signals = Signals::install()?;
    // Before the counters, so that it is dropped after them.
    let _probes = Probes::make(Path::new("/"), &mut plan.events)?;
    let counters = Counters::open(&plan, None)?;
    plan.notices.iter().chain(&counters.notices).for_each(notice);
    let head = stream_head(&counters, None)?;
    let take = begin(recorded(&plan, &counters), signals.ender()?)?;
    let result = (|| {
        let to = Destination::Reader(RecordsReader::begin(take, head)?);
        let mut session = Session::begin_to(to, counters, &plan, Loudness::Quiet)?;
        session.describe_what_runs(&plan, &signals)?;
        session.run(&plan, signals, None, None)?;
        Ok(session)
    })();
    end();
    result.map(Session::end)
}

impl Session {
    /// Begins the stream anew.
    pub(super) fn begin_anew(&mut self, plan: &Plan) -> Result<()> {
        let head = stream_head(&self.counters, None)?;
        let nobody: Take = Box::new(|_| Ok(()));
        if let Destination::Reader(reader) = &mut self.part.to {
            let take = std::mem::replace(&mut reader.take, nobody);
            let to = Destination::Reader(RecordsReader::begin(take, head)?);
            self.begin_part(to, plan)?;
        }
        Ok(())
    }
}

fn rate(event: &EventSpec, usual: Rate) -> (String, String) {
    let rate = match event.rate(usual) {
        Rate::Frequency(hz) => format!("{hz} Hz"),
        Rate::Period(1) => "each time".to_owned(),
        Rate::Period(period) => format!("every {period}"),
    };
    (event.name.clone(), rate)
}

fn recorded(plan: &Plan, counters: &Counters) -> Recorded {
    let names: Vec<&str> = counters.events.iter().map(|event| event.spec.name.as_str()).collect();
    let list = |ids: &[i32]| ids.iter().map(i32::to_string).collect::<Vec<_>>().join(",");
    let cpus = |count: usize| crate::output::counted(count as u64, "CPU", "CPUs");
    let words = |places: &[Place]| {
        let words: Vec<String> = places.iter().map(Place::to_string).collect();
        format!("cgroup {}", words.join(","))
    };
    Recorded {
        events: names.join(","),
        rates: counters.events.iter().map(|event| rate(&event.spec, plan.rate)).collect(),
        target: match &plan.target {
            Target::Cpus(all) if *all == plan.online_cpus => format!("all, {}", cpus(all.len())),
            Target::Cpus(some) => cpus(some.len()),
            Target::Processes(pids) => format!("pid {}", list(pids)),
            Target::Threads(tids) => format!("tid {}", list(tids)),
            Target::Cgroups { places, cpus: all, .. } if *all == plan.online_cpus => words(places),
            Target::Cgroups { places, cpus: some, .. } => {
                format!("{}, {}", words(places), cpus(some.len()))
            }
            Target::Command => String::new(),
        },
        chains: match plan.chains {
            super::options::CallChains::None => Chains::LeftOut,
            _ => Chains::Recorded,
        },
        now: counters.run_by_clock().then_some(Clock::record_time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_events_each_rate_is_said_once() {
        let rates = [("a", "999 Hz"), ("b", "each time"), ("c", "999 Hz")];
        let recorded = Recorded {
            events: "a,b,c".to_owned(),
            rates: rates.map(|(name, rate)| (name.to_owned(), rate.to_owned())).to_vec(),
            target: String::new(),
            chains: Chains::LeftOut,
            now: None,
        };
        assert_eq!(recorded.rate("all"), "999 Hz, each time");
        assert_eq!(recorded.rate("b"), "each time");
    }
}
