//! Reads single samples, and the processes and threads that they are of.

use perftab_profile::{
    EventId, Process, ProcessId, Profile, Sample, StackId, StringId, Thread, ThreadId,
};

use super::codes;
use super::decode::{at_most, invalid};
use super::fields::{Field, Reader, unzigzag};
use super::forecast::{Forecast, Row};
use super::{MAX_PROCESSES, MAX_ROWS, MAX_THREADS, SnapshotError};

/// What weights of an event are multiples of, and whether each sample weighs just that.
pub(super) struct Unit {
    pub unit: u64,
    pub is_regular: bool,
}

/// Reads processes and threads into a profile that has none; `groups` are names of processes.
/// Threads keep their numbers.
fn read_tasks(
    read: &mut Reader<'_>,
    profile: &mut Profile,
    groups: &[&str],
) -> Result<(), SnapshotError> {
    let processes = at_most(MAX_PROCESSES, read.count(Field::Tasks, Field::Tasks)?)?;
    let mut pid = 0;
    for _ in 0..processes {
        let group = usize::try_from(read.number(Field::Tasks)?).ok();
        let Some(name) = group.and_then(|group| groups.get(group)) else {
            return invalid("a process");
        };
        let name = profile.strings.intern(name);
        pid = next_number(read, pid)?;
        profile.threads.add_process(Process { pid, name });
    }
    for (process, tid, name) in read_threads(read, profile)? {
        if process as usize >= processes {
            return invalid("a thread");
        }
        profile.threads.add_thread(Thread { process: ProcessId(process), tid, name });
    }
    Ok(())
}

/// Reads threads: what each is of, its id, and its name.
pub(super) fn read_threads(
    read: &mut Reader<'_>,
    profile: &mut Profile,
) -> Result<Vec<(u32, u32, StringId)>, SnapshotError> {
    let count = at_most(MAX_THREADS, read.texts_left(Field::THREADS))?;
    let mut names = Vec::new();
    let mut text = String::new();
    for _ in 0..count {
        text = read.next_text(Field::THREADS, &text)?;
        names.push(profile.strings.intern(&text));
    }
    let count = at_most(MAX_THREADS, read.count(Field::Tasks, Field::Tasks)?)?;
    let mut threads = Vec::new();
    let (mut of, mut tid, mut name) = (0, 0, 0);
    for _ in 0..count {
        of = next_number(read, of)?;
        tid = next_number(read, tid)?;
        name = next_number(read, name)?;
        let Some(&name) = names.get(name as usize) else { return invalid("a name of a thread") };
        threads.push((of, tid, name));
    }
    Ok(threads)
}

/// A number from its distance to the one before.
pub(super) fn next_number(read: &mut Reader<'_>, before: u32) -> Result<u32, SnapshotError> {
    let distance = unzigzag(read.number(Field::Tasks)?);
    let number = i64::from(before).checked_add(distance).and_then(|it| u32::try_from(it).ok());
    number.ok_or(SnapshotError::Invalid { what: "a number of a process" })
}

/// Reads the samples; `stacks` are those of the call nodes, `first` is the time of the first sample.
pub(super) fn read_samples(
    read: &mut Reader<'_>,
    profile: &mut Profile,
    groups: &[&str],
    stacks: &[StackId],
    units: &[Unit],
    first: u64,
) -> Result<(), SnapshotError> {
    let rows = at_most(MAX_ROWS, read.count(Field::Times, Field::SampleKinds)?)?;
    let distances: Result<Vec<u64>, _> = units.iter().map(|_| read.number(Field::Times)).collect();
    read_tasks(read, profile, groups)?;
    let threads = profile.threads.threads.len();
    let mut forecast = Forecast::new(distances?, threads);
    for _ in 0..rows {
        let row = read_row(read, &forecast, units)?;
        let Some(unit) = units.get(usize::from(row.event)) else { return invalid("an event") };
        let Some(&stack) = stacks.get(row.node as usize) else { return invalid("a call node") };
        let Some(weight) = row.weight.checked_mul(unit.unit) else { return invalid("a weight") };
        if row.thread as usize >= threads {
            return invalid("a thread");
        }
        profile.samples.push(Sample {
            time_nanos: row.time.map_or(0, |time| first.wrapping_add(time)),
            thread: ThreadId(row.thread),
            stack,
            event: EventId(u32::from(row.event)),
            cpu: row.cpu,
            weight,
        });
        forecast.note(row);
    }
    Ok(())
}

fn read_row(
    read: &mut Reader<'_>,
    forecast: &Forecast,
    units: &[Unit],
) -> Result<Row, SnapshotError> {
    let kind = read.number(Field::SampleKinds)?;
    let Ok(event) = u16::try_from(kind >> codes::EVENT_SHIFT) else { return invalid("an event") };
    let cpu = match kind & codes::OTHER_CPU {
        0 => forecast.cpu(),
        _ => match u16::try_from(read.number(Field::SampleCpus)?) {
            Ok(cpu) => cpu.wrapping_sub(1),
            Err(_) => return invalid("a CPU"),
        },
    };
    let thread = match kind & codes::OTHER_THREAD {
        0 => forecast.thread(cpu),
        _ => number_of(read.number(Field::SampleThreads)?, "a thread")?,
    };
    let time = match (kind & codes::NO_TIME, kind & codes::SAME_TIME) {
        (0, 0) => {
            let low = u64::from(read.byte(Field::SampleTimeLows)?);
            let late = unzigzag(read.number(Field::SampleTimes)? << 8 | low);
            Some(forecast.time(event, thread).wrapping_add(late as u64))
        }
        (0, _) => Some(forecast.same_time()),
        _ => None,
    };
    let node = match read.number(Field::SampleNodes)?.checked_sub(1) {
        Some(place) => usize::try_from(place).ok().and_then(|place| forecast.recent(thread, place)),
        None => {
            let far = unzigzag(read.number(Field::SampleNewNodes)?);
            u32::try_from(i64::from(forecast.node(thread)).wrapping_add(far)).ok()
        }
    };
    let Some(node) = node else { return invalid("a call node") };
    let weight = match units.get(usize::from(event)) {
        Some(Unit { is_regular: false, .. }) => {
            let change = unzigzag(read.number(Field::SampleWeights)?);
            forecast.weight(event).wrapping_add(change as u64)
        }
        _ => 1,
    };
    Ok(Row { event, cpu, thread, time, node, weight })
}

fn number_of(number: u64, what: &'static str) -> Result<u32, SnapshotError> {
    u32::try_from(number).map_err(|_| SnapshotError::Invalid { what })
}
