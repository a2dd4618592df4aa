//! What is recorded: a command, processes, threads, CPUs or cgroups. Options as in perf.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::cgroup::{self, NamedBy, Place};
use super::event_options::CgroupsStand;
use super::events::EventSpec;
use super::{container, host, users};

/// What is recorded, but for a command.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// All CPUs, until the command ends or Ctrl-C
    #[arg(short, long)]
    pub all_cpus: bool,
    /// Running processes
    #[arg(short, long, value_name = "PID", value_delimiter = ',', value_parser = id, conflicts_with = "tid")]
    pub pid: Vec<i32>,
    /// Running threads, without the threads they start
    #[arg(short, long, value_name = "TID", value_delimiter = ',', value_parser = id)]
    pub tid: Vec<i32>,
    /// Running processes of this user
    #[arg(short = 'u', long, value_name = "USER", conflicts_with = "cgroup")]
    pub uid: Option<String>,
    /// Only these CPUs: 0-3,7
    #[arg(short = 'C', long, value_name = "CPUS")]
    pub cpu: Option<String>,
    /// What runs in these cgroups: paths, or those below the mount
    // Other types than OsString refuse an empty name.
    #[arg(short = 'G', long, value_name = "CGROUP", value_delimiter = ',', conflicts_with_all = ["pid", "tid"])]
    pub cgroup: Vec<OsString>,
    /// What runs in these containers or pods: names, or enough of ids
    #[arg(long, value_name = "NAME|ID", value_delimiter = ',', conflicts_with_all = ["pid", "tid", "cgroup", "uid"])]
    pub container: Vec<String>,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A command, from its exec on, with everything it starts.
    Command,
    /// Running processes, with everything they start.
    Processes(Vec<i32>),
    /// Running threads, without what they start.
    Threads(Vec<i32>),
    /// Everything on these CPUs.
    Cpus(Vec<u32>),
    /// Everything in cgroups, on these CPUs.
    Cgroups {
        /// Of events that have none of their own.
        places: Vec<Place>,
        /// How they are named.
        named_by: NamedBy,
        /// CPU numbers.
        cpus: Vec<u32>,
    },
}

impl Target {
    /// Whether any process of the system may be met.
    pub fn is_any_process(&self) -> bool {
        matches!(self, Self::Cpus(_) | Self::Cgroups { .. })
    }

    /// The same, once it is known where each event is recorded.
    pub fn settled(
        self,
        stand: CgroupsStand,
        events: &mut [EventSpec],
        notices: &mut Vec<String>,
    ) -> Result<Self> {
        Ok(match self {
            Self::Cgroups { places, named_by, cpus } => {
                let places = cgroup::settle(places, (named_by, stand), events, notices)?;
                Self::Cgroups { places, named_by, cpus }
            }
            other => other,
        })
    }
}

impl TargetArgs {
    /// What they name, if anything; `online` are the CPUs that there are.
    pub fn target(&self, online: &[u32]) -> Result<Option<Target>> {
        if !self.pid.is_empty() {
            return Ok(Some(Target::Processes(self.pid.clone())));
        }
        if !self.tid.is_empty() {
            return Ok(Some(Target::Threads(self.tid.clone())));
        }
        if let Some(user) = &self.uid {
            return users::processes_of(user).map(Target::Processes).map(Some);
        }
        let cpus = match &self.cpu {
            Some(list) => chosen_cpus(list, online)?,
            None => online.to_vec(),
        };
        let named = self.cgroup.iter().map(|name| cgroup::place(Path::new(name)));
        let named = named.collect::<Result<Vec<_>>>()?;
        let contained = self.container.iter().map(|it| container::folder(it).map(Place::Cgroup));
        let contained = contained.collect::<Result<Vec<_>>>()?;
        Ok(match (named.is_empty(), contained.is_empty()) {
            (false, _) => Some(Target::Cgroups { places: named, named_by: NamedBy::Cgroup, cpus }),
            (true, false) => {
                Some(Target::Cgroups { places: contained, named_by: NamedBy::Container, cpus })
            }
            (true, true) => (self.all_cpus || self.cpu.is_some()).then_some(Target::Cpus(cpus)),
        })
    }

    /// What to say where one option counts and others do not. Guides of perf write `-a -p PID`.
    pub fn overridden(&self) -> Option<String> {
        let processes = [
            ("-p", !self.pid.is_empty()),
            ("-t", !self.tid.is_empty()),
            ("-u", self.uid.is_some()),
        ];
        let first = processes.iter().position(|(_, is_given)| *is_given)?;
        let cpus = [("-C", self.cpu.is_some()), ("-a", self.all_cpus)];
        let others = processes[first + 1..].iter().chain(&cpus).filter(|(_, is_given)| *is_given);
        let others: Vec<&str> = others.map(|(option, _)| *option).collect();
        let (option, _) = processes[first];
        (!others.is_empty())
            .then(|| format!("{option} overrides {}, as in perf", others.join(" and ")))
    }
}

/// The number of a process or thread. In `-p $(pidof NAME)` it may be missing, or several may stand behind each other.
fn id(text: &str) -> Result<i32, String> {
    let number = text.trim().parse().ok().filter(|id| *id > 0);
    number.ok_or_else(|| {
        "not the number of a process or thread; pgrep -d, NAME prints those of a name as they are written here (1,2), and \
         nothing where none runs"
            .to_owned()
    })
}

fn chosen_cpus(list: &str, online: &[u32]) -> Result<Vec<u32>> {
    let cpus = host::parse_cpu_list(list).with_context(|| format!("-C {list}"))?;
    match cpus.iter().find(|cpu| !online.contains(cpu)) {
        Some(cpu) => bail!("-C {list}: CPU {cpu} is not online"),
        None => Ok(cpus),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        target: TargetArgs,
    }

    /// `-p $(pidof NAME)`, where none or several run.
    #[test]
    fn what_is_no_number_of_a_process_is_answered_with_how_to_write_it() {
        let read = |ids: &str| Line::try_parse_from(["record", "-p", ids]).map(|it| it.target.pid);
        assert_eq!(read("7, 8").expect("two"), [7, 8]);
        for wrong in ["", "7 8", "sleep", "0", "7,"] {
            let said = read(wrong).expect_err(wrong).to_string();
            assert!(said.contains("pgrep -d, NAME"), "{said}");
        }
    }

    #[test]
    fn processes_count_where_others_or_cpus_are_named_too() {
        let read = |line: &str| {
            let target = Line::parse_from(line.split(' ')).target;
            (target.target(&[0, 1]).expect("a target"), target.overridden())
        };
        let says = |text: &str| Some(format!("{text}, as in perf"));
        let process = || Some(Target::Processes(vec![7]));
        assert_eq!(read("record -a"), (Some(Target::Cpus(vec![0, 1])), None));
        assert_eq!(read("record -a -C 1"), (Some(Target::Cpus(vec![1])), None));
        assert_eq!(read("record -p 7"), (process(), None));
        assert_eq!(read("record -a -p 7"), (process(), says("-p overrides -a")));
        assert_eq!(read("record -C 1 -p 7 -u 0"), (process(), says("-p overrides -u and -C")));
        let thread = Some(Target::Threads(vec![7]));
        assert_eq!(read("record -t 7 -a -C 0"), (thread, says("-t overrides -C and -a")));
        let of_user = Line::parse_from(["record", "-u", "0", "-C", "0"]).target;
        assert_eq!(of_user.overridden(), says("-u overrides -C"));
    }
}
