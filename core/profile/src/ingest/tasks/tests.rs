//! Tasks as records tell of them.

use std::borrow::Cow;

use super::*;
use crate::MappedFrom;

#[derive(Default)]
struct Machine {
    tasks: Tasks,
    profile: Profile,
}

impl Machine {
    fn fork(&mut self, task: (u32, u32), parent: (u32, u32)) {
        self.begin(task, parent, ForkMappings::Copied);
    }

    fn begin(
        &mut self,
        (pid, tid): (u32, u32),
        (parent_pid, parent_tid): (u32, u32),
        mappings: ForkMappings,
    ) -> Forked {
        let task = TaskRecord { pid, parent_pid, tid, parent_tid, mappings };
        self.tasks.fork(&mut self.profile, task)
    }

    fn comm(&mut self, (pid, tid): (u32, u32), name: &str, cause: CommCause) {
        let comm = CommRecord { pid, tid, name: Cow::Borrowed(name), cause };
        self.tasks.comm(&mut self.profile, &comm);
    }

    fn exit(&mut self, (pid, tid): (u32, u32)) {
        let mappings = ForkMappings::Copied;
        let task = TaskRecord { pid, parent_pid: 1, tid, parent_tid: 1, mappings };
        self.tasks.exit(&self.profile, task);
    }

    /// Processes of one thread that begin and end, with pids from `first` on.
    fn others_end(&mut self, first: u32, count: u32) {
        for pid in first..first + count {
            self.fork((pid, pid), (1, 1));
            self.exit((pid, pid));
        }
    }

    /// Code of `/opt/app` at 0x1000.
    fn map(&mut self, pid: u32) {
        self.map_file(pid, (0x1000, 0x1000, "/opt/app"));
    }

    /// The paths of what is mapped at addresses.
    fn found<const N: usize>(&mut self, pid: u32, addresses: [u64; N]) -> [&str; N] {
        let task = self.tasks.sampled(&mut self.profile, pid, pid);
        let space = self.tasks.space(task);
        let Profile { dsos, mappings, .. } = &self.profile;
        let path = |found: Mapping| dsos.get(found.dso).path.as_str();
        addresses.map(|address| space.find(mappings, address).map_or("", path))
    }

    fn map_file(&mut self, pid: u32, range: (u64, u64, &'static str)) {
        self.map_as(pid, MappingAccess::Executable, range);
    }

    fn map_as(
        &mut self,
        pid: u32,
        access: MappingAccess,
        (address, length, path): (u64, u64, &'static str),
    ) {
        let mmap = MmapRecord {
            pid,
            address,
            length,
            // Code that perf injects stands behind the header of its file.
            page_offset: if path.contains("jitted") { 0x80 } else { 0 },
            path: Cow::Borrowed(path),
            mapped_from: MappedFrom::Nothing,
            access,
        };
        self.tasks.map(&mut self.profile, &mmap);
    }

    fn mappings(&mut self, pid: u32) -> Mappings {
        self.tasks.sampled(&mut self.profile, pid, pid).mappings
    }

    fn is_mapped(&mut self, (pid, tid): (u32, u32)) -> bool {
        let task = self.tasks.sampled(&mut self.profile, pid, tid);
        self.tasks.space(task).find(&self.profile.mappings, 0x1000).is_some()
    }

    /// Name and process of a thread that is sampled.
    fn sampled(&mut self, (pid, tid): (u32, u32)) -> (String, ProcessId) {
        let id = self.tasks.sampled(&mut self.profile, pid, tid).thread;
        let thread = self.profile.threads.thread(id);
        (self.profile.strings.get(thread.name).to_owned(), thread.process)
    }

    fn name(&mut self, ids: (u32, u32)) -> String {
        self.sampled(ids).0
    }
}

/// What a run time compiled is whole or gone, in memory that outlives it.
#[test]
fn code_that_another_takes_the_place_of_is_gone() {
    let mut machine = Machine::default();
    let anon = (0x1000, 0x1000, "//anon");
    let [first, second] = [
        (0x1100, 0x100, "/tmp/.debug/jit/jitted-10-1.so"),
        (0x1180, 0x40, "/tmp/.debug/jit/jitted-10-2.so"),
    ];
    for mapped in [anon, first] {
        machine.map_file(10, mapped);
    }
    let of_first = machine.found(10, [0x1100, 0x1190, 0x11f0]);
    assert_eq!(of_first, [first.2; 3]);
    machine.fork((11, 11), (10, 10));
    machine.map_file(10, second);
    assert_eq!(machine.found(10, [0x1100, 0x1190, 0x11f0]), [anon.2, second.2, anon.2]);
    // A child has what was there when it began.
    assert_eq!(machine.found(11, [0x1100, 0x1190, 0x11f0]), [first.2; 3]);
    // The memory is given to something else.
    machine.map_file(11, (0x11f0, 0x100, "/opt/lib.so"));
    assert_eq!(machine.found(11, [0x1100, 0x1190, 0x11f0]), [anon.2, anon.2, "/opt/lib.so"]);
    // A library in part of another's place leaves the rest of it.
    machine.map_file(11, (0x1200, 0x10, "/opt/more.so"));
    let found = machine.found(11, [0x11f0, 0x1200, 0x1210]);
    assert_eq!(found, ["/opt/lib.so", "/opt/more.so", "/opt/lib.so"]);
    // Code in the place of a file means that the file is not there.
    machine.map_file(11, (0x1220, 0x10, "/tmp/jitted-11-1.so"));
    machine.map_file(11, (0x1228, 0x10, "/tmp/jitted-11-2.so"));
    let found = machine.found(11, [0x121f, 0x1220, 0x1230]);
    assert_eq!(found, ["/opt/lib.so", "", "/tmp/jitted-11-2.so"]);
    // Where code moved to, memory is there when other code takes its place.
    machine.map_file(10, (0x1300, 0x100, "/tmp/jitted-10-1"));
    machine.map_file(10, (0x1380, 0x40, "/tmp/jitted-10-3.so"));
    let found = machine.found(10, [0x1300, 0x1380, 0x13f0]);
    assert_eq!(found, [anon.2, "/tmp/jitted-10-3.so", anon.2]);
}

#[test]
fn names_are_those_of_the_time_as_perf_has_them() {
    let mut machine = Machine::default();
    machine.comm((10, 10), "bash", CommCause::Rename);
    machine.fork((11, 11), (10, 10));
    assert_eq!(machine.name((11, 11)), "bash");
    machine.comm((11, 11), "make", CommCause::Exec);
    machine.fork((11, 12), (11, 11));
    machine.comm((11, 12), "worker", CommCause::Rename);
    machine.fork((11, 13), (11, 12));
    let names = [(10, 10), (11, 11), (11, 12), (11, 13)].map(|ids| machine.name(ids));
    assert_eq!(names, ["bash", "make", "worker", "worker"]);
    // A child has the name of the thread that forked, not of that thread's process.
    machine.fork((20, 20), (11, 12));
    assert_eq!(machine.name((20, 20)), "worker");
}

#[test]
fn threads_without_a_recorded_name_show_their_own_id() {
    let mut machine = Machine::default();
    machine.comm((10, 10), "bash", CommCause::Rename);
    assert_eq!(machine.name((10, 14)), ":14");
    assert_eq!(machine.name((0, 0)), "swapper");
    assert_eq!(machine.name((u32::MAX, u32::MAX)), ":-1");
    // Nobody knows the parent's name, so the child has none either.
    machine.fork((31, 31), (30, 30));
    assert_eq!(machine.name((31, 31)), ":31");
    machine.comm((30, 30), ":30", CommCause::Rename);
    machine.fork((32, 32), (30, 30));
    assert_eq!(machine.name((32, 32)), ":30");
}

#[test]
fn the_first_name_of_a_thread_goes_for_the_time_before() {
    let mut machine = Machine::default();
    let before = machine.tasks.sampled(&mut machine.profile, 10, 10).thread;
    machine.comm((10, 10), "fib", CommCause::Exec);
    let after = machine.tasks.sampled(&mut machine.profile, 10, 10).thread;
    machine.comm((10, 10), "later", CommCause::Rename);
    let threads = &machine.profile.threads;
    let names = [before, after].map(|id| {
        let thread = threads.thread(id);
        [thread.name, threads.process(thread.process).name]
            .map(|name| machine.profile.strings.get(name))
    });
    // Before exec it was another process, whatever it was.
    assert_eq!(names, [["fib", "fib"], ["fib", "later"]]);
}

#[test]
fn after_a_gap_a_process_is_doubtful_until_it_begins_anew() {
    let mut machine = Machine::default();
    for pid in [10, 20] {
        machine.comm((pid, pid), "old", CommCause::Exec);
        assert_eq!(machine.mappings(pid), Mappings::Sure);
    }
    machine.tasks.lost_mappings();
    assert_eq!(machine.mappings(10), Mappings::Doubtful);
    // A child is what its parent may no longer be.
    machine.fork((11, 11), (10, 10));
    assert_eq!(machine.mappings(11), Mappings::Doubtful);
    machine.comm((20, 20), "new", CommCause::Exec);
    assert_eq!(machine.mappings(20), Mappings::Sure);
    machine.comm((30, 30), "later", CommCause::Exec);
    assert_eq!(machine.mappings(30), Mappings::Sure);
    machine.map(11);
    assert_eq!(machine.mappings(11), Mappings::Sure);
}

/// It is the same process, with what is mapped in it by then and nothing else.
#[test]
fn after_a_gap_a_process_may_be_described_anew() {
    let mut machine = Machine::default();
    let describe = |machine: &mut Machine, names: [&str; 2], told: Forked| {
        for (task, name) in [(10, 10), (10, 12)].into_iter().zip(names) {
            let parent = if task.1 == 10 { (1, 1) } else { (10, 10) };
            assert!(machine.begin(task, parent, ForkMappings::Own) == told);
            machine.comm(task, name, CommCause::Rename);
        }
    };
    describe(&mut machine, ["app", "worker"], Forked::Begun);
    machine.map(10);
    machine.map_file(10, (0x9000, 0x1000, "/lib/gone"));
    let before = [(10, 10), (10, 12)].map(|task| machine.sampled(task));
    machine.tasks.lost_mappings();
    assert_eq!(machine.mappings(10), Mappings::Doubtful);
    describe(&mut machine, ["app", "worker"], Forked::DescribedAnew);
    assert_eq!(machine.mappings(10), Mappings::Sure);
    assert!(!machine.is_mapped((10, 12)));
    machine.map(10);
    assert!(machine.is_mapped((10, 10)) && machine.is_mapped((10, 12)));
    assert_eq!(machine.found(10, [0x1000, 0x9000]), ["/opt/app", ""]);
    assert_eq!([(10, 10), (10, 12)].map(|task| machine.sampled(task)), before);
    // What has the number of one that has ended is another.
    machine.exit((10, 12));
    machine.exit((10, 10));
    describe(&mut machine, ["other", "worker"], Forked::Begun);
    assert_ne!(machine.sampled((10, 10)).1, before[0].1);
}

#[test]
fn a_pid_that_is_used_again_is_another_process() {
    let mut machine = Machine::default();
    machine.comm((10, 10), "first", CommCause::Rename);
    let first = machine.sampled((10, 10));
    machine.exit((10, 10));
    // The kernel samples what a thread does after its EXIT record.
    assert_eq!(machine.sampled((10, 10)), first);
    machine.comm((10, 10), "second", CommCause::Rename);
    let second = machine.sampled((10, 10));
    assert_eq!(second.0, "second");
    assert_ne!(second.1, first.1);
    machine.comm((10, 10), "renamed", CommCause::Rename);
    assert_eq!(machine.sampled((10, 10)), ("renamed".to_owned(), second.1));
}

/// `main` may call `pthread_exit`, and the others go on.
#[test]
fn a_process_goes_on_until_its_last_thread_has_ended() {
    let mut machine = Machine::default();
    machine.fork((10, 10), (1, 1));
    machine.map(10);
    machine.fork((10, 11), (10, 10));
    machine.fork((10, 12), (10, 10));
    machine.exit((10, 10));
    machine.exit((10, 11));
    machine.exit((10, 11)); // said twice
    machine.others_end(1000, 1100);
    assert!(machine.is_mapped((10, 12)), "a worker goes on");
    machine.exit((10, 12));
    assert!(machine.is_mapped((10, 12)), "the kernel samples its end");
    machine.others_end(3000, 1100);
    assert!(!machine.is_mapped((10, 12)), "it is gone");
}

#[test]
fn the_mappings_of_a_process_outlive_those_that_had_its_pid() {
    let mut machine = Machine::default();
    machine.fork((10, 10), (1, 1));
    machine.map(10);
    machine.exit((10, 10));
    machine.others_end(1000, 1020);
    machine.fork((10, 10), (1, 1));
    machine.map(10);
    machine.exit((10, 10));
    machine.others_end(3000, 10);
    assert!(machine.is_mapped((10, 10)), "it has only just ended");
    machine.comm((10, 10), "next", CommCause::Exec);
    machine.map(10);
    machine.others_end(5000, 2000);
    assert!(machine.is_mapped((10, 10)), "it has not ended");
}

/// Exec, exit and the next process with the number change what is, not what was.
#[test]
fn what_a_process_had_mapped_is_known_of_its_samples_for_ever() {
    let mut machine = Machine::default();
    let mut rows = Vec::new();
    let mut sample = |machine: &mut Machine, tid: u32| {
        let thread = machine.tasks.sampled(&mut machine.profile, 10, tid).thread;
        let process = machine.profile.threads.thread(thread).process;
        rows.push((process, machine.profile.samples.len()));
        let (stack, event) = (crate::Stacks::EMPTY, crate::EventId(0));
        let row = crate::Sample { time_nanos: 0, thread, stack, event, cpu: 0, weight: 1 };
        machine.profile.samples.push(row);
    };
    machine.fork((10, 10), (1, 1));
    machine.fork((10, 11), (10, 10));
    sample(&mut machine, 10);
    machine.map(10);
    sample(&mut machine, 10);
    sample(&mut machine, 11);
    machine.comm((10, 10), "next", CommCause::Exec);
    sample(&mut machine, 10);
    // Its exec ended the other threads, and what is sampled of one has the mappings of now.
    sample(&mut machine, 11);
    machine.map_file(10, (0x1000, 0x1000, "/opt/next"));
    sample(&mut machine, 10);
    machine.exit((10, 10));
    machine.exit((10, 11));
    machine.others_end(3000, 2000);
    machine.fork((10, 10), (1, 1));
    sample(&mut machine, 10);
    machine.profile.mappings.settle();
    let profile = &machine.profile;
    let found = rows.iter().map(|&(process, row)| {
        let frame = profile.mappings.find(process.into(), row, 0x1234)?;
        Some((profile.dsos.get(frame.dso).path.as_str(), frame.address))
    });
    let (app, next) = (Some(("/opt/app", 0x234)), Some(("/opt/next", 0x234)));
    assert_eq!(found.collect::<Vec<_>>(), [None, app, app, None, None, next, None]);
}

#[test]
fn memory_without_code_is_found_by_addresses_of_data_alone() {
    let mut machine = Machine::default();
    let whole = (0x1000, 0x4000, "/opt/app");
    machine.tasks.keep_data();
    machine.fork((10, 10), (1, 1));
    machine.map_file(10, whole);
    machine.map_as(10, MappingAccess::Data, (0x2000, 0x1000, "[heap]"));
    machine.map_as(10, MappingAccess::Data, (0x3000, 0x1000, "/opt/table"));
    assert_eq!(machine.found(10, [0x1800, 0x2800, 0x3800]), ["/opt/app", "", "/opt/table"]);
    // What comes later covers what was there, of whatever kind.
    machine.map_file(10, (0x2800, 0x800, "/opt/late"));
    machine.map_as(10, MappingAccess::Data, (0x4800, 0x1000, "//anon"));
    machine.fork((11, 11), (10, 10));
    machine.map_file(10, whole);
    let spaces = [10, 11].map(|pid| {
        let task = machine.tasks.sampled(&mut machine.profile, pid, pid);
        machine.profile.threads.thread(task.thread).process
    });
    machine.profile.mappings.settle();
    let Profile { dsos, mappings, .. } = &machine.profile;
    let data = |process: ProcessId, address| {
        let space = mappings.space_at(process.into(), 0)?;
        let frame = mappings.data_in(space, address)?;
        Some((dsos.get(frame.dso).path.as_str(), frame.address))
    };
    let of = |process| [0x1800, 0x2400, 0x2900, 0x3800, 0x4400, 0x5400].map(|at| data(process, at));
    let app = |at| Some(("/opt/app", at));
    let anon = Some(("//anon", 0x5400));
    let [first, child] = spaces;
    assert_eq!(of(first), [app(0x800), app(0x1400), app(0x1900), app(0x2800), app(0x3400), anon]);
    let (heap, late, table) = (("[heap]", 0x2400), ("/opt/late", 0x100), ("/opt/table", 0x800));
    assert_eq!(of(child), [app(0x800), Some(heap), Some(late), Some(table), app(0x3400), anon]);
}
