//! `-e`, `--filter` and `-G`, in the order in which they are written: a filter is of the events before it, and so are cgroups.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The name by which `clap` knows `-G`.
const CGROUPS: &str = "cgroup";

/// What `-e` and `--filter` ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventOptions(pub Vec<EventOption>);

/// One `-e`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventOption {
    /// Events between commas.
    pub events: String,
    /// What fields of them have to be, all of it.
    pub filters: Vec<String>,
    /// Whether the cgroups of `-G` are theirs.
    pub reach: CgroupsReach,
}

/// Which events `-G` is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupsReach {
    /// Of all: it stands before them, or there is none.
    All,
    /// Of these: it stands behind them.
    Them,
    /// Of those before.
    OthersAlone,
}

/// Where `-G` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupsStand {
    /// Before all events, which perf refuses.
    First,
    /// Behind some.
    Behind,
}

/// The same, apart from each other.
#[derive(Debug, Args)]
struct Written {
    /// Event [default: cycles, else cpu-clock]; {A,B}:S; see perftab list
    #[arg(short, long, value_name = "EVENT")]
    event: Vec<String>,
    /// Of tracepoints before, only where fields are so: prev_pid>0
    #[arg(long, value_name = "FILTER")]
    filter: Vec<String>,
    /// Of tracepoints before, not what the recorder itself does.
    #[arg(long, hide = true, num_args = 0, default_missing_value = "true")]
    exclude_perf: Vec<bool>,
}

impl EventOptions {
    /// Where cgroups stand, if there are any.
    pub fn cgroups_stand(&self) -> CgroupsStand {
        match self.0.iter().any(|option| option.reach == CgroupsReach::Them) {
            true => CgroupsStand::Behind,
            false => CgroupsStand::First,
        }
    }
}

impl Args for EventOptions {
    fn augment_args(command: Command) -> Command {
        Written::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Written::augment_args_for_update(command)
    }
}

impl FromArgMatches for EventOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let written = Written::from_arg_matches(matches)?;
        let places =
            |id| matches.indices_of(id).map(Iterator::collect::<Vec<_>>).unwrap_or_default();
        let events = places("event");
        let has_cgroups = matches.try_contains_id(CGROUPS).unwrap_or(false);
        let cgroups = if has_cgroups { places(CGROUPS).into_iter().max() } else { None };
        // perf refuses cgroups before all events.
        let cgroups = cgroups.filter(|last| events.first().is_some_and(|first| first < last));
        let option = |(events, place)| EventOption {
            events,
            filters: Vec::new(),
            reach: match cgroups {
                None => CgroupsReach::All,
                Some(last) if place < last => CgroupsReach::Them,
                Some(_) => CgroupsReach::OthersAlone,
            },
        };
        let written_at = events.iter().copied();
        let mut options: Vec<_> = written.event.into_iter().zip(written_at).map(option).collect();
        // What tracepoints call a pid is a thread.
        let own = || format!("common_pid != {}", rustix::thread::gettid().as_raw_nonzero());
        let filters = places("filter").into_iter().zip(written.filter);
        let own = places("exclude_perf").into_iter().map(|place| (place, own()));
        for (place, filter) in filters.chain(own) {
            let before = events.partition_point(|event| *event < place).checked_sub(1);
            let Some(option) = before.and_then(|index| options.get_mut(index)) else {
                let what = "--filter, --exclude-perf: name its tracepoints before it, with -e";
                return Err(Error::raw(ErrorKind::MissingRequiredArgument, what));
            };
            option.filters.push(filter);
        }
        Ok(Self(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        events: EventOptions,
    }

    #[test]
    fn a_filter_is_of_the_events_before_it() {
        let parse = |line: &str| Line::try_parse_from(line.split(' ')).map(|line| line.events.0);
        let option = |events: &str, filters: &[&str]| EventOption {
            events: events.into(),
            filters: filters.iter().map(|filter| (*filter).into()).collect(),
            reach: CgroupsReach::All,
        };
        assert_eq!(parse("record -e a,b").unwrap(), [option("a,b", &[])]);
        assert_eq!(
            parse("record -e a --filter x -e b,c -e d --filter=y>0 --filter z").unwrap(),
            [option("a", &["x"]), option("b,c", &[]), option("d", &["y>0", "z"])]
        );
        let own = format!("common_pid != {}", rustix::thread::gettid().as_raw_nonzero());
        assert_eq!(
            parse("record -e a --exclude-perf -e b --filter x -e c --exclude-perf").unwrap(),
            [option("a", &[&own]), option("b", &["x"]), option("c", &[&own])]
        );
        assert!(parse("record --filter x -e a").is_err());
        assert!(parse("record --exclude-perf -e a").is_err());
    }

    #[test]
    fn cgroups_are_of_the_events_before_them() {
        #[derive(Parser)]
        struct WithCgroups {
            #[command(flatten)]
            events: EventOptions,
            #[command(flatten)]
            _target: super::super::target::TargetArgs,
        }
        let reached = |line: &str| {
            let events = WithCgroups::parse_from(line.split(' ')).events;
            let stand = events.cgroups_stand();
            (stand, events.0.into_iter().map(|option| option.reach).collect::<Vec<_>>())
        };
        use CgroupsReach::{All, OthersAlone, Them};
        let behind = |reach: &[CgroupsReach]| (CgroupsStand::Behind, reach.to_vec());
        assert_eq!(reached("record -e a -G x -e b"), behind(&[Them, OthersAlone]));
        assert_eq!(reached("record -e a -e b -G x,y"), behind(&[Them, Them]));
        let several = reached("record -e a -G x -e b --cgroup y -e c -e d");
        assert_eq!(several, behind(&[Them, Them, OthersAlone, OthersAlone]));
        for line in ["record -G x -e a -e b", "record -a -e a --container x -e b"] {
            assert_eq!(reached(line), (CgroupsStand::First, vec![All, All]));
        }
        assert_eq!(reached("record -G x"), (CgroupsStand::First, vec![]));
    }
}
