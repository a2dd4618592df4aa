//! Names of events and what the kernel calls them. Names and modifiers as in `perf list`.

use anyhow::{Result, bail};
use perftab_core::format::attr::{HARDWARE_EVENTS, SOFTWARE_EVENTS, event_type};

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
    /// `precise_ip`: how much skid is tolerated, 0 to 3.
    pub precise: u8,
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
        } else if text.contains(':') && !modifiers.chars().all(|it| "ukhpP".contains(it)) {
            bail!(
                "{text} is a tracepoint, which perftab does not record; use perf record -e {text} \
                 -g, and open that recording"
            );
        } else if text.contains('/') || is_raw(name) {
            bail!(
                "{text} is an event of this CPU, which perftab does not know by name; use perf \
                 record -e {text} -g, and open that recording"
            );
        } else {
            bail!(
                "no event is called '{name}'; there are {}, {}",
                HARDWARE_EVENTS.join(", "),
                SOFTWARE_EVENTS.join(", ")
            );
        };
        let (mut user, mut kernel, mut precise) = (false, false, 0);
        for modifier in modifiers.chars() {
            match modifier {
                'u' => user = true,
                'k' => kernel = true,
                'p' if precise < 3 => precise += 1,
                _ => bail!("'{text}': modifiers are u (user), k (kernel) and p, pp, ppp (precise)"),
            }
        }
        let privilege = match (user, kernel) {
            (true, false) => Privilege::UserOnly,
            (false, true) => Privilege::KernelOnly,
            _ => Privilege::Any,
        };
        let name = text.to_owned();
        Ok(Self { name, event_type, config: config as u64, privilege, precise })
    }

    /// The event that counts nothing, for sideband.
    pub fn sideband(privilege: Privilege) -> Self {
        let config = SOFTWARE_EVENTS.iter().position(|name| *name == "dummy").unwrap_or_default();
        let (name, event_type) = ("dummy".to_owned(), event_type::SOFTWARE);
        Self { name, event_type, config: config as u64, privilege, precise: 0 }
    }

    /// The same event, counted in user space only.
    pub fn user_only(&self) -> Self {
        let separator = if self.name.contains(':') { "" } else { ":" };
        let name = format!("{}{separator}u", self.name);
        Self { name, privilege: Privilege::UserOnly, ..self.clone() }
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

/// `r1a8`: the number of an event in hex.
fn is_raw(name: &str) -> bool {
    let number = name.strip_prefix('r').filter(|number| !number.is_empty());
    number.is_some_and(|number| number.chars().all(|digit| digit.is_ascii_hexdigit()))
}

/// Reads the `-e` options, each one or more events between commas.
pub fn parse_list(options: &[String]) -> Result<Vec<EventSpec>> {
    options.iter().flat_map(|option| option.split(',')).map(EventSpec::parse).collect()
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
        assert_eq!((event.privilege, event.precise), (Privilege::UserOnly, 2));
        assert_eq!(event.name, "cpu-cycles:upp");
        let event = EventSpec::parse("cs:k").unwrap();
        assert_eq!((event.event_type, event.config), (event_type::SOFTWARE, 3));
        assert_eq!(event.privilege, Privilege::KernelOnly);
        assert_eq!(EventSpec::parse("cycles:uk").unwrap().privilege, Privilege::Any);
    }

    #[test]
    fn what_is_not_an_event_is_said_with_what_is() {
        let error = EventSpec::parse("cycels").unwrap_err().to_string();
        assert!(error.contains("'cycels'") && error.contains("cpu-clock"), "{error}");
        assert!(EventSpec::parse("cycles:x").is_err());
        for text in ["sched:sched_switch", "cpu/event=0x3c/", "r1a8", "syscalls:*"] {
            let error = EventSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("use perf record -e {text}")), "{error}");
        }
        assert!(EventSpec::parse("cycles:pppp").is_err());
        assert!(parse_list(&["cycles,".into()]).is_err());
    }

    #[test]
    fn lists_and_fallback_names() {
        let list = parse_list(&["cycles,faults".into(), "cpu-clock".into()]).unwrap();
        assert_eq!(list.len(), 3);
        assert_eq!(list[0].user_only().name, "cycles:u");
        assert_eq!(EventSpec::parse("cycles:p").unwrap().user_only().name, "cycles:pu");
        assert!(list[2].is_clock() && !list[0].is_clock());
    }
}
