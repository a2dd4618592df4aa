//! The name of an event that nothing in the file names: made of its attr, as perf makes it
//! (`evsel__name` in `tools/perf/util/evsel.c`), so that both show the same.

use std::fmt::Write;

use perftab_perfdata::decode::attr::Attr;
use perftab_perfdata::format::attr::{HARDWARE_EVENTS, SOFTWARE_EVENTS, event_type, flag};

/// Caches, by the lowest byte of `config`, with the operations that each knows, a bit for each.
const CACHES: [(&str, u8); 7] = [
    ("L1-dcache", 0b111),
    ("L1-icache", 0b101),
    ("LLC", 0b111),
    ("dTLB", 0b111),
    ("iTLB", 0b001),
    ("branch", 0b001),
    ("node", 0b111),
];

/// Operations, by the second byte: one of them, several of them.
const CACHE_OPERATIONS: [(&str, &str); 3] =
    [("load", "loads"), ("store", "stores"), ("prefetch", "prefetches")];

/// Letters of the accesses that a breakpoint counts, by their bits.
const BREAKPOINT_ACCESSES: [(u32, char); 3] = [(1, 'r'), (2, 'w'), (4, 'x')];

/// The name that type and config give an event, and the modifiers that its flags are. A
/// tracepoint's config is a number that only its recording can name.
pub(super) fn of_attr(attr: &Attr) -> String {
    // On machines with several kinds of cores the upper half of a generalised event's config
    // says which kind.
    let generalised = usize::try_from(attr.config & u64::from(u32::MAX)).ok();
    let known = |names: &[&'static str]| names.get(generalised?).copied();
    let mut name = match attr.event_type {
        event_type::HARDWARE => known(&HARDWARE_EVENTS).unwrap_or("unknown-hardware").to_owned(),
        event_type::SOFTWARE => known(&SOFTWARE_EVENTS).unwrap_or("unknown-software").to_owned(),
        event_type::HW_CACHE => cache_event(attr.config),
        event_type::RAW => format!("raw {:#x}", attr.config),
        event_type::BREAKPOINT => breakpoint(attr),
        event_type::TRACEPOINT => return "unknown tracepoint".to_owned(),
        number => {
            let config = match attr.config {
                0 => "0".to_owned(),
                config => format!("{config:#x}"),
            };
            return format!("unknown event PMU={number} config={config}");
        }
    };
    add_modifiers(&mut name, attr);
    name
}

fn cache_event(config: u64) -> String {
    let byte = |shift: u32| usize::from((config >> shift) as u8);
    let Some((cache, operations)) = CACHES.get(byte(0)) else {
        return "unknown-ext-hardware-cache-type".to_owned();
    };
    let Some((one, several)) = CACHE_OPERATIONS.get(byte(8)) else {
        return "unknown-ext-hardware-cache-op".to_owned();
    };
    match (byte(16), operations >> byte(8) & 1) {
        (0 | 1, 0) => "invalid-cache".to_owned(),
        (0, _) => format!("{cache}-{several}"),
        (1, _) => format!("{cache}-{one}-misses"),
        _ => "unknown-ext-hardware-cache-result".to_owned(),
    }
}

fn breakpoint(attr: &Attr) -> String {
    let mut name = format!("mem:{:#x}:", attr.config1);
    let counted = |(bit, _): &&(u32, char)| attr.breakpoint_type & bit != 0;
    name.extend(BREAKPOINT_ACCESSES.iter().filter(counted).map(|&(_, letter)| letter));
    name
}

/// `:u` for user space alone and so on. Until 6.12 perf took `exclude_guest` for what is usual and
/// added `HG` where it was not set; newer ones add letters only where something is excluded.
fn add_modifiers(name: &mut String, attr: &Attr) {
    let counted = |excluding: &[(u64, char)]| -> String {
        let is_excluded = |&&(bit, _): &&(u64, char)| attr.has_flag(bit);
        match excluding.iter().any(|it| is_excluded(&it)) {
            true => excluding.iter().filter(|it| !is_excluded(it)).map(|&(_, it)| it).collect(),
            false => String::new(),
        }
    };
    let modifiers = [
        counted(&[(flag::EXCLUDE_KERNEL, 'k'), (flag::EXCLUDE_USER, 'u'), (flag::EXCLUDE_HV, 'h')]),
        "p".repeat(attr.precise_ip()),
        counted(&[(flag::EXCLUDE_HOST, 'H'), (flag::EXCLUDE_GUEST, 'G')]),
    ]
    .concat();
    if !modifiers.is_empty() {
        let _ = write!(name, ":{modifiers}");
    }
}
