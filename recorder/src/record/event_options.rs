//! `-e` and `--filter`, in the order in which they are written: a filter is of the events before it.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

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
        let option = |events| EventOption { events, filters: Vec::new() };
        let mut options: Vec<_> = written.event.into_iter().map(option).collect();
        let events = places("event");
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
}
