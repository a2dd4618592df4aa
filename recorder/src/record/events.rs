//! Events and what the kernel calls them.

mod arguments;
mod breakpoint;
mod cache;
mod group;
mod modifiers;
mod parse;
mod probe;
mod terms;
mod tracepoint;
mod unit;

use std::ffi::CString;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use perftab_perfdata::format::attr::{HARDWARE_EVENTS, SOFTWARE_EVENTS, event_type};

pub use self::arguments::Argument;
pub use self::group::{GroupSamples, Grouping, groups};
pub use self::modifiers::Mode;
pub use self::parse::EventNames;
pub use self::probe::{
    Moment, Probe, ProbePlace, listed_static_probes, open as open_program, static_probes_of,
};
use self::terms::Term;
pub use self::tracepoint::{Tracefs, Tracepoint, tracing_data};
use self::unit::Unit;
use super::cgroup::Place;
use super::options::Rate;

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

/// Terms of perf that are ours by options, or not at all (`config_term_names` in
/// `tools/perf/util/parse-events.c`).
const OTHER_TERMS: [&str; 4] = ["config3", "driver-config", "aux-output", "aux-sample-size"];

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
    /// As its own terms say.
    Own(Rate),
    /// Each time, unless -F or -c says otherwise.
    EachTime,
    /// Whenever a thread leaves a CPU. A record says when it comes back.
    AtSwitches,
    /// It counts nothing. The user call chains come to it that samples of others wait for.
    Never,
}

/// What the kernel calls an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCode {
    /// `perf_event_attr.type`.
    pub event_type: u32,
    /// `config`, `config1` and `config2`; of a breakpoint the last two are address and length.
    pub config: [u64; 3],
    /// `bp_type`: what a breakpoint is at. Of all others 0.
    pub access: u32,
}

impl EventCode {
    fn new(event_type: u32, config: u64) -> Self {
        Self { event_type, config: [config, 0, 0], access: 0 }
    }
}

/// An event to sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSpec {
    /// As perf writes it, modifiers included: `cycles:u`.
    pub name: String,
    /// What the kernel calls it.
    pub code: EventCode,
    /// Kernel, user space, or both.
    pub privilege: Privilege,
    /// How much skid is tolerated.
    pub precise: Precision,
    /// When a sample is taken.
    pub sampled: Sampled,
    /// What letters behind it ask for besides.
    pub modes: Vec<Mode>,
    /// Whether it counts by itself.
    pub grouping: Grouping,
    /// Most frames of its call chains; `None`: what the kernel has as its limit.
    pub max_stack: Option<u16>,
    /// How its stacks are walked, as `--call-graph` says it; all events have the same.
    pub call_graph: Option<String>,
    /// How much of a stack is copied.
    pub stack_size: Option<u64>,
    /// What of the kernel it is, if it is such.
    pub tracepoint: Option<Tracepoint>,
    /// What the kernel has to make the tracepoint of, if it does not have it yet.
    pub probe: Option<Probe>,
    /// What its fields have to be, as the kernel reads it.
    pub filter: Option<CString>,
    /// Of a target of cgroups, those that it is recorded in; empty: all that the target names.
    pub places: Vec<Place>,
}

impl EventSpec {
    fn new(name: &str, code: EventCode) -> Self {
        Self {
            name: name.to_owned(),
            code,
            privilege: Privilege::Any,
            precise: Precision::Level(0),
            sampled: Sampled::AtRate,
            modes: Vec::new(),
            grouping: Grouping::Alone,
            max_stack: None,
            call_graph: None,
            stack_size: None,
            tracepoint: None,
            probe: None,
            filter: None,
            places: Vec::new(),
        }
    }

    /// An event that every kernel knows by name.
    fn general(name: &str) -> Option<Self> {
        let known = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
        let position = |names: &[&str]| names.iter().position(|candidate| *candidate == known);
        let hardware = position(&HARDWARE_EVENTS).map(|number| (event_type::HARDWARE, number));
        let software = || position(&SOFTWARE_EVENTS).map(|number| (event_type::SOFTWARE, number));
        let (event_type, number) = hardware.or_else(software)?;
        let event = Self::new(name, EventCode::new(event_type, number as u64));
        // A program writes it, and each time counts.
        Some(match known {
            "bpf-output" => Self { sampled: Sampled::EachTime, ..event },
            _ => event,
        })
    }

    fn software(name: &str) -> Self {
        let number = SOFTWARE_EVENTS.iter().position(|known| *known == name).unwrap_or_default();
        Self::new(name, EventCode::new(event_type::SOFTWARE, number as u64))
    }

    /// Of the CPU's own counter; not every machine has it.
    pub fn cycles() -> Self {
        Self::new("cycles", EventCode::new(event_type::HARDWARE, 0))
    }

    /// By a timer, on any machine.
    pub fn cpu_clock() -> Self {
        Self::software("cpu-clock")
    }

    /// What is sampled in place of cycles where no CPU counts them, as in perf.
    pub fn by_clock(&self) -> Option<Self> {
        let clock = Self::cpu_clock();
        if self.code != Self::cycles().code {
            return None;
        }
        let modifiers = ["cpu-cycles", "cycles"].iter().find_map(|it| self.name.strip_prefix(it));
        let name = modifiers.map(|modifiers| clock.name + modifiers);
        Some(Self {
            code: clock.code,
            name: name.unwrap_or_else(|| self.name.clone()),
            ..self.clone()
        })
    }

    /// What time off the CPU is worked out from.
    pub fn switches() -> Self {
        Self { sampled: Sampled::AtSwitches, ..Self::software("context-switches") }
    }

    /// What brings user call chains that come later. An event of its own, which goes on when others are disabled, and
    /// in the ring of samples, as so many would fill that of sideband.
    pub fn deferred_chains() -> Self {
        Self { sampled: Sampled::Never, ..Self::software("dummy").user_only() }
    }

    /// The event that counts nothing, for sideband.
    pub fn sideband(privilege: Privilege) -> Self {
        Self { privilege, ..Self::software("dummy") }
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
        let is_behind_colon = self.name.contains([':', '/']);
        let has_place = is_behind_colon && self.code.event_type != event_type::BREAKPOINT;
        let separator = if has_place { "" } else { ":" };
        let name = match &self.tracepoint {
            Some(_) => self.name.clone(),
            None => format!("{}{separator}{modifier}", self.name),
        };
        Self { name, privilege, ..self.clone() }
    }

    /// Whether its samples carry raw data.
    pub fn has_raw_data(&self) -> bool {
        let is_bpf_output = self.code.event_type == event_type::SOFTWARE
            && SOFTWARE_EVENTS.get(self.code.config[0] as usize) == Some(&"bpf-output");
        self.tracepoint.is_some() || is_bpf_output
    }

    /// Whether all that it sees is in the kernel.
    pub fn is_of_the_kernel(&self) -> bool {
        let [_, address, _] = self.code.config;
        let is_high = address >> (u64::BITS - 1) == 1;
        self.tracepoint.is_some() || self.code.event_type == event_type::BREAKPOINT && is_high
    }

    /// Whether neither -F nor -c says how often it is sampled.
    pub fn is_sampled_each_time(&self) -> bool {
        self.sampled == Sampled::EachTime
    }

    /// When it is sampled, if others are at `rate`.
    pub fn rate(&self, rate: Rate) -> Rate {
        match self.sampled {
            Sampled::AtRate => rate,
            Sampled::Own(own) => own,
            Sampled::EachTime | Sampled::AtSwitches | Sampled::Never => Rate::Period(1),
        }
    }

    /// The same event, if the user says how often all are sampled.
    pub fn at_given_rate(self) -> Self {
        match self.sampled {
            Sampled::EachTime => Self { sampled: Sampled::AtRate, ..self },
            Sampled::AtRate | Sampled::Own(_) | Sampled::AtSwitches | Sampled::Never => self,
        }
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
        let name = SOFTWARE_EVENTS.get(self.code.config[0] as usize);
        self.code.event_type == event_type::SOFTWARE
            && matches!(name, Some(&"cpu-clock" | &"task-clock"))
    }

    /// Whether a CPU counts it, which may keep calls then.
    pub fn is_of_the_cpu(&self) -> bool {
        use event_type::{BREAKPOINT, SOFTWARE, TRACEPOINT};
        ![SOFTWARE, TRACEPOINT, BREAKPOINT].contains(&self.code.event_type)
    }

    /// Takes filters, all of which have to hold.
    fn filter_by(&mut self, filters: &[String]) -> Result<()> {
        let Some((first, more)) = filters.split_first() else { return Ok(()) };
        if self.tracepoint.is_none() {
            bail!("--filter {first}: it is for tracepoints, and {} is none", self.name);
        }
        // As perf puts them together.
        let joined = more.iter().fold(first.clone(), |all, one| format!("({all}) && ({one})"));
        self.filter = Some(CString::new(joined)?);
        Ok(())
    }

    /// How its terms say that stacks are walked, as `--call-graph` says it.
    pub fn chain_mode(&self) -> Result<Option<String>> {
        Ok(match (self.call_graph.as_deref(), self.stack_size) {
            (Some(mode @ ("dwarf" | "dwarf-dump")), Some(size)) => Some(format!("{mode},{size}")),
            (_, Some(size)) => bail!("stack-size={size} goes with call-graph=dwarf"),
            (mode, None) => mode.map(str::to_owned),
        })
    }

    /// Takes a term that events of all kinds have; `None` if it is another.
    fn take(&mut self, term: &Term) -> Option<Result<()>> {
        let taken = match term.key.as_str() {
            "config" => term.number().map(|number| self.code.config[0] = number),
            "config1" => term.number().map(|number| self.code.config[1] = number),
            "config2" => term.number().map(|number| self.code.config[2] = number),
            "period" => {
                term.positive().map(|count| self.sampled = Sampled::Own(Rate::Period(count)))
            }
            "freq" => term.positive().map(|hz| self.sampled = Sampled::Own(Rate::Frequency(hz))),
            "name" => term.text().map(|name| self.name = name.to_owned()),
            "inherit" | "no-inherit" => term.number().map(|number| {
                if (term.key == "inherit") == (number == 0) {
                    self.modes.push(Mode::NotInherited);
                }
            }),
            "max-stack" => term.positive().and_then(|frames| {
                let frames = u16::try_from(frames);
                self.max_stack = Some(frames.context("max-stack: give a number up to 65535")?);
                Ok(())
            }),
            "call-graph" => term.text().map(|mode| self.call_graph = Some(mode.to_owned())),
            "stack-size" => term.positive().map(|bytes| self.stack_size = Some(bytes)),
            // Times are always recorded, and rings as all are.
            "time" => term.number().and_then(|number| match number {
                0 => bail!("time=0: perftab puts samples in order by their times; leave it out"),
                _ => Ok(()),
            }),
            "no-overwrite" => Ok(()),
            "overwrite" => Err(anyhow!("overwrite: use --overwrite, which is of all events")),
            "percore" => Err(anyhow!("percore is for perf stat")),
            "nr" => Err(anyhow!("nr is for perf trace; --max-size and --duration end a recording")),
            "branch_type" => Err(anyhow!("branch_type: use -j, which is of all events")),
            other if OTHER_TERMS.contains(&other) => Err(anyhow!(
                "perftab does not know the term {other}; use perf record -e, and open that recording"
            )),
            _ => return None,
        };
        Some(taken)
    }
}

/// Type and name of each counting unit of this machine.
pub fn unit_types(root: &Path) -> Vec<(u32, String)> {
    Unit::mappings(root)
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

/// Every event there is a name for on all machines and that can have samples.
pub fn all() -> impl Iterator<Item = EventSpec> {
    let names = HARDWARE_EVENTS.iter().chain(&SOFTWARE_EVENTS);
    names
        .filter(|name| !matches!(**name, "dummy" | "bpf-output"))
        .filter_map(|name| EventSpec::general(name))
}
