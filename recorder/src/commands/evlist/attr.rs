//! `evlist -v`: what was asked of the kernel for an event, as `perf evlist -v` prints it: what is not zero, by the names of
//! `struct perf_event_attr` (`perf_event_attr__fprintf` in `tools/perf/util/perf_event_attr_fprintf.c`).

use perftab_core::Attr;
use perftab_perfdata::format::attr::flag;

/// Bits of `sample_type`.
const SAMPLE_TYPE: [&str; 25] = [
    "IP",
    "TID",
    "TIME",
    "ADDR",
    "READ",
    "CALLCHAIN",
    "ID",
    "CPU",
    "PERIOD",
    "STREAM_ID",
    "RAW",
    "BRANCH_STACK",
    "REGS_USER",
    "STACK_USER",
    "WEIGHT",
    "DATA_SRC",
    "IDENTIFIER",
    "TRANSACTION",
    "REGS_INTR",
    "PHYS_ADDR",
    "AUX",
    "CGROUP",
    "DATA_PAGE_SIZE",
    "CODE_PAGE_SIZE",
    "WEIGHT_STRUCT",
];

/// Bits of `read_format`.
const READ_FORMAT: [&str; 5] = ["TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID", "GROUP", "LOST"];

/// Bits of `branch_sample_type`.
const BRANCH_SAMPLE_TYPE: [&str; 19] = [
    "USER",
    "KERNEL",
    "HV",
    "ANY",
    "ANY_CALL",
    "ANY_RETURN",
    "IND_CALL",
    "ABORT_TX",
    "IN_TX",
    "NO_TX",
    "COND",
    "CALL_STACK",
    "IND_JUMP",
    "CALL",
    "NO_FLAGS",
    "NO_CYCLES",
    "TYPE_SAVE",
    "HW_INDEX",
    "PRIV_SAVE",
];

/// The flags, by their bits. `precise_ip` has two.
const FLAGS: [(u32, &str); 39] = [
    (0, "disabled"),
    (1, "inherit"),
    (2, "pinned"),
    (3, "exclusive"),
    (4, "exclude_user"),
    (5, "exclude_kernel"),
    (6, "exclude_hv"),
    (7, "exclude_idle"),
    (8, "mmap"),
    (9, "comm"),
    (10, "freq"),
    (11, "inherit_stat"),
    (12, "enable_on_exec"),
    (13, "task"),
    (14, "watermark"),
    (15, "precise_ip"),
    (17, "mmap_data"),
    (18, "sample_id_all"),
    (19, "exclude_host"),
    (20, "exclude_guest"),
    (21, "exclude_callchain_kernel"),
    (22, "exclude_callchain_user"),
    (23, "mmap2"),
    (24, "comm_exec"),
    (25, "use_clockid"),
    (26, "context_switch"),
    (27, "write_backward"),
    (28, "namespaces"),
    (29, "ksymbol"),
    (30, "bpf_event"),
    (31, "aux_output"),
    (32, "cgroup"),
    (33, "text_poke"),
    (34, "build_id"),
    (35, "inherit_thread"),
    (36, "remove_on_exec"),
    (37, "sigtrap"),
    (38, "defer_callchain"),
    (39, "defer_output"),
];

/// All of it.
pub fn details(attr: &Attr) -> String {
    let hex = |value: u64| if value == 0 { String::new() } else { format!("{value:#x}") };
    let number = |value: u64| if value == 0 { String::new() } else { value.to_string() };
    let clock = if attr.clock_id == 0 { String::new() } else { attr.clock_id.to_string() };
    let of_type = [
        ("type", number(attr.event_type.into())),
        ("size", number(attr.size.into())),
        ("config", hex(attr.config)),
        ("{ sample_period, sample_freq }", number(attr.sample_period)),
        ("sample_type", names(attr.sample_type, &SAMPLE_TYPE)),
        ("read_format", names(attr.read_format, &READ_FORMAT)),
    ];
    let flags = FLAGS.map(|(bit, name)| {
        let width = if name == "precise_ip" { 3 } else { 1 };
        (name, number(attr.flags >> bit & width))
    });
    let rest = [
        ("{ wakeup_events, wakeup_watermark }", number(attr.wakeup.into())),
        ("bp_type", number(attr.breakpoint_type.into())),
        ("{ bp_addr, config1 }", hex(attr.config1)),
        ("{ bp_len, config2 }", hex(attr.config2)),
        ("branch_sample_type", names(attr.branch_sample_type, &BRANCH_SAMPLE_TYPE)),
        ("sample_regs_user", hex(attr.user_registers)),
        ("sample_stack_user", number(attr.user_stack_size.into())),
        ("clockid", clock),
        ("sample_regs_intr", hex(attr.interrupt_registers)),
        ("aux_watermark", number(attr.aux_watermark.into())),
        ("sample_max_stack", number(attr.max_stack.into())),
        ("aux_sample_size", number(attr.aux_sample_size.into())),
        ("sig_data", number(attr.signal_data)),
        ("config3", hex(attr.config3)),
    ];
    let fields = of_type.into_iter().chain(flags).chain(rest);
    let fields = fields.filter(|(_, value)| !value.is_empty());
    fields.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join(", ")
}

/// How often a sample is taken: `evlist -F`.
pub fn rate(attr: &Attr) -> String {
    let name = if attr.flags & flag::FREQ == 0 { "sample_period" } else { "sample_freq" };
    format!("{name}={}", attr.sample_period)
}

/// The names of bits that are set; those without a name as a number.
fn names(bits: u64, all: &[&str]) -> String {
    let is_set = |bit: usize| bits >> bit & 1 == 1;
    let named = all.iter().enumerate().filter(|(bit, _)| is_set(*bit));
    let mut names: Vec<String> = named.map(|(_, name)| (*name).to_owned()).collect();
    let rest = bits >> all.len() << all.len();
    names.extend((rest != 0).then(|| format!("{rest:#x}")));
    names.join("|")
}
