//! What the kernel is asked for: the attr of each event.

use perf_event_open_sys::bindings::perf_event_attr;
use perftab_perfdata::format::attr::{
    ARM64_LINK_REGISTER, branch_sample_type, read_format, sample_type,
};

use super::chain_parts::ChainParts;
use super::clock;
use super::events::{EventSpec, GroupSamples, Grouping, Mode, Privilege, Sampled};
use super::options::{CallChains, Children, KeptSamples, Plan, Rate, StackCopy, Start};
use super::sys;
use super::target::Target;
use super::tasks::{DescribedMappings, NamespaceRecords};

/// What the running kernel can put into an attr. Each level includes those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelLevel {
    /// mmap2, comm_exec.
    Oldest,
    /// 4.1: times are those of a clock that can be read.
    Clocks,
    /// 5.1: loading of BPF programs is reported.
    BpfEvents,
    /// 5.12: mmap events carry build-ids.
    BuildIds,
    /// 6.0: counters say how many samples they lost.
    LostCounts,
    /// 6.19: user call chains may come later.
    DeferredChains,
}

impl KernelLevel {
    /// In the order in which they are tried.
    pub const NEWEST_FIRST: [Self; 6] = [
        Self::DeferredChains,
        Self::LostCounts,
        Self::BuildIds,
        Self::BpfEvents,
        Self::Clocks,
        Self::Oldest,
    ];
}

/// Whether an event samples, or reports mappings, names, forks and exits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It reports.
    Tracking,
    /// It samples.
    SamplingOnly,
}

/// Registers that are copied with a stack: all that the kernel gives, as perf asks for them. Of x86-64 it has no
/// segment registers but cs and ss (`arch/x86/kernel/perf_regs.c`).
const USER_REGISTERS: u64 = if cfg!(target_arch = "x86_64") { 0xff_0fff } else { 0x1_ffff_ffff };

/// What is recorded beside a chain by frame pointers, as perf does since 5.18: on arm64 the register that a call leaves its
/// return address in (`PERF_REG_ARM64_LR`), as a function that calls no other does not put that on the stack. The kernel has
/// had it for as long as it copies stacks. 16 bytes a sample.
const CHAIN_REGISTERS: u64 =
    if cfg!(target_arch = "aarch64") { 1 << ARM64_LINK_REGISTER } else { 0 };

/// The attr of one event. All events of a recording have the same sample_type, so that a reader
/// needs nothing but the id to tell them apart; but only those of the CPU have the calls that it keeps, behind all else,
/// and those with a number of their own have no period.
pub fn attr(
    plan: &Plan,
    all: &[EventSpec],
    spec: &EventSpec,
    level: KernelLevel,
    role: Role,
) -> perf_event_attr {
    let mut attr = sys::empty_attr();
    attr.type_ = spec.code.event_type;
    let [config, config1, config2] = spec.code.config;
    attr.config = config;
    attr.__bindgen_anon_3.config1 = config1;
    attr.__bindgen_anon_4.config2 = config2;
    attr.bp_type = spec.code.access;
    attr.sample_type = sample_bits(plan, all, spec);
    attr.read_format = read_format::ID;
    let reads_values = all.iter().any(|spec| spec.grouping.reads_values());
    if reads_values && role == Role::Tracking {
        // It is inherited, which kernels before 6.12 refuse with values; and it takes no samples.
        attr.sample_type &= !sample_type::READ;
    } else if reads_values {
        attr.read_format |= read_format::GROUP;
    }
    if level >= KernelLevel::LostCounts {
        attr.read_format |= read_format::LOST;
    }
    if level >= KernelLevel::Clocks {
        attr.set_use_clockid(1);
        attr.clockid = clock::MONOTONIC;
    }
    match spec.rate(plan.rate) {
        // It never occurs.
        _ if role == Role::Tracking => {}
        // The leader's samples are its own.
        _ if spec.grouping == Grouping::Member(GroupSamples::OfLeader) => {}
        Rate::Period(period) => attr.sample_period = period,
        Rate::Frequency(hz) if spec.is_clock() => attr.sample_period = 1_000_000_000 / hz.max(1),
        Rate::Frequency(hz) => {
            attr.sample_freq = hz;
            attr.set_freq(1);
        }
    }
    attr.set_exclude_callchain_kernel(u64::from(plan.chain_parts == ChainParts::User));
    attr.set_exclude_callchain_user(u64::from(plan.chain_parts == ChainParts::Kernel));
    if let Some(StackCopy(size)) = plan.chains.copy() {
        attr.sample_regs_user = USER_REGISTERS;
        attr.sample_stack_user = size;
        // Frame pointers would be followed for nothing.
        attr.set_exclude_callchain_user(1);
    }
    if has_chain_registers(plan) {
        attr.sample_regs_user = CHAIN_REGISTERS;
    }
    let is_deferred =
        plan.chains == CallChains::FramePointersDeferred && level >= KernelLevel::DeferredChains;
    attr.set_defer_callchain(u64::from(is_deferred));
    if spec.sampled == Sampled::Never {
        attr.set_defer_output(1);
        // Of a whole CPU, the kernel has such records only for events that report something (`is_sb_event` in
        // `kernel/events/core.c`). This bit alone makes it one, and reports nothing.
        attr.set_comm_exec(1);
    }
    let keeps_calls = plan.chains == CallChains::KeptByCpu && spec.is_of_the_cpu();
    if keeps_calls && role == Role::SamplingOnly {
        use branch_sample_type::{CALL_STACK, NO_CYCLES, NO_FLAGS, USER};
        attr.sample_type |= sample_type::BRANCH_STACK;
        attr.branch_sample_type = USER | CALL_STACK | NO_CYCLES | NO_FLAGS;
    }
    if let (Some(branches), true) = (plan.data.branches, spec.is_of_the_cpu())
        && role == Role::SamplingOnly
    {
        attr.sample_type |= sample_type::BRANCH_STACK;
        attr.branch_sample_type = branches;
    }
    // As perf: members count while their leader does.
    let leads = !spec.grouping.is_member();
    attr.set_disabled(u64::from(leads));
    let has_children = plan.children == Children::Recorded && !spec.has(Mode::NotInherited);
    let may_inherit = role == Role::Tracking || !reads_values && has_children;
    attr.set_inherit(match plan.target {
        Target::Command | Target::Processes(_) => u64::from(may_inherit),
        Target::Threads(_) | Target::Cpus(_) | Target::Cgroups { .. } => 0,
    });
    let is_begun = role == Role::Tracking || plan.start == Start::AtOnce;
    attr.set_enable_on_exec(u64::from(plan.target == Target::Command && is_begun && leads));
    attr.set_pinned(u64::from(leads && spec.has(Mode::Pinned)));
    attr.set_exclusive(u64::from(leads && spec.has(Mode::Exclusive)));
    attr.set_exclude_idle(u64::from(spec.has(Mode::NoIdle)));
    if let Some(frames) = spec.max_stack.or(plan.chains.most()) {
        attr.sample_max_stack = frames;
    }
    attr.set_exclude_kernel(u64::from(spec.privilege == Privilege::UserOnly));
    let without_hypervisor = spec.privilege != Privilege::Any && !spec.has(Mode::Hypervisor);
    attr.set_exclude_hv(u64::from(without_hypervisor));
    attr.set_exclude_user(u64::from(spec.privilege == Privilege::KernelOnly));
    // The guest's code cannot be named from here, so only who asks has it.
    let of_guest = spec.has(Mode::Guest);
    attr.set_exclude_guest(u64::from(!of_guest));
    attr.set_exclude_host(u64::from(of_guest && !spec.has(Mode::Host)));
    attr.set_precise_ip(spec.precise.level().into());
    attr.set_sample_id_all(1);
    let is_overwritten = role == Role::SamplingOnly && plan.samples == KeptSamples::Latest;
    attr.set_write_backward(u64::from(is_overwritten));
    // Not in the ring of sideband, which many switches would fill.
    attr.set_context_switch(u64::from(spec.sampled == Sampled::AtSwitches));
    if role == Role::Tracking {
        attr = with_sideband(&attr);
        let described = plan.chains.described_mappings();
        let has_data = plan.data.fields & sample_type::ADDR != 0;
        attr.set_mmap_data(u64::from(has_data || described == DescribedMappings::OfFiles));
        attr.set_namespaces(u64::from(plan.namespaces == NamespaceRecords::Written));
        attr.set_build_id(u64::from(level >= KernelLevel::BuildIds));
        attr.set_ksymbol(u64::from(level >= KernelLevel::BpfEvents));
        attr.set_bpf_event(u64::from(level >= KernelLevel::BpfEvents));
    }
    attr
}

/// The same event with reports of mappings and threads.
pub fn with_sideband(attr: &perf_event_attr) -> perf_event_attr {
    let mut attr = *attr;
    attr.set_mmap(1);
    attr.set_mmap2(1);
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_task(1);
    attr
}

/// Whether registers are recorded that complete a chain.
fn has_chain_registers(plan: &Plan) -> bool {
    let is_by_frame_pointers =
        matches!(plan.chains, CallChains::FramePointers(_) | CallChains::FramePointersDeferred);
    CHAIN_REGISTERS != 0 && is_by_frame_pointers && plan.chain_parts != ChainParts::Kernel
}

fn sample_bits(plan: &Plan, all: &[EventSpec], spec: &EventSpec) -> u64 {
    let mut bits = sample_type::IP | sample_type::TID | sample_type::TIME | plan.data.fields;
    bits |= match plan.chains {
        CallChains::None => 0,
        CallChains::FramePointers(_)
        | CallChains::FramePointersDeferred
        | CallChains::KeptByCpu => sample_type::CALLCHAIN,
        CallChains::Copied(_) | CallChains::Unwound { .. } => {
            sample_type::CALLCHAIN | sample_type::REGS_USER | sample_type::STACK_USER
        }
    };
    if has_chain_registers(plan) {
        bits |= sample_type::REGS_USER;
    }
    if plan.target.is_any_process() {
        bits |= sample_type::CPU;
    }
    // Values of counters, of which whoever reads makes samples of a leader's members.
    if all.iter().any(|spec| spec.grouping.reads_values()) {
        bits |= sample_type::READ;
    }
    // Fields, and the CPU that perf's tools for tracepoints rely on. Others pay 16 bytes a sample.
    if all.iter().any(EventSpec::has_raw_data) {
        bits |= sample_type::CPU | sample_type::RAW;
    }
    // samply 0.13 ends at a switch that does not say on which CPU it was.
    if all.iter().any(|spec| spec.sampled == Sampled::AtSwitches) {
        bits |= sample_type::CPU;
    }
    // Eight bytes a sample, which a period that the kernel adjusts needs; and tracepoints, as they tell how much they count:
    // of `sched:sched_stat_runtime`, nanoseconds. Without this each of these would be a sample, until the kernel throttles
    // them. With it, software events are sampled each time, whatever their period (`perf_swevent_event` in
    // `kernel/events/core.c`).
    let tells = |spec: &EventSpec| match spec.rate(plan.rate) {
        Rate::Frequency(_) => !spec.is_clock(),
        Rate::Period(period) => period == 1 && spec.tracepoint.is_some(),
    };
    let is_one_in_many = matches!(spec.rate(plan.rate), Rate::Period(2..));
    if all.iter().any(tells) && !is_one_in_many {
        bits |= sample_type::PERIOD;
    }
    if all.len() > 1 {
        bits |= sample_type::IDENTIFIER;
    }
    bits
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::record::options::RecordArgs;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: RecordArgs,
    }

    /// The flags of an attr as they stand in the file (`include/uapi/linux/perf_event.h`).
    fn flags(options: &[&str], spec: &EventSpec, level: KernelLevel, role: Role) -> u64 {
        let line = [&["record"], options].concat();
        let plan = Plan::new(&Line::parse_from(line).options).expect("a plan");
        let attr = sys::attr_bytes(&attr(&plan, &[], spec, level, role));
        u64::from_ne_bytes(attr[40..48].try_into().expect("eight bytes"))
    }

    /// The bits that follow sigtrap in Linux 6.19: 1 defers, 2 takes what comes.
    #[test]
    fn call_chains_are_deferred_where_the_kernel_can() {
        let bits = |chains: &str, spec: &EventSpec, level, role| {
            flags(&["--call-graph", chains, "-a"], spec, level, role) >> 38
        };
        let (newest, before) = (KernelLevel::NEWEST_FIRST[0], KernelLevel::NEWEST_FIRST[1]);
        let (samples, chains) = (EventSpec::cpu_clock(), EventSpec::deferred_chains());
        assert_eq!(bits("fp,defer", &samples, newest, Role::SamplingOnly), 1);
        assert_eq!(bits("fp,defer", &chains, newest, Role::SamplingOnly), 1 | 2);
        // Many of them would fill its ring. It is what is tried, so it has the bit.
        let sideband = EventSpec::sideband(Privilege::Any);
        assert_eq!(bits("fp,defer", &sideband, newest, Role::Tracking), 1);
        assert_eq!(bits("fp,defer", &samples, before, Role::SamplingOnly), 0);
        assert_eq!(bits("fp", &samples, newest, Role::SamplingOnly), 0);
    }

    /// The bits that follow exclude_guest.
    #[test]
    fn one_part_of_call_chains_can_be_left_out() {
        let bits = |options: &[&str]| {
            let level = KernelLevel::Oldest;
            flags(options, &EventSpec::cpu_clock(), level, Role::SamplingOnly) >> 21 & 3
        };
        assert_eq!(bits(&["-g", "-a"]), 0);
        assert_eq!(bits(&["-g", "--user-callchains", "-a"]), 1);
        assert_eq!(bits(&["-g", "--kernel-callchains", "-a"]), 2);
        assert_eq!(bits(&["--call-graph", "dwarf", "--user-callchains", "-a"]), 3);
    }

    /// Bits as `perf record -vv` 6.1 has them (`include/uapi/linux/perf_event.h`).
    #[test]
    fn samples_have_the_data_and_branches_that_are_asked_for() {
        let asked = |options: &[&str], spec: &EventSpec, role| {
            let line = [&["record"], options].concat();
            let plan = Plan::new(&Line::parse_from(line).options).expect("a plan");
            let attr = attr(&plan, &[], spec, KernelLevel::Oldest, role);
            (attr.sample_type & !0x107, attr.branch_sample_type, attr.mmap_data())
        };
        let (samples, tracks) = (Role::SamplingOnly, Role::Tracking);
        let cycles = EventSpec::cycles();
        assert_eq!(asked(&["true"], &cycles, samples), (0, 0, 0));
        assert_eq!(asked(&["-d", "-W", "true"], &cycles, samples), (0xc008, 0, 0));
        assert_eq!(asked(&["-d", "true"], &cycles, tracks), (0x8008, 0, 1));
        let pages =
            ["--phys-data", "--data-page-size", "--code-page-size", "--transaction", "true"];
        assert_eq!(asked(&pages, &cycles, samples), (0xca_0000, 0, 0));
        assert_eq!(asked(&["--sample-cpu", "true"], &cycles, samples), (0x80, 0, 0));
        let copies = ["--sample-cpu", "--call-graph", "dwarf", "true"];
        assert_eq!(asked(&copies, &cycles, samples).0 & 0x80, 0x80);
        assert_eq!(asked(&["-b", "true"], &cycles, samples), (0x800, 1 << 3, 0));
        let filter = ["-j", "any_call,u,save_type", "true"];
        assert_eq!(asked(&filter, &cycles, samples), (0x800, 1 << 4 | 1 | 1 << 16, 0));
        assert_eq!(asked(&["-j", "k", "true"], &cycles, samples), (0x800, 1 << 3 | 2, 0));
        assert_eq!(asked(&["-b", "true"], &EventSpec::cpu_clock(), samples), (0, 0, 0));
        assert_eq!(asked(&["-b", "true"], &cycles, tracks), (0, 0, 0));
    }

    /// As `perf evlist -v` has it of what perf 6.1 records with `-g`: the link register of arm64, and nothing on x86-64.
    #[test]
    fn the_caller_of_a_leaf_function_is_asked_for_where_it_is_in_a_register() {
        let registers = |options: &[&str]| {
            let line = [&["record"], options].concat();
            let plan = Plan::new(&Line::parse_from(line).options).expect("a plan");
            let spec = EventSpec::cpu_clock();
            let attr = attr(&plan, &[], &spec, KernelLevel::Oldest, Role::SamplingOnly);
            assert_eq!(attr.sample_type >> 12 & 1, u64::from(attr.sample_regs_user != 0));
            attr.sample_regs_user
        };
        let of_arm64 = |bits| if cfg!(target_arch = "aarch64") { bits } else { 0 };
        assert_eq!(registers(&["-g", "-a"]), of_arm64(0x4000_0000));
        assert_eq!(registers(&["--call-graph", "fp,8", "-a"]), of_arm64(0x4000_0000));
        assert_eq!(registers(&["-g", "--user-callchains", "-a"]), of_arm64(0x4000_0000));
        assert_eq!(registers(&["-g", "--kernel-callchains", "-a"]), 0);
        assert_eq!(registers(&["-a"]), 0);
        assert_eq!(registers(&["--call-graph", "dwarf", "-a"]), USER_REGISTERS);
    }

    /// What they map is known all the same.
    #[test]
    fn children_are_left_out_of_samples() {
        let inherits = |options: &[&str], role| {
            flags(options, &EventSpec::cpu_clock(), KernelLevel::Oldest, role) >> 1 & 1
        };
        for (role, of_none) in [(Role::SamplingOnly, 0), (Role::Tracking, 1)] {
            assert_eq!(inherits(&["true"], role), 1);
            assert_eq!(inherits(&["-i", "true"], role), of_none);
        }
    }
}
