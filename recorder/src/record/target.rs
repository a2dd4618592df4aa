//! What is recorded: a command, processes, threads, CPUs or a cgroup. Options as in perf.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use super::{cgroup, container, host, users};

/// What is recorded, but for a command.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// All CPUs, until the command ends or Ctrl-C
    #[arg(short, long)]
    pub all_cpus: bool,
    /// Running processes
    #[arg(short, long, value_name = "PID", value_delimiter = ',', conflicts_with = "tid")]
    pub pid: Vec<i32>,
    /// Running threads, without the threads they start
    #[arg(short, long, value_name = "TID", value_delimiter = ',')]
    pub tid: Vec<i32>,
    /// Running processes of this user
    #[arg(short = 'u', long, value_name = "USER",
        conflicts_with_all = ["pid", "tid", "cpu", "cgroup"])]
    pub uid: Option<String>,
    /// Only these CPUs: 0-3,7
    #[arg(short = 'C', long, value_name = "CPUS", conflicts_with_all = ["pid", "tid"])]
    pub cpu: Option<String>,
    /// What runs in this cgroup: its path, or that below the mount
    #[arg(short = 'G', long, value_name = "CGROUP", conflicts_with_all = ["pid", "tid", "cpu"])]
    pub cgroup: Option<PathBuf>,
    /// What runs in this container or pod: its name, or enough of its id
    #[arg(long, value_name = "NAME|ID", conflicts_with_all = ["pid", "tid", "cpu", "cgroup", "uid"])]
    pub container: Option<String>,
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
    /// Everything in the cgroup with this folder.
    Cgroup(PathBuf),
}

impl Target {
    /// Whether any process of the system may be met.
    pub fn is_any_process(&self) -> bool {
        matches!(self, Self::Cpus(_) | Self::Cgroup(_))
    }
}

impl TargetArgs {
    /// What they name, if anything; `online` are the CPUs that there are.
    pub fn target(&self, online: &[u32]) -> Result<Option<Target>> {
        if let Some(user) = &self.uid {
            return users::processes_of(user).map(Target::Processes).map(Some);
        }
        if let Some(name) = &self.cgroup {
            return cgroup::folder(name).map(Target::Cgroup).map(Some);
        }
        if let Some(asked) = &self.container {
            return container::folder(asked).map(Target::Cgroup).map(Some);
        }
        if let Some(list) = &self.cpu {
            let cpus = host::parse_cpu_list(list).with_context(|| format!("-C {list}"))?;
            if let Some(cpu) = cpus.iter().find(|cpu| !online.contains(cpu)) {
                bail!("-C {list}: CPU {cpu} is not online");
            }
            return Ok(Some(Target::Cpus(cpus)));
        }
        if let Some(id) = self.pid.iter().chain(&self.tid).find(|id| **id <= 0) {
            bail!("{id} is not a process id");
        }
        Ok(match (self.pid.is_empty(), self.tid.is_empty(), self.all_cpus) {
            (false, ..) => Some(Target::Processes(self.pid.clone())),
            (_, false, _) => Some(Target::Threads(self.tid.clone())),
            (.., true) => Some(Target::Cpus(online.to_vec())),
            _ => None,
        })
    }

    /// What to say where one option counts and another does not. Guides of perf write `-a -p PID`.
    pub fn overridden(&self) -> Option<String> {
        let processes = [
            ("-p", !self.pid.is_empty()),
            ("-t", !self.tid.is_empty()),
            ("-u", self.uid.is_some()),
        ];
        let (option, _) = processes.into_iter().find(|(_, is_given)| self.all_cpus && *is_given)?;
        Some(format!("-a has no effect beside {option}, as in perf"))
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

    #[test]
    fn processes_count_where_the_whole_system_is_named_too() {
        let read = |line: &str| {
            let target = Line::parse_from(line.split(' ')).target;
            (target.target(&[0]).expect("a target"), target.overridden())
        };
        let says = |option| Some(format!("-a has no effect beside {option}, as in perf"));
        assert_eq!(read("record -a"), (Some(Target::Cpus(vec![0])), None));
        assert_eq!(read("record -p 7"), (Some(Target::Processes(vec![7])), None));
        assert_eq!(read("record -a -p 7"), (Some(Target::Processes(vec![7])), says("-p")));
        assert_eq!(read("record -t 7 -a"), (Some(Target::Threads(vec![7])), says("-t")));
    }
}
