//! Names of cache events: a cache, what is done with it, how that ends, as `LLC-load-misses`.
//!
//! Spellings, and what is done with which cache, from `evsel__hw_cache` and its neighbours in
//! `tools/perf/util/evsel.c`; the numbers are those of `enum perf_hw_cache_id` and so on, in
//! `include/uapi/linux/perf_event.h`.

use perftab_perfdata::format::attr::event_type;

use super::EventCode;

/// What can be done with a cache, by the number of the kernel. What is not said is a load.
const OPERATIONS: [&[&str]; 3] = [
    &["load", "loads", "read"],
    &["store", "stores", "write"],
    &["prefetch", "prefetches", "speculative-read", "speculative-load"],
];
const LOAD: u64 = 0;
const STORE: u64 = 1;
const PREFETCH: u64 = 2;

/// How it ends, by the number of the kernel. What is not said is any access.
const RESULTS: [&[&str]; 2] = [&["refs", "Reference", "ops", "access"], &["misses", "miss"]];
const ACCESS: u64 = 0;

/// A cache, in the order of the kernel's numbers: its names, and what can be done with it.
const CACHES: [(&[&str], &[u64]); 7] = [
    (&["L1-dcache", "l1-d", "l1d", "L1-data"], &[LOAD, STORE, PREFETCH]),
    (&["L1-icache", "l1-i", "l1i", "L1-instruction"], &[LOAD, PREFETCH]),
    (&["LLC", "L2"], &[LOAD, STORE, PREFETCH]),
    (&["dTLB", "d-tlb", "Data-TLB"], &[LOAD, STORE, PREFETCH]),
    (&["iTLB", "i-tlb", "Instruction-TLB"], &[LOAD]),
    (&["branch", "branches", "bpu", "btb", "bpc"], &[LOAD]),
    (&["node"], &[LOAD, STORE, PREFETCH]),
];

/// What the kernel calls the cache event of this name; `None` if it is none.
pub fn code(name: &str) -> Option<EventCode> {
    CACHES.iter().zip(0..).find_map(|((names, possible), cache)| {
        let (operation, result) =
            names.iter().find_map(|cache| words(name.strip_prefix(cache)?))?;
        let config = cache | operation << 8 | result << 16;
        let code = EventCode::new(event_type::HW_CACHE, config);
        possible.contains(&operation).then_some(code)
    })
}

/// Operation and result that the words behind a cache's name say, each once at most.
fn words(mut rest: &str) -> Option<(u64, u64)> {
    let (mut operation, mut result) = (None, None);
    while !rest.is_empty() {
        let words = rest.strip_prefix('-')?;
        if let (None, Some((number, behind))) = (operation, word(words, &OPERATIONS)) {
            (operation, rest) = (Some(number), behind);
        } else if let (None, Some((number, behind))) = (result, word(words, &RESULTS)) {
            (result, rest) = (Some(number), behind);
        } else {
            return None;
        }
    }
    Some((operation.unwrap_or(LOAD), result.unwrap_or(ACCESS)))
}

/// The number of the first word, and what stands behind it.
fn word<'a>(text: &'a str, known: &[&[&str]]) -> Option<(u64, &'a str)> {
    known.iter().zip(0..).find_map(|(names, number)| {
        let mut behind = names.iter().filter_map(|name| text.strip_prefix(name));
        let behind = behind.find(|rest| rest.is_empty() || rest.starts_with('-'))?;
        Some((number, behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that `perf record -vv` 6.1 prints.
    #[test]
    fn names_as_perf_takes_them() {
        for (name, config) in [
            ("L1-dcache-loads", 0),
            ("l1-d", 0),
            ("L1-dcache-prefetch-miss", 0x1_0200),
            ("l1d-speculative-read-misses", 0x1_0200),
            ("L1-icache-load-misses", 0x1_0001),
            ("LLC-load-misses", 0x1_0002),
            ("LLC-misses-load", 0x1_0002),
            ("L2-stores", 0x102),
            ("dTLB-store-misses", 0x1_0103),
            ("i-tlb-misses", 0x1_0004),
            ("branch-loads", 5),
            ("branches-load-misses", 0x1_0005),
            ("node", 6),
            ("node-prefetch-refs", 0x206),
        ] {
            assert_eq!(code(name), Some(EventCode::new(event_type::HW_CACHE, config)), "{name}");
        }
        for name in [
            "iTLB-stores",
            "branch-speculative-load-misses",
            "LLC-load-misses-foo",
            "LLC-load-loads",
            "LLC-",
            "LLCload",
            "L3-loads",
            "llc-loads",
            "",
        ] {
            assert_eq!(code(name), None, "{name}");
        }
    }
}
