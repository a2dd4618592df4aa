//! Where samples lie that are not in a process's files: in the kernel, its modules, code that it
//! makes while it runs, guests. Synthesised, in both byte orders.

use perf_event_open_sys::bindings as kernel;
use perftab_core::session::Session;
use perftab_perfdata::error::WarningKind;
use perftab_tests::open::{open, packed};
use perftab_tests::synth::{
    At, Attr, Event, FileForm, MappedFile, Mapping, Order, Recording, Sample, context,
};
use perftab_views::Query;
use perftab_views::functions::FunctionOrder;
use perftab_views::grouped::GroupBy;

const ORDERS: [Order; 2] = [Order::Little, Order::Big];
const SAMPLE_TYPE: u32 = kernel::PERF_SAMPLE_IP
    | kernel::PERF_SAMPLE_TID
    | kernel::PERF_SAMPLE_TIME
    | kernel::PERF_SAMPLE_CPU
    | kernel::PERF_SAMPLE_PERIOD;
/// `PERF_RECORD_FINISHED_ROUND` of perf.
const FINISHED_ROUND: u32 = 68;
const KERNEL: u16 = kernel::PERF_RECORD_MISC_KERNEL as u16;
const USER: u16 = kernel::PERF_RECORD_MISC_USER as u16;
const HYPERVISOR: u16 = kernel::PERF_RECORD_MISC_HYPERVISOR as u16;
const GUEST_KERNEL: u16 = kernel::PERF_RECORD_MISC_GUEST_KERNEL as u16;
const GUEST_USER: u16 = kernel::PERF_RECORD_MISC_GUEST_USER as u16;

fn recording(order: Order, more: u32) -> Recording {
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, 0, SAMPLE_TYPE | more);
    let mut recording = Recording::new(order, vec![Event::new(0, "cpu-clock", attr, 1)]);
    recording.feature_string(3, "host"); // else it seems unfinished
    recording
}

fn at(time: u64) -> At {
    At { pid: 7, tid: 7, time, ..At::default() }
}

fn sample(time: u64, misc: u16, ip: u64) -> Sample {
    Sample { misc, ip, pid: 7, tid: 7, time, period: 1, ..Sample::default() }
}

fn kernel_map(
    recording: &mut Recording,
    misc: u16,
    start: u64,
    length: u64,
    offset: u64,
    path: &str,
) {
    let (pid, tid) = (u32::MAX, 0);
    let file = MappedFile::Inode(0, 0, 0, 0);
    let addresses = start..start + length;
    let mapping = Mapping { misc, pid, tid, addresses, offset, file, path };
    recording.mmap(At::default(), &mapping);
}

/// DSO and address of the innermost frame of each sample; of a run in no mapping only that.
fn leaves(session: &Session) -> Vec<(String, u64)> {
    let profile = session.profile();
    let leaf = |row: usize| {
        let stack = profile.samples.get(row).expect("a row").stack;
        let frame = profile.stacks.frames(stack).next().expect("a frame");
        let frame = profile.frames.get(frame);
        (profile.dsos.get(frame.dso).name().to_owned(), frame.address)
    };
    (0..profile.samples.len()).map(leaf).collect()
}

#[track_caller]
fn check(recording: &Recording, expected: &[(&str, u64)]) {
    let session = open(&recording.file()).expect("it opens");
    let expected: Vec<_> = expected.iter().map(|&(dso, at)| (dso.to_owned(), at)).collect();
    assert_eq!(leaves(&session), expected);
    assert_eq!(session.warnings(), []);
}

#[test]
fn the_kernel_and_its_modules_are_where_their_maps_say() {
    for order in ORDERS {
        let mut it = recording(order, 0);
        let text = 0xffff_ffff_8100_0000;
        // The recorder was not allowed to see addresses: the reference symbol is at 0.
        kernel_map(&mut it, KERNEL, text, 0x100_0000, 0, "[kernel.kallsyms]_stext");
        let module = 0xffff_ffff_c000_0000;
        kernel_map(&mut it, KERNEL, module, 0x1000, 0, "/lib/modules/6.1/kernel/net/xt-nat.ko.xz");
        kernel_map(&mut it, KERNEL, module + 0x1000, 0x1000, 0, "[nf_tables]");
        let trampoline = 0xffff_fe00_0000_6000;
        kernel_map(&mut it, KERNEL, trampoline, 0x1000, 0x80_0000, "__entry_SYSCALL_64_trampoline");
        let places = [text + 5, module + 7, module + 0x1008, trampoline + 9, text - 1, 0x7f00_0000];
        for (time, ip) in places.into_iter().enumerate() {
            it.sample(0, &sample(10 + time as u64, KERNEL, ip));
        }
        check(
            &it,
            &[
                ("[kernel.kallsyms]", text + 5),
                ("xt-nat.ko.xz", module + 7),
                ("[nf_tables]", module + 0x1008),
                ("[kernel.kallsyms]", trampoline + 9),
                // Code that no map tells of.
                ("[kernel.kallsyms]", text - 1),
                // No code of a kernel, whatever the hardware says.
                ("[no mapping]", 1),
            ],
        );
    }
}

#[test]
fn a_kernel_of_32_bits_has_the_lower_addresses_too() {
    for order in ORDERS {
        let mut it = recording(order, 0);
        kernel_map(&mut it, KERNEL, 0xc000_8000, 0x80_0000, 0xc000_8000, "[kernel.kallsyms]_text");
        it.sample(0, &sample(10, KERNEL, 0xc000_9000));
        it.sample(0, &sample(11, KERNEL, 0xbf00_0000));
        check(&it, &[("[kernel.kallsyms]", 0xc000_9000), ("[kernel.kallsyms]", 0xbf00_0000)]);
    }
}

#[test]
fn a_map_of_all_addresses_is_the_kernel_but_for_modules() {
    for order in ORDERS {
        let mut it = recording(order, 0);
        kernel_map(&mut it, KERNEL, 0, u64::MAX, 0xffff_ffff_8100_0190, "[kernel.kallsyms]_stext");
        let module = 0xffff_ffff_a000_0000;
        kernel_map(&mut it, KERNEL, module, 0x5fff, 0, "/lib/modules/3.4.0/kernel/joydev.ko");
        for (time, ip) in [module - 1, module, module + 0x5fff].into_iter().enumerate() {
            it.sample(0, &sample(10 + time as u64, KERNEL, ip));
        }
        check(
            &it,
            &[
                ("[kernel.kallsyms]", module - 1),
                ("joydev.ko", module),
                ("[kernel.kallsyms]", module + 0x5fff),
            ],
        );
    }
}

#[test]
fn guests_and_the_hypervisor_are_shown_by_address() {
    for order in ORDERS {
        let mut it = recording(order, kernel::PERF_SAMPLE_CALLCHAIN);
        let text = 0xffff_ffff_8100_0000;
        kernel_map(&mut it, KERNEL, text, 0x100_0000, text, "[kernel.kallsyms]_text");
        let guest = "[guest.kernel.kallsyms.4711]_text";
        kernel_map(&mut it, GUEST_KERNEL, text, 0x100_0000, text, guest);
        let module = 0xffff_ffff_c000_0000;
        kernel_map(&mut it, GUEST_KERNEL, module, 0x1000, 0, "[virtio_net]");
        let chain = [context::GUEST_KERNEL, text + 4, module + 5, context::GUEST_USER, 0x4001];
        let samples = [
            (GUEST_KERNEL, text + 1, vec![]),
            (GUEST_KERNEL, module + 2, vec![]),
            (GUEST_USER, 0x4000, vec![]),
            (HYPERVISOR, 0x88, vec![]),
            (KERNEL, text + 3, vec![]),
            (GUEST_KERNEL, text + 4, chain.to_vec()),
        ];
        for (time, (misc, ip, chain)) in samples.into_iter().enumerate() {
            it.sample(0, &Sample { chain, ..sample(10 + time as u64, misc, ip) });
        }
        check(
            &it,
            &[
                ("[guest.kernel.kallsyms]", text + 1),
                ("[virtio_net]", module + 2),
                ("[guest]", 0x4000),
                ("[hypervisor]", 0x88),
                ("[kernel.kallsyms]", text + 3),
                ("[guest.kernel.kallsyms]", text + 4),
            ],
        );
        let session = open(&it.file()).expect("it opens");
        let profile = session.profile();
        let last = profile.samples.get(5).expect("a row").stack;
        let stack: Vec<(&str, u64)> = profile
            .stacks
            .frames(last)
            .map(|frame| profile.frames.get(frame))
            .map(|frame| (profile.dsos.get(frame.dso).name(), frame.address))
            .collect();
        // What a chain has after its first word are return addresses.
        let expected = [
            ("[guest.kernel.kallsyms]", text + 4),
            ("[virtio_net]", module + 4),
            ("[guest]", 0x4001),
        ];
        assert_eq!(stack, expected);
    }
}

#[test]
fn code_made_at_run_time_is_what_it_was_at_the_time_of_the_sample() {
    const GONE: u16 = 1;
    for order in ORDERS {
        let mut it = recording(order, 0);
        let text = 0xffff_ffff_8100_0000;
        kernel_map(&mut it, KERNEL, text, 0x100_0000, text, "[kernel.kallsyms]_text");
        let code = 0xffff_ffff_c001_0000;
        // There before the recording.
        it.ksymbol(At::default(), (code, 0x100), 1, 0, "bpf_prog_aa_old");
        // The records of one CPU, then those of another.
        for time in [10, 30, 50] {
            it.sample(0, &sample(time, KERNEL, code + 0x20));
        }
        it.ksymbol(at(20), (code, 0x100), 1, GONE, "bpf_prog_aa_old");
        it.ksymbol(at(40), (code + 0x10, 0x80), 2, 0, "kprobe_insn_page");
        it.record(FINISHED_ROUND, 0, &[]);
        check(
            &it,
            &[
                ("bpf_prog_aa_old", 0x20),
                ("[kernel.kallsyms]", code + 0x20),
                ("kprobe_insn_page", 0x10),
            ],
        );
        let mut session = open(&it.file()).expect("it opens");
        let rows =
            session.functions(&Query::default(), FunctionOrder::default(), GroupBy::Function, 0, 9);
        let mut names = rows.names;
        names.retain(|name| !name.starts_with("0x"));
        names.sort();
        assert_eq!(names, ["bpf_prog_aa_old", "kprobe_insn_page"]);
    }
}

/// The record that code is gone was lost, or has not come yet.
#[test]
fn what_other_code_left_of_code_has_its_name_no_longer() {
    for order in ORDERS {
        let mut it = recording(order, 0);
        let text = 0xffff_ffff_8100_0000;
        kernel_map(&mut it, KERNEL, text, 0x100_0000, text, "[kernel.kallsyms]_text");
        let code = 0xffff_ffff_c001_0000;
        // As perf says it of what it finds: programs, then trampolines, each as large as a page.
        it.ksymbol(At::default(), (code + 0x100, 0x80), 1, 0, "bpf_prog_aa_old");
        it.ksymbol(At::default(), (code, 0x1000), 1, 0, "bpf_trampoline_1");
        it.sample(0, &sample(10, KERNEL, code + 0x20));
        it.sample(0, &sample(11, KERNEL, code + 0x120));
        it.ksymbol(at(20), (code + 0x100, 0x20), 1, 0, "bpf_prog_bb_new");
        it.sample(0, &sample(30, KERNEL, code + 0x110));
        it.sample(0, &sample(31, KERNEL, code + 0x140));
        it.record(FINISHED_ROUND, 0, &[]);
        check(
            &it,
            &[
                ("bpf_trampoline_1", 0x20),
                ("bpf_prog_aa_old", 0x20),
                ("bpf_prog_bb_new", 0x10),
                ("[kernel.kallsyms]", code + 0x140),
            ],
        );
    }
}

#[test]
fn a_sample_that_perf_wrapped_has_the_fields_inside() {
    for order in ORDERS {
        let sample_type = SAMPLE_TYPE | kernel::PERF_SAMPLE_RAW;
        let output = u64::from(kernel::PERF_COUNT_SW_BPF_OUTPUT);
        let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, output, sample_type);
        let mut it = Recording::new(order, vec![Event::new(0, "offcpu-time", attr, 1)]);
        it.feature_string(3, "host").event_desc();
        it.comm(at(1), 0, "sleeper").comm(At { tid: 8, ..at(2) }, 0, "thread");
        let file = MappedFile::Inode(8, 1, 5, 0);
        let (misc, pid, tid, offset) = (USER, 7, 7, 0);
        let path = "/opt/seven";
        let addresses = 0x1000..0x2000;
        it.mmap2(at(3), &Mapping { misc, pid, tid, addresses, offset, file, path });
        // As perf writes it, and as its BPF program does.
        for (time, ids) in [(10, [7, 8]), (11, [8, 7])] {
            let raw = it
                .bytes()
                .u32(ids[0])
                .u32(ids[1])
                .u64s(&[5_000_000 + time, 3, context::USER, 0x1010, 0x1020, 99])
                .zeros(4)
                .take();
            let around = Sample { pid: 1, tid: 1, period: 0, ..sample(time, USER, 0) };
            it.sample(0, &Sample { raw, ..around });
        }
        check_wrapped_samples(&open(&it.file()).expect("it opens"));
        check_wrapped_samples(&open(&packed(&it.file())).expect("it opens packed"));
        // Names of events stand at the end, so a recorder that was killed leaves none.
        let killed = it.file_as(FileForm { data_size: Some(0), ..FileForm::default() });
        let session = open(&killed).expect("it opens");
        session.info().warnings.iter().for_each(|warning| {
            assert_eq!(warning.kind, WarningKind::Unfinished, "{}", warning.message);
        });
        check_wrapped_fields(&session);
    }
}

/// Raw data that are no such sample belong to a program of the user's, which ran when it wrote them.
#[test]
fn what_another_bpf_program_writes_is_of_the_thread_that_ran() {
    let sample_type = SAMPLE_TYPE | kernel::PERF_SAMPLE_RAW;
    let output = u64::from(kernel::PERF_COUNT_SW_BPF_OUTPUT);
    let attr = Attr::new(kernel::PERF_TYPE_SOFTWARE, output, sample_type);
    let mut it = Recording::new(Order::Little, vec![Event::new(0, "", attr, 1)]);
    it.comm(at(1), 0, "seven");
    for raw in [vec![1, 0, 0, 0], vec![7; 60]] {
        it.sample(0, &Sample { raw, ..sample(10, USER, 0x1010) });
    }
    let killed = it.file_as(FileForm { data_size: Some(0), ..FileForm::default() });
    let session = open(&killed).expect("it opens");
    let event = &session.info().events[0];
    assert_eq!((event.name.as_str(), event.samples), ("bpf-output", 2));
    let profile = session.profile();
    for row in 0..2 {
        let thread = profile.threads.thread(profile.samples.get(row).expect("a row").thread);
        assert_eq!((profile.strings.get(thread.name), thread.tid), ("seven", 7));
    }
}

#[track_caller]
fn check_wrapped_samples(session: &Session) {
    assert_eq!(session.warnings(), []);
    check_wrapped_fields(session);
}

#[track_caller]
fn check_wrapped_fields(session: &Session) {
    assert_eq!(leaves(session), [("seven".to_owned(), 0x10), ("seven".to_owned(), 0x10)]);
    let profile = session.profile();
    for row in 0..2 {
        let sample = profile.samples.get(row).expect("a row");
        assert_eq!(sample.weight, 5_000_010 + row as u64);
        let thread = profile.threads.thread(sample.thread);
        assert_eq!((profile.strings.get(thread.name), thread.tid), ("thread", 8));
    }
    let info = session.info();
    assert_eq!((info.events[0].name.as_str(), info.events[0].samples), ("offcpu-time", 2));
    assert_eq!(info.derived_events, []);
    assert_eq!((info.cgroups[0].id.as_str(), info.cgroups[0].samples), ("99", 2));
}

#[test]
fn cgroups_and_namespaces_are_counted() {
    for order in ORDERS {
        let mut it = recording(order, kernel::PERF_SAMPLE_CGROUP);
        let namespaces = |pid: u64, mount: u64| [4, 5, 6, pid, 7, mount, 8].map(|inode| (3, inode));
        it.cgroup(at(1), 77, "/system.slice/app");
        it.namespaces(at(1), &namespaces(100, 200));
        // Its child is where it is, until it says otherwise.
        it.fork(At { pid: 8, tid: 8, ..at(2) }, (7, 7));
        it.namespaces(At { pid: 9, tid: 9, ..at(3) }, &namespaces(101, 200));
        for cgroup in [77, 77, 78] {
            it.sample(0, &Sample { cgroup, ..sample(10, USER, 0x10) });
        }
        let info = open(&it.file()).expect("it opens").info();
        let cgroups: Vec<_> = info
            .cgroups
            .iter()
            .map(|it| (it.id.as_str(), it.path.as_deref(), it.samples))
            .collect();
        assert_eq!(cgroups, [("77", Some("/system.slice/app"), 2), ("78", None, 1)]);
        assert_eq!((info.namespaces.pid, info.namespaces.mount), (2, 1));
    }
}
