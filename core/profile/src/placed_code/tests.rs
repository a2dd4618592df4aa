//! Frames that are placed, against a look through all changes.

use super::*;
use crate::{EventId, MappedFrom, Process, Sample, Thread, ThreadId};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Two processes whose samples are in memory without a file, and in a file.
fn profile(random: &mut Random, rows: u64) -> Profile {
    let mut profile = Profile::default();
    let name = profile.strings.intern("app");
    let processes = [7, 8].map(|pid| profile.threads.add_process(Process { pid, name }));
    let threads = processes.map(|process| {
        let tid = profile.threads.process(process).pid;
        profile.threads.add_thread(Thread { process, tid, name })
    });
    let mut intern =
        |path, kind, owner| profile.dsos.intern(path, kind, MappedFrom::Nothing, owner);
    let anon = processes.map(|process| intern("//anon", DsoKind::Anon, Some(process)));
    let file = intern("/bin/app", DsoKind::User, None);
    for row in 0..rows {
        let which = random.below(2) as usize;
        let mut stack = Stacks::EMPTY;
        for _ in 0..random.below(4) {
            let dso = if random.below(4) == 0 { file } else { anon[which] };
            let frame = profile.frames.intern(Frame { dso, address: random.below(64) });
            stack = profile.stacks.intern(stack, frame);
        }
        profile.samples.push(Sample {
            time_nanos: row * 10,
            thread: ThreadId(threads[which].0),
            stack,
            event: EventId(0),
            cpu: 0,
            weight: 1,
        });
    }
    profile
}

fn changes(random: &mut Random, count: u64, rows: u64) -> Vec<CodeChange> {
    let mut changes: Vec<CodeChange> = (0..count as u32)
        .map(|name| {
            let start = random.below(60);
            let (offset, end) = (1000 + 100 * u64::from(name), start + 1 + random.below(8));
            let code = (random.below(5) > 0).then_some(MadeCode { offset, name });
            CodeChange { time_nanos: random.below(rows * 10), start, end, code }
        })
        .collect();
    changes.sort_by_key(|change| change.time_nanos);
    changes
}

/// The code at an address at a time: the last change that covers it, unless a later one had a part in it.
fn code_at(changes: &[CodeChange], time: u64, address: u64) -> Option<(u64, u32)> {
    let passed = || changes.iter().take_while(|it| it.time_nanos <= time);
    let (at, last) =
        passed().enumerate().filter(|(_, it)| (it.start..it.end).contains(&address)).last()?;
    let code = last.code?;
    let is_over = |it: &CodeChange| it.start < last.end && last.start < it.end;
    let is_gone = passed().skip(at + 1).any(is_over);
    (!is_gone).then_some((code.offset + address - last.start, code.name))
}

#[test]
fn each_frame_is_placed_by_its_process_and_time() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..40 {
        let rows = 1 + random.below(200);
        let before = profile(&mut random, rows);
        let count = random.below(60);
        let changes = changes(&mut random, count, rows);
        let process = ProcessId(0);
        let none = RunTime { process, sampled: (0, 0), rows: Vec::new() };
        let of = |profile: &Profile| {
            let mut all = profile.run_times().into_iter();
            all.find(|it| it.process == process).unwrap_or_else(|| none.clone())
        };
        let met = before.code_met(&of(&before), &changes);
        let mut after = before.clone();
        let dso = after.dsos.intern("jit-7.dump", DsoKind::Jit, MappedFrom::Nothing, Some(process));
        let names: Map<FrameId, u32> =
            after.place_code(&of(&before), dso, &changes).into_iter().collect();
        let (mut known, mut unknown) = (Map::new(), Map::new());
        for row in 0..before.samples.len() {
            let sample = before.samples.get(row).expect("a row");
            let was: Vec<FrameId> = before.stacks.frames(sample.stack).collect();
            let now: Vec<FrameId> = after.stacks.frames(after.samples.stack[row]).collect();
            assert_eq!(was.len(), now.len());
            let is_its = before.threads.thread(sample.thread).process == process;
            for (was, now) in was.into_iter().zip(now) {
                let (frame, placed) = (before.frames.get(was), after.frames.get(now));
                let is_anon = before.dsos.get(frame.dso).kind == DsoKind::Anon;
                let code = code_at(&changes, sample.time_nanos, frame.address);
                match code.filter(|_| is_its && is_anon) {
                    Some((offset, name)) => {
                        assert_eq!(placed, Frame { dso, address: offset }, "{round}: row {row}");
                        assert_eq!(names.get(&now), Some(&name));
                        known.insert(was, ());
                    }
                    None => {
                        assert_eq!(placed, frame, "{round}: row {row}");
                        if is_its && is_anon {
                            unknown.insert(was, ());
                        }
                    }
                }
            }
        }
        let never = unknown.iter().filter(|(frame, ())| !known.contains_key(*frame)).count() as u64;
        let addresses = known.len() as u64 + never;
        let known = known.keys().map(|&frame| before.frames.get(frame).address);
        let mut known: Vec<u64> = known.collect();
        sort(&mut known);
        let expected = CodeMet { addresses, known };
        assert_eq!(met, expected);
        // Once more, nothing is left to place.
        let stacks: Vec<StackId> =
            (0..after.samples.len()).map(|row| after.samples.stack[row]).collect();
        let again = of(&after);
        assert!(after.place_code(&again, dso, &changes).is_empty());
        assert!((0..stacks.len()).all(|row| after.samples.stack[row] == stacks[row]));
    }
}

#[test]
fn run_times_are_processes_with_samples_in_memory_without_a_file() {
    let mut random = Random(3);
    let mut profile = profile(&mut random, 100);
    let run_times = profile.run_times();
    let processes: Vec<u32> = run_times.iter().map(|it| it.process.0).collect();
    assert_eq!(processes, [0, 1]);
    assert!(run_times.iter().all(|it| it.sampled.0 < it.sampled.1 && it.sampled.1 < 1000));
    let dso = profile.dsos.intern("jit-7.dump", DsoKind::Jit, MappedFrom::Nothing, None);
    let code = Some(MadeCode { offset: 0, name: 0 });
    let all = CodeChange { time_nanos: 0, start: 0, end: 64, code };
    profile.place_code(&run_times[0], dso, &[all]);
    let processes: Vec<u32> = profile.run_times().iter().map(|it| it.process.0).collect();
    assert_eq!(processes, [1]);
}
