//! Text of `-e`: names, terms and modifiers as in `perf list`.

use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail};
use perftab_perfdata::format::attr::{HARDWARE_EVENTS, SOFTWARE_EVENTS, event_type};

use super::modifiers::is_modifier;
use super::terms::Term;
use super::unit::Unit;
use super::{EventCode, EventSpec, breakpoint, cache, group, probe, tracepoint};
use crate::record::cgroup::Place;
use crate::record::event_options::{CgroupsReach, EventOption};
use crate::record::probed_files::ProbedFiles;

/// What an event is that perf has and perftab has not.
fn kind_of_others(text: &str) -> Option<&'static str> {
    let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
    match name {
        _ if name.contains(['.', '_']) && modifiers.chars().all(is_modifier) => {
            Some("an event of this CPU, which perftab does not know by name")
        }
        _ => None,
    }
}

/// `r1a8`: the number of an event in hex.
pub fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// An event's parts as they are written.
struct Written<'a> {
    name: &'a str,
    terms: Option<&'a str>,
    modifiers: &'a str,
}

impl<'a> Written<'a> {
    /// `NAME`, `NAME:MODIFIERS` or `NAME/TERMS/MODIFIERS`.
    fn read(text: &'a str) -> Result<Self> {
        let Some((name, rest)) = text.split_once('/') else {
            let (name, modifiers) = text.split_once(':').unwrap_or((text, ""));
            return Ok(Self { name, terms: None, modifiers });
        };
        let (terms, modifiers) = rest.split_once('/').context("a / is missing behind its terms")?;
        Ok(Self { name, terms: Some(terms), modifiers })
    }
}

/// What events are called on a machine.
pub struct EventNames<'a> {
    /// Its root folder, in which the kernel describes it.
    pub root: &'a Path,
    /// Where probes are looked for.
    pub files: ProbedFiles<'a>,
}

impl EventNames<'_> {
    /// Reads the `-e` options, with their filters.
    pub fn parse_options(&self, options: &[EventOption]) -> Result<Vec<EventSpec>> {
        let mut all = Vec::new();
        for option in options {
            let mut events = self.parse_list(&option.events)?;
            for event in &mut events {
                event.filter_by(&option.filters)?;
                if option.reach == CgroupsReach::OthersAlone {
                    event.places = vec![Place::WholeSystem];
                }
            }
            all.extend(events);
        }
        Ok(all)
    }

    /// Reads one or more events between commas. Within `cpu/…/` and `{…}` commas part no events.
    fn parse_list(&self, list: &str) -> Result<Vec<EventSpec>> {
        let mut events = Vec::new();
        for text in events_of(list)? {
            match text.strip_prefix('{') {
                Some(group) => events.extend(self.parse_group(text, group)?),
                None => events.extend(self.parse(text, "")?),
            }
        }
        Ok(events)
    }

    /// Reads `{a,b}:MODIFIERS` behind its first brace.
    fn parse_group(&self, text: &str, group: &str) -> Result<Vec<EventSpec>> {
        let context = || format!("'{text}'");
        let (members, behind) =
            group.rsplit_once('}').context("a } is missing").with_context(context)?;
        let modifiers = match behind.strip_prefix(':') {
            None if !behind.is_empty() => {
                bail!("{}: behind a group come modifiers, as {{a,b}}:S", context())
            }
            modifiers => modifiers.unwrap_or_default(),
        };
        if members.contains(['{', '}']) {
            bail!("{}: a group holds no other group", context());
        }
        let mut events = Vec::new();
        for member in events_of(members).with_context(context)? {
            events.extend(self.parse(member, modifiers)?);
        }
        group::join(&mut events);
        Ok(events)
    }

    /// Reads one event; each unit of the machine may have one of that name, and a name with
    /// wildcards stands for any number.
    fn parse(&self, text: &str, of_group: &str) -> Result<Vec<EventSpec>> {
        let context = || format!("'{text}'");
        if text.starts_with(breakpoint::PREFIX) {
            let (mut event, modifiers) = breakpoint::parse(text).with_context(context)?;
            event.modify(modifiers, of_group).with_context(context)?;
            return Ok(vec![event]);
        }
        let made = || tracepoint::Written::read(text).is_some_and(|made| made.exists(self.root));
        if probe::is_probe(text) && !made() {
            let (mut events, modifiers) = probe::parse(text, &self.files).with_context(context)?;
            for event in &mut events {
                event.modify(modifiers, of_group).with_context(context)?;
            }
            return Ok(events);
        }
        let written = Written::read(text).with_context(context)?;
        // `SYSTEM:NAME/TERMS/` is no unit.
        let is_tracepoint = written.terms.is_some() && written.name.contains(':');
        let mut events = match is_tracepoint {
            true => Vec::new(),
            false => self.resolve(text, &written).with_context(context)?,
        };
        let mut modifiers = written.modifiers;
        if events.is_empty() {
            let unknown = || unknown(text, written.name);
            let tracepoints = tracepoint::Written::read(text).ok_or_else(unknown)?;
            events = tracepoints.resolve(self.root).with_context(context)?;
            modifiers = tracepoints.modifiers;
        }
        for event in &mut events {
            event.modify(modifiers, of_group).with_context(context)?;
        }
        Ok(events)
    }

    /// The events that a name stands for, in the order in which perf looks; none if there are none.
    fn resolve(&self, text: &str, written: &Written<'_>) -> Result<Vec<EventSpec>> {
        let name = written.name;
        let terms = Term::parse_list(written.terms.unwrap_or_default());
        let by_number =
            || cache::code(name).or_else(|| Some(EventCode::new(event_type::RAW, raw(name)?)));
        let numbered = || by_number().map(|code| EventSpec::new(text, code));
        if let Some(event) = EventSpec::general(name).or_else(numbered) {
            let mut event = EventSpec { name: text.to_owned(), ..event };
            for term in &terms {
                event.take(term).unwrap_or_else(|| bail!("{name} has no term '{}'", term.key))?;
            }
            return Ok(vec![event]);
        }
        if written.terms.is_some() {
            let units = Unit::all_named(self.root, name);
            if units.is_empty() {
                bail!(
                    "this machine has no counting unit '{name}'; those that it has stand in \
                     /sys/bus/event_source/devices"
                );
            }
            return units.iter().map(|unit| of_unit(text, unit, terms.clone())).collect();
        }
        let alone = || vec![Term { key: name.to_owned(), value: None }];
        let units = Unit::all_with(self.root, name);
        units.iter().map(|unit| of_unit(text, unit, alone())).collect()
    }
}

/// What terms say of an event of a unit. perf, too, puts fields into what `config=` says.
fn of_unit(text: &str, unit: &Unit, terms: Vec<Term>) -> Result<EventSpec> {
    let mut event = EventSpec::new(text, unit.code()?);
    let mut fields = Vec::new();
    for term in unit.expanded(terms)? {
        match event.take(&term) {
            Some(taken) => taken?,
            None => fields.push(term),
        }
    }
    fields.iter().try_for_each(|term| unit.set(&mut event.code, term))?;
    Ok(event)
}

fn unknown(text: &str, name: &str) -> Error {
    match kind_of_others(text) {
        Some(kind) => {
            anyhow!("{text} is {kind}; use perf record -e '{text}' -g, and open that recording")
        }
        None => anyhow!(
            "no event is called '{name}'; there are {}, {}",
            HARDWARE_EVENTS.join(", "),
            SOFTWARE_EVENTS.join(", ")
        ),
    }
}

/// The events of a list, of which each is written.
fn events_of(list: &str) -> Result<Vec<&str>> {
    let events: Vec<&str> = split_list(list).collect();
    match events.as_slice() {
        [""] => bail!("an event is missing, as in -e cycles or -e '{{cycles,instructions}}'"),
        events if events.contains(&"") => bail!("an event is missing beside a comma of '{list}'"),
        _ => Ok(events),
    }
}

fn split_list(list: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let list = rest?;
        let end = end_of_event(list);
        rest = end.map(|end| &list[end + 1..]);
        Some(&list[..end.unwrap_or(list.len())])
    })
}

/// Where the comma stands behind the first event.
fn end_of_event(list: &str) -> Option<usize> {
    if probe::is_probe(list) {
        return probe::end(list);
    }
    // One slash, before the length.
    let is_breakpoint = list.starts_with(breakpoint::PREFIX);
    let (mut in_slashes, mut braces) = (false, 0u32);
    list.find(|letter| {
        match letter {
            '/' if braces == 0 => in_slashes = !in_slashes && !is_breakpoint,
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        letter == ',' && !in_slashes && braces == 0
    })
}

#[cfg(test)]
mod tests {
    use super::super::{
        GroupSamples, Grouping, Mode, Precision, Privilege, Sampled, groups, tracing_data,
        unit_types,
    };
    use super::*;
    use crate::record::fake_root::FakeRoot;
    use crate::record::options::Rate;
    use crate::record::target::Target;

    /// A machine with the units of a CPU and of something else.
    fn machine(name: &str) -> FakeRoot {
        let units = "sys/bus/event_source/devices";
        [
            ("cpu/type", "4\n"),
            ("cpu/format/event", "config:0-7,32-35\n"),
            ("cpu/format/umask", "config:8-15\n"),
            ("cpu/format/inv", "config:23\n"),
            ("cpu/format/ldlat", "config1:0-15\n"),
            ("cpu/format/frontend", "config2:0-23\n"),
            ("cpu/format/later", "config3:0-7\n"),
            ("cpu/events/cpu-cycles", "event=0x3c\n"),
            ("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"),
            ("cpu/events/slots", "event=0x00,umask=0x4\n"),
            ("cpu/events/slots.scale", "2\n"),
            ("other/type", "17\n"),
            ("other/format/event", "config:0-63\n"),
            ("other/format/core", "config:8-15\n"),
            ("other/events/slots", "event=0x9\n"),
            ("other/events/bytes", "event=0x10,core=?\n"),
        ]
        .into_iter()
        .fold(FakeRoot::new(name), |root, (path, text)| {
            root.with(&format!("{units}/{path}"), text.as_bytes())
        })
    }

    fn names(root: &FakeRoot) -> EventNames<'_> {
        let files = ProbedFiles { target: &Target::Command, command: &[] };
        EventNames { root: root.path(), files }
    }

    fn parse(root: &FakeRoot, text: &str) -> Result<Vec<EventSpec>> {
        names(root).parse_list(text)
    }

    /// On a machine without counters.
    fn one(text: &str) -> Result<EventSpec> {
        Ok(parse(&FakeRoot::new("none"), text)?.remove(0))
    }

    fn code(event_type: u32, config: [u64; 3]) -> EventCode {
        EventCode { config, ..EventCode::new(event_type, 0) }
    }

    #[test]
    fn names_aliases_and_modifiers() {
        let event = one("cpu-cycles:upp").unwrap();
        assert_eq!(event.code, code(event_type::HARDWARE, [0; 3]));
        assert_eq!((event.privilege, event.precise), (Privilege::UserOnly, Precision::Level(2)));
        assert_eq!(event.name, "cpu-cycles:upp");
        let clock = event.by_clock().unwrap();
        assert_eq!(clock.code, EventSpec::cpu_clock().code);
        assert_eq!((clock.name.as_str(), clock.privilege), ("cpu-clock:upp", Privilege::UserOnly));
        assert_eq!(one("cs:k").unwrap().by_clock(), None);
        let event = one("cs:k").unwrap();
        assert_eq!(event.code, code(event_type::SOFTWARE, [3, 0, 0]));
        assert_eq!(event.privilege, Privilege::KernelOnly);
        assert_eq!(one("cycles:uk").unwrap().privilege, Privilege::Any);
        assert_eq!(one("cycles:H").unwrap().privilege, Privilege::Any);
    }

    #[test]
    fn events_by_number_and_of_caches() {
        let event = one("r1a8:u").unwrap();
        assert_eq!(event.code, code(event_type::RAW, [0x1a8, 0, 0]));
        assert_eq!((event.privilege, event.name.as_str()), (Privilege::UserOnly, "r1a8:u"));
        let event = one("LLC-load-misses:pp").unwrap();
        assert_eq!(event.code, code(event_type::HW_CACHE, [0x1_0002, 0, 0]));
        assert_eq!(event.precise, Precision::Level(2));
        // These are hardware events, though they look like those of caches.
        assert_eq!(one("branches").unwrap().code.event_type, event_type::HARDWARE);
        assert_eq!(one("branch-misses").unwrap().code.event_type, event_type::HARDWARE);
        for text in ["r", "rx", "r1_0000", "r11112222333344445"] {
            assert!(one(text).is_err(), "{text}");
        }
    }

    /// As `perf record -vv` 6.1 has it.
    #[test]
    fn terms_of_any_event() {
        let event = one("LLC-loads/period=1000/u").unwrap();
        assert_eq!(event.code, code(event_type::HW_CACHE, [2, 0, 0]));
        assert_eq!(event.sampled, Sampled::Own(Rate::Period(1000)));
        assert_eq!(
            (event.privilege, &*event.name),
            (Privilege::UserOnly, "LLC-loads/period=1000/u")
        );
        let event = one("cpu-clock/freq=100,name='my clock'/u").unwrap();
        assert_eq!(event.sampled, Sampled::Own(Rate::Frequency(100)));
        assert_eq!((event.is_clock(), event.name.as_str()), (true, "my clock"));
        assert_eq!(one("r1/config=0x10,config1=3,config2=4/").unwrap().code.config, [16, 3, 4]);
        assert_eq!(one("cycles//").unwrap().user_only().name, "cycles//u");
        for (text, words) in [
            ("cycles/period=0/", "above zero"),
            ("cycles/period=many/", "give a number"),
            ("cycles/name=/", "give a text"),
            ("cycles/umask=1/", "no term 'umask'"),
            ("cycles/config3=1/", "use perf record"),
            ("cycles/time=0/", "leave it out"),
            ("cycles/overwrite/", "use --overwrite"),
            ("cycles/period=1/:u", "modifiers are"),
            ("cycles/period=1", "a / is missing"),
            ("cycles/period=1/u/", "modifiers are"),
        ] {
            let error = format!("{:#}", one(text).unwrap_err());
            assert!(error.starts_with(&format!("'{text}': ")) && error.contains(words), "{error}");
        }
    }

    #[test]
    fn events_of_units_by_terms_and_names() {
        let root = machine("units");
        for (text, expected) in [
            ("cpu/event=0x3c,umask=1/", code(4, [0x13c, 0, 0])),
            ("cpu/event=0xa3c,inv/u", code(4, [0xa_0080_003c, 0, 0])),
            ("cpu/cpu-cycles/", code(4, [0x3c, 0, 0])),
            ("cpu/event=cpu-cycles,umask=2/", code(4, [0x23c, 0, 0])),
            ("cpu/mem-loads,frontend=5/", code(4, [0x1cd, 3, 5])),
            ("cpu/r1a8/", code(4, [0x1a8, 0, 0])),
            ("cpu/config=0x1000,event=1/", code(4, [0x1001, 0, 0])),
            ("cpu//", code(4, [0; 3])),
            ("other/bytes,core=3/", code(17, [0x310, 0, 0])),
            ("mem-loads:P", code(4, [0x1cd, 3, 0])),
        ] {
            let events = parse(&root, text).unwrap_or_else(|error| panic!("{text}: {error:#}"));
            assert_eq!((events.len(), events[0].code), (1, expected), "{text}");
            assert_eq!(events[0].name, text);
        }
        // Each unit that has an event of that name counts it.
        let codes = parse(&root, "slots").unwrap().iter().map(|it| it.code).collect::<Vec<_>>();
        assert_eq!(codes, [code(4, [0x400, 0, 0]), code(17, [9, 0, 0])]);
        let event = parse(&root, "cpu/cpu-cycles,period=77/k").unwrap().remove(0);
        assert_eq!(event.sampled, Sampled::Own(Rate::Period(77)));
        assert_eq!(event.privilege, Privilege::KernelOnly);
        for (text, words) in [
            ("cpu/umask=256/", "umask: the largest value is 255"),
            ("cpu/nothing/", "cpu has no event or term 'nothing'"),
            ("cpu/../", "no event or term '..'"),
            ("cpu/event=word/", "give a number"),
            ("cpu/later=1/", "config3:0-7"),
            ("other/bytes/", "core has to be given"),
            ("uncore/event=1/", "no counting unit 'uncore'"),
            ("../cpu/event=1/", "no counting unit '..'"),
            ("slots.scale", "an event of this CPU, which"),
        ] {
            let error = format!("{:#}", parse(&root, text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn tracepoints_by_name_and_wildcards() {
        let events = "sys/kernel/tracing/events";
        let root = [
            ("header_page", "\tfield: u64 timestamp;\n"),
            ("header_event", "# compressed entry header\n"),
            ("sched/enable", "0\n"),
            ("sched/sched_switch/id", "372\n"),
            ("sched/sched_switch/format", "name: sched_switch\nID: 372\nformat:\n"),
            ("sched/sched_wakeup/id", "374\n"),
            ("sched/sched_wakeup/format", "name: sched_wakeup\nID: 374\nformat:\n"),
            ("syscalls/sys_enter_openat/id", "782\n"),
            ("syscalls/sys_enter_openat/format", "name: sys_enter_openat\nID: 782\nformat:\n"),
        ]
        .into_iter()
        .fold(FakeRoot::new("tracefs"), |root, (path, text)| {
            root.with(&format!("{events}/{path}"), text.as_bytes())
        });
        let named = |text: &str| {
            let events = parse(&root, text).unwrap_or_else(|error| panic!("{text}: {error:#}"));
            events.into_iter().map(|event| (event.name, event.code)).collect::<Vec<_>>()
        };
        let of = |name: &str, id| (name.to_owned(), code(event_type::TRACEPOINT, [id, 0, 0]));
        let switch = of("sched:sched_switch", 372);
        let sched = [switch.clone(), of("sched:sched_wakeup", 374)];
        let openat = [of("syscalls:sys_enter_openat", 782)];
        assert_eq!(named("sched:sched_switch"), [switch]);
        assert_eq!(named("sched:*"), sched);
        assert_eq!(named("sched:sched_[sw]*:k"), sched);
        assert_eq!(named("s*:*_?????*"), [&sched[..], &openat].concat());
        assert_eq!(named("faults,sys*:sys_enter_*")[1..], openat);
        let event = parse(&root, "sched:sched_switch:k").unwrap().remove(0);
        assert_eq!(event.privilege, Privilege::KernelOnly);
        let text = "sched:sched_switch/call-graph=fp,max-stack=5/k";
        let event = parse(&root, text).unwrap().remove(0);
        assert_eq!((event.max_stack, event.call_graph.as_deref()), (Some(5), Some("fp")));
        assert_eq!((event.privilege, &*event.name), (Privilege::KernelOnly, "sched:sched_switch"));
        let often = Rate::Frequency(99);
        assert_eq!(
            (event.rate(often), event.at_given_rate().rate(often)),
            (Rate::Period(1), often)
        );
        let events = parse(&root, "sched:*,sched:sched_switch").unwrap();
        let tracepoints: Vec<_> = events.iter().filter_map(|it| it.tracepoint.as_ref()).collect();
        let data = tracing_data(root.path(), &tracepoints).unwrap();
        let (data, read) = perftab_perfdata::decode::tracing_data::TracingData::read(&data, 0);
        assert_eq!((data.formats.iter().count(), read), (2, Ok(())));

        let filtered = |events: &str, filters: &[&str]| {
            let filters = filters.iter().map(|filter| (*filter).to_owned()).collect();
            let option =
                EventOption { events: events.to_owned(), filters, reach: CgroupsReach::All };
            let events = names(&root).parse_options(&[option])?;
            Ok::<_, Error>(events.into_iter().map(|event| event.filter).collect::<Vec<_>>())
        };
        let both = Some(c"(a>0) && (b==1)".to_owned());
        assert_eq!(filtered("sched:*", &["a>0", "b==1"]).unwrap(), [both.clone(), both]);
        assert_eq!(filtered("sched:sched_switch", &[]).unwrap(), [None]);
        let error = filtered("sched:*,faults", &["a>0"]).unwrap_err().to_string();
        assert!(error.contains("faults is none"), "{error}");

        for (text, words) in [
            ("sched:sched_swich", "no tracepoint is called so; perftab list sched: prints"),
            ("shced:sched_switch", "no tracepoint is called so; perftab list tracepoint prints"),
            ("kprobe:vfs_read", "perf probe vfs_read makes a probe"),
            ("kretprobe:vfs_read", "which is -e probe:vfs_read__return"),
            ("sched:enable", "no tracepoint"),
            ("../sched:sched_switch", "a / is missing"),
            ("sched:..", "no tracepoint"),
            ("sched:***", "wildcard"),
            ("sched:sched_switch:x", "modifiers are"),
            ("sched:sched_switch/config=1/", "has no term 'config'"),
            ("sched:sched_switch/max-stack=5", "a / is missing"),
        ] {
            let error = format!("{:#}", parse(&root, text).unwrap_err());
            assert!(error.starts_with(&format!("'{text}': ")) && error.contains(words), "{error}");
        }
        let error = format!("{:#}", one("sched:sched_switch").unwrap_err());
        assert!(error.contains("mount -t tracefs"), "{error}");
    }

    /// As `perf record -vv` 6.1 has it.
    #[test]
    fn breakpoints() {
        for (text, access, length, privilege) in [
            ("mem:0x1000", 3, 4, Privilege::Any),
            ("mem:4096/8", 3, 8, Privilege::Any),
            ("mem:0x1000:w", 2, 4, Privilege::Any),
            ("mem:0x1000:x", 4, 8, Privilege::Any),
            ("mem:0x1000:xw", 6, 4, Privilege::Any),
            ("mem:0x1000/2:x", 4, 2, Privilege::Any),
            ("mem:0x1000:u", 3, 4, Privilege::UserOnly),
            ("mem:0x1000/8:rw:u", 3, 8, Privilege::UserOnly),
        ] {
            let events = parse(&FakeRoot::new("none"), &format!("{text},faults")).unwrap();
            assert_eq!(events.len(), 2, "{text}");
            let expected =
                EventCode { access, ..code(event_type::BREAKPOINT, [0, 0x1000, length]) };
            assert_eq!((events[0].code, events[0].privilege), (expected, privilege), "{text}");
            assert_eq!(events[0].rate(Rate::Frequency(9)), Rate::Period(1));
        }
        assert_eq!(one("mem:0x1000:w").unwrap().user_only().name, "mem:0x1000:w:u");
        for text in
            ["mem:", "mem:main", "mem:0x1000/", "mem:0x1000:ww", "mem:0x1000:w:x", "mem:1:q:u"]
        {
            let error = format!("{:#}", one(text).unwrap_err());
            assert!(error.starts_with(&format!("'{text}': ")), "{error}");
        }
    }

    #[test]
    fn what_is_not_an_event_is_said_with_what_is() {
        let error = one("cycels").unwrap_err().to_string();
        assert!(error.contains("'cycels'") && error.contains("cpu-clock"), "{error}");
        assert!(one("cycles:x").is_err());
        for (text, kind) in [
            ("mem_load_retired.l3_miss:pp", "an event of this CPU"),
            ("topdown.slots", "an event of this CPU"),
        ] {
            let error = one(&format!("faults,{text},cs")).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text} is {kind}")), "{error}");
            assert!(error.contains(&format!("use perf record -e '{text}'")), "{error}");
        }
        let error = one("branch-mises").unwrap_err().to_string();
        assert!(error.contains("no event is called"), "{error}");
        assert!(one("cycles:pppp").is_err());
        assert!(one("cycles:Pp").is_err());
        let error = format!("{:#}", one("cycles:b").unwrap_err());
        assert!(error.contains("for perf stat"), "{error}");
        for (text, words) in [
            ("cycles,", "missing beside a comma of 'cycles,'"),
            ("{cycles,}:S", "'{cycles,}:S': an event is missing beside a comma"),
            ("", "an event is missing, as in"),
        ] {
            let error = format!("{:#}", one(text).unwrap_err());
            assert!(error.contains(words), "{error}");
        }
    }

    /// Names and privilege as `perf evlist -v` 6.1 has them.
    #[test]
    fn groups_and_their_modifiers() {
        let root = machine("groups");
        let parse = |text: &str| parse(&root, text).unwrap_or_else(|error| panic!("{error:#}"));
        let groupings = |text: &str| parse(text).iter().map(|it| it.grouping).collect::<Vec<_>>();
        let (each, leader) = (GroupSamples::OfEach, GroupSamples::OfLeader);
        assert_eq!(
            groupings("faults,{cpu/event=1,umask=2/,cs},cycles"),
            [Grouping::Alone, Grouping::Leader(each), Grouping::Member(each), Grouping::Alone]
        );
        let of_leader = [Grouping::Leader(leader), Grouping::Member(leader)];
        assert_eq!(groupings("{cycles,instructions}:S"), of_leader);
        assert_eq!(groupings("{cycles:S,instructions}"), of_leader);
        assert_eq!(groupings("{cycles}"), [Grouping::Alone]);
        assert_eq!(groupings("cycles:S"), of_leader[..1]);
        let events = parse("{cycles:k,cpu/event=1/,faults:p}:uS");
        let named = events.iter().map(|it| (it.name.as_str(), it.privilege)).collect::<Vec<_>>();
        let user = Privilege::UserOnly;
        let expected = [("cycles:k", Privilege::Any), ("cpu/event=1/", user), ("faults:p", user)];
        assert_eq!(named, expected);
        let events = parse("{cycles,cs}:D,{faults:I,cs}:We,cycles:GH");
        let modes: Vec<&[Mode]> = events.iter().map(|it| &*it.modes).collect();
        let (weak, alone) =
            ([Mode::NoIdle, Mode::Weak, Mode::Exclusive], [Mode::Weak, Mode::Exclusive]);
        let (pinned, both) = ([Mode::Pinned], [Mode::Guest, Mode::Host]);
        assert_eq!(modes, [&pinned[..], &pinned, &weak, &alone, &both]);
        assert_eq!(groups(events.iter()), [(0, 2), (2, 2)]);
        for (text, words) in [
            ("{cycles,cs", "a } is missing"),
            ("{cycles,{cs}}", "holds no other group"),
            ("{cycles,cs}S", "come modifiers"),
            ("{cycles,cs}:x", "modifiers are"),
            ("{}", "an event is missing, as in"),
            ("cycles:h", "h goes with u or k"),
        ] {
            let error = format!("{:#}", one(text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn terms_that_only_some_events_need() {
        let event = one("bpf-output/no-inherit=1,name=evt/").unwrap();
        assert_eq!(
            (event.code, event.name.as_str()),
            (code(event_type::SOFTWARE, [10, 0, 0]), "evt")
        );
        assert_eq!((event.sampled, event.has_raw_data()), (Sampled::EachTime, true));
        assert!(event.has(Mode::NotInherited));
        assert!(!one("cycles/inherit/").unwrap().has(Mode::NotInherited));
        assert_eq!(one("cycles/max-stack=5/").unwrap().max_stack, Some(5));
        assert!(one("cycles/max-stack=70000/").is_err());
    }

    #[test]
    fn units_of_one_kind_are_counted_together() {
        let units = "sys/bus/event_source/devices";
        let root = ["uncore_imc_0", "uncore_imc_1", "uncore_imc_free", "uncore_cha_0"];
        let root =
            root.into_iter().zip(10..).fold(FakeRoot::new("uncore"), |root, (unit, kind)| {
                let root =
                    root.with(&format!("{units}/{unit}/type"), format!("{kind}\n").as_bytes());
                root.with(&format!("{units}/{unit}/format/event"), b"config:0-7\n")
            });
        let types = |text: &str| -> Vec<u32> {
            let events = parse(&root, text).unwrap_or_else(|error| panic!("{text}: {error:#}"));
            events.iter().map(|event| event.code.event_type).collect()
        };
        assert_eq!(types("uncore_imc/event=1/"), [10, 11]);
        assert_eq!(types("imc/event=1/"), [10, 11]);
        assert_eq!(types("imc_1/event=1/"), [11]);
        assert_eq!(types("uncore_imc_1/event=1/"), [11]);
        assert_eq!(types("imc*/event=1/"), [10, 11, 12]);
        assert!(parse(&root, "im/event=1/").is_err());
        assert_eq!(unit_types(root.path())[1], (10, "uncore_imc_0".into()));
    }

    #[test]
    fn probes_end_at_commas_that_are_not_of_parameters() {
        let parts = |list| split_list(list).collect::<Vec<_>>();
        assert_eq!(
            parts("uprobe:/bin/a:ns::f<int, 2>(int, char),cycles"),
            ["uprobe:/bin/a:ns::f<int, 2>(int, char)", "cycles"]
        );
        assert_eq!(parts("{uprobe:/a:f,cs}:u,cs"), ["{uprobe:/a:f,cs}:u", "cs"]);
        assert_eq!(parts("sdt_a:b@/c/d,cs"), ["sdt_a:b@/c/d", "cs"]);
        // Names of files may have commas.
        assert_eq!(parts("uprobe:/a,b:f,cs"), ["uprobe:/a,b:f", "cs"]);
        assert_eq!(parts("uprobe:/a,cs"), ["uprobe:/a", "cs"]);
        let file = std::env::temp_dir().join(format!("perftab-a,b-{}", std::process::id()));
        std::fs::write(&file, "").expect("it is written");
        let probe = format!("sdt_a:b@{}", file.display());
        let list = format!("{probe},cs");
        assert_eq!(parts(&list), [&probe, "cs"]);
        assert_eq!(parts(&probe), [&probe]);
        std::fs::remove_file(&file).expect("it is removed");
        for (text, words) in [
            ("uprobe:/nowhere:main", "there is no file /nowhere"),
            ("uprobe:/nowhere", "give file and function"),
            ("sdt_a:b@/nowhere", "there is no file /nowhere"),
            ("sdt_a:b@/dev/null", "/dev/null is no regular file"),
            ("uprobe:/dev:main", "/dev is a folder"),
            ("sdt_a", "give provider and name"),
        ] {
            let error = format!("{:#}", one(text).unwrap_err());
            assert!(error.starts_with(&format!("'{text}': ")) && error.contains(words), "{error}");
        }
    }

    #[test]
    fn the_best_precision_is_tried_first() {
        let tried = |text: &str| {
            let spec = one(text).unwrap();
            spec.at_each_precision().map(|spec| spec.precise.level()).collect::<Vec<_>>()
        };
        assert_eq!(tried("cycles:P"), [3, 2, 1, 0]);
        assert_eq!(tried("cycles:pp"), [2]);
        assert_eq!(tried("cycles"), [0]);
        assert_eq!(one("cycles:P").unwrap().name, "cycles:P");
    }

    #[test]
    fn lists_and_fallback_names() {
        let list = parse(&FakeRoot::new("none"), "cycles,faults,cpu-clock").unwrap();
        assert_eq!(list.len(), 3);
        assert_eq!(list[0].user_only().name, "cycles:u");
        assert_eq!(one("cycles:p").unwrap().user_only().name, "cycles:pu");
        let limited = |text: &str, to| one(text).unwrap().limited_to(to).name;
        assert_eq!(limited("cycles", Privilege::KernelOnly), "cycles:k");
        assert_eq!(limited("cycles:p", Privilege::UserOnly), "cycles:pu");
        assert_eq!(limited("cycles:k", Privilege::UserOnly), "cycles:k");
        assert_eq!(limited("cycles", Privilege::Any), "cycles");
        assert!(list[2].is_clock() && !list[0].is_clock());
    }
}
