//! Names of events and what the kernel calls them. Names and modifiers as in `perf list`.

use std::fs;

use anyhow::{Result, bail};
use perftab_perfdata::format::attr::{HARDWARE_EVENTS, SOFTWARE_EVENTS, event_type};

/// perf's other names: alias, then the name it stands for.
const ALIASES: [(&str, &str); 7] = [
    ("cpu-cycles", "cycles"),
    ("branch-instructions", "branches"),
    ("idle-cycles-frontend", "stalled-cycles-frontend"),
    ("idle-cycles-backend", "stalled-cycles-backend"),
    ("faults", "page-faults"),
    ("cs", "context-switches"),
    ("migrations", "cpu-migrations"),
];

/// Whose execution an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Kernel and user space, as far as permitted.
    Any,
    /// `:u`
    UserOnly,
    /// `:k`
    KernelOnly,
}

/// How much an event may skid (`precise_ip`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 0 to 3: `:p`, `:pp`, `:ppp`.
    Level(u8),
    /// As little as this machine manages: `:P`.
    Most,
}

impl Precision {
    /// The largest level that there is.
    const LARGEST: u8 = 3;

    /// What is asked of the kernel first.
    pub fn level(self) -> u8 {
        match self {
            Self::Level(level) => level,
            Self::Most => Self::LARGEST,
        }
    }
}

/// When an event is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// As -F or -c says.
    AtRate,
    /// Whenever a thread leaves a CPU. A record says when it comes back.
    AtSwitches,
}

/// An event to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// As perf writes it, modifiers included: `cycles:u`.
    pub name: String,
    /// `perf_event_attr.type`.
    pub event_type: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// Kernel, user space, or both.
    pub privilege: Privilege,
    /// How much skid is tolerated.
    pub precise: Precision,
    /// When a sample is taken.
    pub sampled: Sampled,
}

impl EventSpec {
    /// Reads one event: `NAME` or `NAME:MODIFIERS`.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
        let known = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        let position = |names: &[&str]| names.iter().position(|candidate| *candidate == known);
        let (event_type, config) = if let Some(config) = position(&HARDWARE_EVENTS) {
            (event_type::HARDWARE, config)
        } else if let Some(config) = position(&SOFTWARE_EVENTS) {
            (event_type::SOFTWARE, config)
        } else if let Some(kind) = kind_of_others(text) {
            bail!("{text} is {kind}; use perf record -e '{text}' -g, and open that recording");
        } else {
            bail!(
                "no event is called '{name}'; there are {}, {}",
                HARDWARE_EVENTS.join(", "),
                SOFTWARE_EVENTS.join(", ")
            );
        };
        let (mut user, mut kernel, mut precise) = (false, false, Precision::Level(0));
        for modifier in modifiers.chars() {
            match (modifier, precise) {
                ('u', _) => user = true,
                ('k', _) => kernel = true,
                // The host only, as without it.
                ('H', _) => {}
                ('p', Precision::Level(level)) if level < Precision::LARGEST => {
                    precise = Precision::Level(level + 1);
                }
                ('P', Precision::Level(0)) => precise = Precision::Most,
                _ => bail!(
                    "'{text}': modifiers are u (user), k (kernel), p, pp, ppp (precise) and P (as \
                     precise as possible); for others use perf record -e {text} -g, and open that \
                     recording"
                ),
            }
        }
        let privilege = match (user, kernel) {
            (true, false) => Privilege::UserOnly,
            (false, true) => Privilege::KernelOnly,
            _ => Privilege::Any,
        };
        let name = text.to_owned();
        let sampled = Sampled::AtRate;
        Ok(Self { name, event_type, config: config as u64, privilege, precise, sampled })
    }

    /// What time off the CPU is worked out from.
    pub fn switches() -> Result<Self> {
        Ok(Self { sampled: Sampled::AtSwitches, ..Self::parse("context-switches")? })
    }

    /// The event that counts nothing, for sideband.
    pub fn sideband(privilege: Privilege) -> Self {
        let config = SOFTWARE_EVENTS.iter().position(|name| *name == "dummy").unwrap_or_default();
        let (name, event_type) = ("dummy".to_owned(), event_type::SOFTWARE);
        let (precise, sampled) = (Precision::Level(0), Sampled::AtRate);
        Self { name, event_type, config: config as u64, privilege, precise, sampled }
    }

    /// The same event, counted in user space only.
    pub fn user_only(&self) -> Self {
        self.with_modifier('u', Privilege::UserOnly)
    }

    /// The same event, of this privilege only, unless its own modifiers say which.
    pub fn limited_to(&self, privilege: Privilege) -> Self {
        match (self.privilege, privilege) {
            (Privilege::Any, Privilege::UserOnly) => self.user_only(),
            (Privilege::Any, Privilege::KernelOnly) => self.with_modifier('k', privilege),
            _ => self.clone(),
        }
    }

    fn with_modifier(&self, modifier: char, privilege: Privilege) -> Self {
        let separator = if self.name.contains(':') { "" } else { ":" };
        let name = format!("{}{separator}{modifier}", self.name);
        Self { name, privilege, ..self.clone() }
    }

    /// The same event at every precision that is asked of the kernel, the best first.
    pub fn at_each_precision(&self) -> impl Iterator<Item = Self> {
        let least = match self.precise {
            Precision::Level(level) => level,
            Precision::Most => 0,
        };
        let levels = (least..=self.precise.level()).rev();
        levels.map(|level| Self { precise: Precision::Level(level), ..self.clone() })
    }

    /// Whether the kernel samples this event by a timer of fixed period: then every sample has the
    /// same weight, and a frequency is only another way to write that period
    /// (`perf_swevent_init_hrtimer` in `kernel/events/core.c`).
    pub fn is_clock(&self) -> bool {
        let name = SOFTWARE_EVENTS.get(self.config as usize);
        self.event_type == event_type::SOFTWARE
            && matches!(name, Some(&"cpu-clock" | &"task-clock"))
    }
}

/// What an event is that perf has and perftab has not.
fn kind_of_others(text: &str) -> Option<&'static str> {
    let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
    let is_of_cpu = text.contains('/')
        || is_raw(name)
        || name.contains(['.', '_']) && modifiers.chars().all(is_modifier)
        || is_of_a_pmu(name);
    match name {
        _ if text.starts_with('{') => {
            Some("a group, and perftab samples each event by itself, as -e with commas does")
        }
        "mem" => Some("a breakpoint, which perftab does not record"),
        _ if is_of_cpu => Some("an event of this CPU, which perftab does not know by name"),
        _ if is_of_cache(name) => Some("an event of a cache, which perftab does not record"),
        _ if !modifiers.chars().all(is_modifier) => {
            Some("a tracepoint, which perftab does not record")
        }
        _ => None,
    }
}

/// Of `tools/perf/util/parse-events.l`.
fn is_modifier(letter: char) -> bool {
    "ukhpPDWeIGHSbR".contains(letter)
}

/// `r1a8`: the number of an event in hex.
fn is_raw(name: &str) -> bool {
    let number = name.strip_prefix('r').filter(|number| !number.is_empty());
    number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_hexdigit()))
}

/// `LLC-load-misses`: a cache, what is done with it, how that ends. As perf spells them
/// (`evsel__hw_cache` and so on, in `tools/perf/util/evsel.c`).
fn is_of_cache(name: &str) -> bool {
    const CACHES: [&str; 19] = [
        "L1-dcache",
        "l1-dcache",
        "l1-d",
        "l1d",
        "L1-icache",
        "l1-icache",
        "l1-i",
        "l1i",
        "LLC",
        "L2",
        "dTLB",
        "d-tlb",
        "iTLB",
        "i-tlb",
        "branch",
        "branches",
        "bpu",
        "btb",
        "node",
    ];
    const WORDS: [&str; 13] = [
        "load",
        "loads",
        "read",
        "store",
        "stores",
        "write",
        "prefetch",
        "prefetches",
        "refs",
        "ops",
        "access",
        "misses",
        "miss",
    ];
    CACHES.iter().any(|cache| {
        let rest = name.strip_prefix(cache).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|rest| rest.split('-').all(|word| WORDS.contains(&word)))
    })
}

/// Whether the kernel has an event of this name for one of the machine's counting units.
fn is_of_a_pmu(name: &str) -> bool {
    let units = fs::read_dir("/sys/bus/event_source/devices").into_iter().flatten().flatten();
    let is_plain = !name.is_empty() && !name.contains('/');
    is_plain && units.into_iter().any(|unit| unit.path().join("events").join(name).exists())
}

/// Reads the `-e` options, each one or more events between commas. Within `cpu/…/` and `{…}` commas
/// part no events.
pub fn parse_list(options: &[String]) -> Result<Vec<EventSpec>> {
    options.iter().flat_map(|option| split_list(option)).map(EventSpec::parse).collect()
}

fn split_list(list: &str) -> impl Iterator<Item = &str> {
    let (mut in_slashes, mut braces) = (false, 0u32);
    list.split(move |letter| {
        match letter {
            '/' => in_slashes = !in_slashes,
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        letter == ',' && !in_slashes && braces == 0
    })
}

/// Names of hardware events with perf's other names, in its order: `cpu-cycles OR cycles`.
pub fn hardware_names() -> Vec<String> {
    with_aliases(&HARDWARE_EVENTS)
}

/// The same of software events.
pub fn software_names() -> Vec<String> {
    with_aliases(&SOFTWARE_EVENTS)
}

fn with_aliases(names: &[&str]) -> Vec<String> {
    let both = |name: &&str| match ALIASES.iter().find(|(_, known)| known == name) {
        Some((alias @ ("cpu-cycles" | "branch-instructions"), _)) => format!("{alias} OR {name}"),
        Some((alias, _)) => format!("{name} OR {alias}"),
        None => (*name).to_owned(),
    };
    let mut names: Vec<String> = names.iter().map(both).collect();
    names.sort();
    names
}

/// Every event there is a name for and that can have samples.
pub fn all() -> impl Iterator<Item = EventSpec> {
    let names = HARDWARE_EVENTS.iter().chain(&SOFTWARE_EVENTS);
    names
        .filter(|name| !matches!(**name, "dummy" | "bpf-output"))
        .filter_map(|name| EventSpec::parse(name).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_aliases_and_modifiers() {
        let event = EventSpec::parse("cpu-cycles:upp").unwrap();
        assert_eq!((event.event_type, event.config), (event_type::HARDWARE, 0));
        assert_eq!((event.privilege, event.precise), (Privilege::UserOnly, Precision::Level(2)));
        assert_eq!(event.name, "cpu-cycles:upp");
        let event = EventSpec::parse("cs:k").unwrap();
        assert_eq!((event.event_type, event.config), (event_type::SOFTWARE, 3));
        assert_eq!(event.privilege, Privilege::KernelOnly);
        assert_eq!(EventSpec::parse("cycles:uk").unwrap().privilege, Privilege::Any);
        assert_eq!(EventSpec::parse("cycles:H").unwrap().privilege, Privilege::Any);
    }

    #[test]
    fn what_is_not_an_event_is_said_with_what_is() {
        let error = EventSpec::parse("cycels").unwrap_err().to_string();
        assert!(error.contains("'cycels'") && error.contains("cpu-clock"), "{error}");
        assert!(EventSpec::parse("cycles:x").is_err());
        for (text, kind) in [
            ("sched:sched_switch", "a tracepoint"),
            ("syscalls:*", "a tracepoint"),
            ("cpu/event=0x3c/", "an event of this CPU"),
            ("cpu/event=0xc4,umask=1/u", "an event of this CPU"),
            ("r1a8", "an event of this CPU"),
            ("mem_load_retired.l3_miss:pp", "an event of this CPU"),
            ("topdown.slots", "an event of this CPU"),
            ("LLC-loads", "an event of a cache"),
            ("L1-dcache-load-misses:u", "an event of a cache"),
            ("branch-loads", "an event of a cache"),
            ("{cycles,instructions}:S", "a group"),
            ("mem:0x1000:rw", "a breakpoint"),
        ] {
            let list = format!("faults,{text},cs");
            let error = parse_list(&[list]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text} is {kind}")), "{error}");
            assert!(error.contains(&format!("use perf record -e '{text}'")), "{error}");
        }
        let error = EventSpec::parse("branch-mises").unwrap_err().to_string();
        assert!(error.contains("no event is called"), "{error}");
        assert!(EventSpec::parse("cycles:pppp").is_err());
        assert!(EventSpec::parse("cycles:Pp").is_err());
        let error = EventSpec::parse("cycles:G").unwrap_err().to_string();
        assert!(error.contains("use perf record -e cycles:G"), "{error}");
        assert!(parse_list(&["cycles,".into()]).is_err());
    }

    #[test]
    fn the_best_precision_is_tried_first() {
        let tried = |text: &str| {
            let spec = EventSpec::parse(text).unwrap();
            spec.at_each_precision().map(|spec| spec.precise.level()).collect::<Vec<_>>()
        };
        assert_eq!(tried("cycles:P"), [3, 2, 1, 0]);
        assert_eq!(tried("cycles:pp"), [2]);
        assert_eq!(tried("cycles"), [0]);
        assert_eq!(EventSpec::parse("cycles:P").unwrap().name, "cycles:P");
    }

    #[test]
    fn lists_and_fallback_names() {
        let list = parse_list(&["cycles,faults".into(), "cpu-clock".into()]).unwrap();
        assert_eq!(list.len(), 3);
        assert_eq!(list[0].user_only().name, "cycles:u");
        assert_eq!(EventSpec::parse("cycles:p").unwrap().user_only().name, "cycles:pu");
        let limited = |text: &str, to| EventSpec::parse(text).unwrap().limited_to(to).name;
        assert_eq!(limited("cycles", Privilege::KernelOnly), "cycles:k");
        assert_eq!(limited("cycles:p", Privilege::UserOnly), "cycles:pu");
        assert_eq!(limited("cycles:k", Privilege::UserOnly), "cycles:k");
        assert_eq!(limited("cycles", Privilege::Any), "cycles");
        assert!(list[2].is_clock() && !list[0].is_clock());
    }
}
