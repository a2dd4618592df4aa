//! The clock of the samples, and what time it is by it.
//!
//! Counters run by CLOCK_MONOTONIC, which perf calls `-k mono`: other than the kernel's own clock,
//! which they have unless told, it can be read, so that the recording tells when it was made.

use std::time::{Duration, SystemTime};

use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::write;
use rustix::time::{ClockId, clock_getres, clock_gettime};

/// `CLOCK_MONOTONIC` in the attr and in the file.
pub const MONOTONIC: i32 = 1;

/// One moment by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: SystemTime,
    monotonic: Duration,
}

impl Clock {
    /// Reads both.
    pub fn now() -> Self {
        let monotonic = duration(clock_gettime(ClockId::Monotonic));
        Self { wall: SystemTime::now(), monotonic }
    }

    /// What time it is by the clock of records.
    pub fn record_time() -> u64 {
        nanos(duration(clock_gettime(ClockId::Monotonic)))
    }

    /// The wall clock's time of the moment that was read.
    pub fn read_at(&self) -> SystemTime {
        self.wall
    }

    /// The wall clock's time of a record; that of the reading for what was there before.
    pub fn wall_time(&self, record_nanos: u64) -> SystemTime {
        match Duration::from_nanos(record_nanos).checked_sub(self.monotonic) {
            Some(since) => self.wall + since,
            None => self.wall,
        }
    }

    /// The feature sections about it.
    pub fn features(&self) -> [(Feature, Vec<u8>); 2] {
        let resolution = duration(clock_getres(ClockId::Monotonic));
        let wall = self.wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (mut clock_id, mut clock_data) = (Vec::new(), Vec::new());
        write::clock_id(&mut clock_id, nanos(resolution));
        write::clock_data(&mut clock_data, MONOTONIC as u32, nanos(wall), nanos(self.monotonic));
        [(Feature::CLOCKID, clock_id), (Feature::CLOCK_DATA, clock_data)]
    }
}

fn duration(time: rustix::time::Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
