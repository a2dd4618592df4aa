//! What is counted, and in which unit.

use perftab_perfdata::decode::attr::Attr;
use perftab_perfdata::sorting::sort;
use serde::Serialize;

use super::EventId;

/// What is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Name, as `cycles` or `sched:sched_switch`.
    pub name: String,
    /// Whether the file has samples of it.
    pub origin: EventOrigin,
    /// Number of samples.
    pub samples: u64,
    /// Sum of the samples' weights, in the event's own unit.
    pub weight: u64,
    /// Whether its samples were to have call chains.
    pub call_chains: CallChains,
    /// What was asked of the kernel; `None` where nothing says so, as in a link.
    pub attr: Option<Attr>,
}

/// Whether an event's samples were to have call chains, as the recorder was told; any one may be empty all the
/// same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallChains {
    /// Nothing says so, as in a link.
    #[default]
    Unknown,
    /// They were.
    Recorded,
    /// They were not.
    NotRecorded,
}

/// Where the samples of an event come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventOrigin {
    /// They are in the file.
    #[default]
    Recorded,
    /// They were worked out from other records. They tell of the same recording once more, so they
    /// are never counted together with recorded ones.
    Derived,
}

/// What weights of an event count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Cycles of a CPU or bus.
    Cycles,
    /// Instructions.
    Instructions,
    /// Occurrences of what the event is called.
    Events,
}

/// The event that counts nanoseconds off the CPU, waiting: as `perf record --off-cpu` calls it.
pub const OFF_CPU_TIME: &str = "offcpu-time";
/// The event that counts nanoseconds off the CPU, made to wait.
pub const PREEMPTED_TIME: &str = "preempted-time";
/// Time on and off the CPU.
const WALL_CLOCK: &str = "wall-clock";
/// Events that count nanoseconds on the CPU.
const CLOCKS: [&str; 2] = ["cpu-clock", "task-clock"];

impl Event {
    /// The unit of its weights, by its name: that is what a link keeps of it too.
    pub fn unit(&self) -> Unit {
        match plain_name(&self.name) {
            OFF_CPU_TIME | PREEMPTED_TIME | WALL_CLOCK => Unit::Ns,
            name if CLOCKS.contains(&name) => Unit::Ns,
            "cycles" | "cpu-cycles" | "ref-cycles" | "bus-cycles" => Unit::Cycles,
            "instructions" => Unit::Instructions,
            _ => Unit::Events,
        }
    }

    fn counts_time_on_cpu(&self) -> bool {
        self.origin == EventOrigin::Recorded && CLOCKS.contains(&plain_name(&self.name))
    }
}

/// Names of one thing (`event_symbols_hw` and `event_symbols_sw` in tools/perf/util/parse-events.c,
/// Linux 6.12): the first is the usual one.
const ALIASES: [[&str; 2]; 5] = [
    ["cycles", "cpu-cycles"],
    ["branches", "branch-instructions"],
    ["cs", "context-switches"],
    ["faults", "page-faults"],
    ["migrations", "cpu-migrations"],
];

/// What an event counts, whatever it is called: the same for `cpu-clock` and `cpu-clock:ppp`, and
/// another for `cycles:u`, which leaves the kernel out.
///
/// Modifiers say what is counted (`u`, `k`, `h`, `G`, `I`) or how (`p`, `P`, `H`, which perf adds by
/// itself, and others of perf-list(1)).
pub fn counted(name: &str) -> String {
    let is_modifier = |letter: char| "ukhpPHGISDWeb".contains(letter);
    // A tracepoint's name has a colon, too.
    let (plain, modifiers) = match name.rsplit_once([':', '/']) {
        Some((plain, last)) if !last.is_empty() && last.chars().all(is_modifier) => {
            (&name[..plain.len() + usize::from(name[plain.len()..].starts_with('/'))], last)
        }
        _ => (name, ""),
    };
    let plain = ALIASES.iter().find(|names| names[1] == plain).map_or(plain, |names| names[0]);
    let mut of_what: Vec<char> = modifiers.chars().filter(|&it| "ukhGI".contains(it)).collect();
    sort(&mut of_what);
    of_what.dedup();
    match of_what.is_empty() {
        true => plain.to_owned(),
        false => format!("{plain}:{}", String::from_iter(of_what)),
    }
}

/// `cycles` of `cycles:u` and of `cpu_core/cycles/P`.
fn plain_name(name: &str) -> &str {
    match name.split_once('/') {
        Some((_, rest)) => rest.split(['/', ',']).next().unwrap_or(rest),
        // A tracepoint's name has a colon, too, but ends in no modifiers.
        None => name.split_once(':').map_or(name, |(name, _)| name),
    }
}

/// Time on and off the CPU together: an event that has the samples of several others.
///
/// There is one where a clock was sampled (`cpu-clock` or `task-clock`, whose weights are
/// nanoseconds) and times off the CPU are known. Cycles and the like cannot be added to time: how
/// long they took depends on the frequency, which was not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WallClockTime {
    /// What it is called, and how much there is of it.
    pub event: Event,
    /// The events whose samples it has.
    pub parts: Vec<EventId>,
}

impl WallClockTime {
    /// From the events of a recording; the first clock, if there are several.
    pub fn of(events: &[Event]) -> Option<Self> {
        let ids = || events.iter().enumerate().map(|(id, event)| (EventId(id as u32), event));
        let (clock, _) = ids().find(|(_, event)| event.counts_time_on_cpu())?;
        let is_off_cpu = |event: &Event| {
            let is_known = |name| event.name == name;
            event.samples > 0 && (is_known(OFF_CPU_TIME) || is_known(PREEMPTED_TIME))
        };
        let mut off_cpu: Vec<(EventId, &Event)> = ids().filter(|(_, it)| is_off_cpu(it)).collect();
        // Both may be there of the same times: recorded by BPF, and worked out from switches.
        if off_cpu.iter().any(|(_, event)| event.origin == EventOrigin::Derived) {
            off_cpu.retain(|(_, event)| event.origin == EventOrigin::Derived);
        }
        if off_cpu.is_empty() {
            return None;
        }
        let mut parts = vec![clock];
        parts.extend(off_cpu.into_iter().map(|(id, _)| id));
        let mut event =
            Event { name: WALL_CLOCK.to_owned(), origin: EventOrigin::Derived, ..Event::default() };
        for part in &parts {
            let part = &events[part.index()];
            event.samples = event.samples.saturating_add(part.samples);
            event.weight = event.weight.saturating_add(part.weight);
        }
        Some(Self { event, parts })
    }
}

/// The events whose samples are meant by an event's number: itself, or the parts that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSet(Vec<bool>);

impl EventSet {
    /// Of these events.
    pub fn new(events: impl IntoIterator<Item = EventId>) -> Self {
        let mut has = Vec::new();
        for event in events {
            if has.len() <= event.index() {
                has.resize(event.index() + 1, false);
            }
            has[event.index()] = true;
        }
        Self(has)
    }

    /// Whether samples of an event belong to it, as [`super::Samples`] has events.
    #[inline]
    pub fn has(&self, event: u16) -> bool {
        self.0.get(usize::from(event)).is_some_and(|&has| has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, origin: EventOrigin, weight: u64) -> Event {
        Event { name: name.to_owned(), origin, samples: 1, weight, ..Event::default() }
    }

    #[test]
    fn the_same_is_counted_whatever_it_is_called() {
        let same = [
            ["cpu-clock", "cpu-clock:ppp"],
            ["cpu-clock:H", "cpu-clock:pppH"],
            ["cycles", "cpu-cycles:P"],
            ["cycles:u", "cycles:uppp"],
            ["cycles:uk", "cpu-cycles:ku"],
            ["cpu_core/cycles/", "cpu_core/cycles/P"],
            ["r1a8", "r1a8:S"],
        ];
        for [one, other] in same {
            assert_eq!(counted(one), counted(other));
        }
        let others = [
            ["cycles", "cycles:u"],
            ["cycles:u", "cycles:k"],
            ["cpu-clock", "task-clock"],
            ["sched:sched_switch", "sched:sched_wakeup"],
            ["cpu_core/cycles/", "cpu_atom/cycles/"],
            ["cpu/event=0xc4/u", "cpu/event=0xc4/"],
        ];
        for [one, other] in others {
            assert_ne!(counted(one), counted(other));
        }
    }

    #[test]
    fn units_are_those_of_the_event_whatever_its_modifiers() {
        let unit = |name| event(name, EventOrigin::Recorded, 1).unit();
        for name in ["cycles", "cycles:u", "cpu_core/cycles/P", "cpu/ref-cycles,period=3/u"] {
            assert_eq!(unit(name), Unit::Cycles, "{name}");
        }
        for name in ["cpu-clock", "task-clock:u", "offcpu-time", "preempted-time"] {
            assert_eq!(unit(name), Unit::Ns, "{name}");
        }
        assert_eq!(unit("instructions:k"), Unit::Instructions);
        for name in ["page-faults", "sched:sched_switch", "", "/", "cpu-clock-2"] {
            assert_eq!(unit(name), Unit::Events, "{name}");
        }
    }

    #[test]
    fn wall_clock_needs_a_clock_and_times_off_the_cpu() {
        let clock = event("cpu-clock:u", EventOrigin::Recorded, 10);
        let cycles = event("cycles", EventOrigin::Recorded, 1000);
        let off = event(OFF_CPU_TIME, EventOrigin::Derived, 5);
        let preempted = event(PREEMPTED_TIME, EventOrigin::Derived, 3);
        let by_bpf = event(OFF_CPU_TIME, EventOrigin::Recorded, 4);
        let of = |events: &[&Event]| {
            let events: Vec<Event> = events.iter().map(|&event| event.clone()).collect();
            WallClockTime::of(&events).map(|wall| {
                (wall.event.weight, wall.parts.iter().map(|id| id.0).collect::<Vec<_>>())
            })
        };
        assert_eq!(of(&[&clock, &off, &preempted]), Some((18, vec![0, 1, 2])));
        assert_eq!(of(&[&cycles, &clock, &off]), Some((15, vec![1, 2])));
        assert_eq!(of(&[&clock, &by_bpf]), Some((14, vec![0, 1])));
        assert_eq!(of(&[&clock, &by_bpf, &off]), Some((15, vec![0, 2])));
        assert_eq!(of(&[&cycles, &off]), None);
        assert_eq!(of(&[&clock, &cycles]), None);
    }
}
