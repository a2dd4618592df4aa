//! How stacks are walked: what `-g`, `--call-graph`, `--max-stack` and terms of events ask for.
//!
//! perf walks them in another way for each event, if told so. Here all samples have the same fields, so all events
//! have to ask for the same.

use anyhow::{Context, Result, bail};

use super::events::EventSpec;
use super::host;
use super::options::{CallChains, KeptSamples, SamplingArgs, StackCopy};

/// What options and events ask for.
pub fn call_chains(
    args: &SamplingArgs,
    events: &[EventSpec],
    kept: KeptSamples,
    notices: &mut Vec<String>,
) -> Result<CallChains> {
    let of_option = args.call_graph.as_deref().or(args.chains.then_some("fp"));
    let of_events = mode_of_events(events)?;
    let mode = match (&of_events, of_option) {
        (Some(EventsMode { mode, of: AskedBy::Some }), Some(option)) if mode != option => bail!(
            "call-graph={mode}: other events have --call-graph {option}; perftab walks stacks of all events in one way"
        ),
        (Some(EventsMode { mode, of }), None) => {
            if *of == AskedBy::Some && mode != "no" {
                notices
                    .push("stacks are walked of all events, not only of those that say so".into());
            }
            Some(mode.as_str())
        }
        (Some(EventsMode { mode, .. }), Some(_)) => Some(mode.as_str()),
        // A limit of addresses asks for some, as in perf.
        (None, None) => events.iter().any(|event| event.max_stack.is_some()).then_some("fp"),
        (None, option) => option,
    };
    let chains = mode.map_or(Ok(CallChains::None), |mode| chains_of(mode, kept, notices))?;
    Ok(match (args.max_stack.as_deref(), chains) {
        (None, chains) => chains,
        (Some(most), CallChains::FramePointers(None)) => {
            CallChains::FramePointers(most_addresses(("--max-stack ", most), notices)?)
        }
        (Some(_), _) => bail!("--max-stack goes with -g, which walks stacks by frame pointers"),
    })
}

/// What terms of events say.
struct EventsMode {
    mode: String,
    of: AskedBy,
}

/// How many events say so.
#[derive(PartialEq, Eq)]
enum AskedBy {
    All,
    Some,
}

fn mode_of_events(events: &[EventSpec]) -> Result<Option<EventsMode>> {
    let modes: Vec<Option<String>> =
        events.iter().map(EventSpec::chain_mode).collect::<Result<_>>()?;
    let Some(mode) = modes.iter().flatten().next() else { return Ok(None) };
    if let Some(other) = modes.iter().flatten().find(|other| *other != mode) {
        bail!(
            "call-graph={mode} and call-graph={other}: perftab walks stacks of all events in one way; make two recordings"
        );
    }
    let of = if modes.iter().all(Option::is_some) { AskedBy::All } else { AskedBy::Some };
    Ok(Some(EventsMode { mode: mode.clone(), of }))
}

/// What is kept until the end in rings is written over before anybody could walk it, for the most part: those copies stay.
fn chains_of(mode: &str, kept: KeptSamples, notices: &mut Vec<String>) -> Result<CallChains> {
    let (name, size) = mode.split_once(',').map_or((mode, None), |(name, size)| (name, Some(size)));
    let copy = || size.map(|size| StackCopy::parse(name, size)).transpose();
    Ok(match (name, size, kept) {
        ("fp", None, _) => CallChains::FramePointers(None),
        ("fp", Some("defer"), _) => CallChains::FramePointersDeferred,
        ("fp", Some(most), _) => {
            CallChains::FramePointers(most_addresses(("--call-graph fp,", most), notices)?)
        }
        ("no", None, _) => CallChains::None,
        ("dwarf", _, KeptSamples::All) => {
            let asked = copy()?;
            CallChains::Unwound {
                copy: asked.unwrap_or_else(StackCopy::to_walk),
                of_made_code: asked.unwrap_or(StackCopy::DEFAULT),
            }
        }
        ("dwarf", _, KeptSamples::Latest) | ("dwarf-dump", ..) => {
            CallChains::Copied(copy()?.unwrap_or(StackCopy::DEFAULT))
        }
        ("lbr", None, _) => CallChains::KeptByCpu,
        _ => bail!(
            "--call-graph {mode}: there are fp[,ADDRESSES], fp,defer, dwarf[,SIZE], dwarf-dump[,SIZE] and lbr"
        ),
    })
}

/// As many as the kernel allows if more are asked for, as in perf. `option` is what stands before the number.
fn most_addresses((option, text): (&str, &str), notices: &mut Vec<String>) -> Result<Option<u16>> {
    let asked = text.parse::<u64>().ok().filter(|asked| *asked > 0);
    let asked = asked.with_context(|| format!("{option}{text}: give a number above 0"))?;
    match host::sysctl_number("kernel/perf_event_max_stack") {
        Some(limit) if asked > limit => {
            notices.push(format!(
                "{option}{asked} is more than the kernel allows: using {limit} addresses; \
                 raise it with sysctl kernel.perf_event_max_stack={asked}"
            ));
            Ok(None)
        }
        _ => Ok(Some(u16::try_from(asked).unwrap_or(u16::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(call_graph: Option<&str>, stack_size: Option<u64>) -> EventSpec {
        EventSpec {
            call_graph: call_graph.map(str::to_owned),
            stack_size,
            ..EventSpec::cpu_clock()
        }
    }

    fn chains(option: Option<&str>, events: &[EventSpec]) -> Result<CallChains, String> {
        let call_graph = option.map(str::to_owned);
        let args = SamplingArgs { call_graph, ..SamplingArgs::default() };
        call_chains(&args, events, KeptSamples::All, &mut Vec::new())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn terms_of_events_say_how_stacks_are_walked() {
        let (fp, dump) = (event(Some("fp"), None), event(Some("dwarf-dump"), Some(1000)));
        let (plain, no) = (event(None, None), event(Some("no"), None));
        let frames = CallChains::FramePointers(None);
        assert_eq!(chains(None, std::slice::from_ref(&plain)), Ok(CallChains::None));
        assert_eq!(chains(None, &[fp.clone(), fp.clone()]), Ok(frames));
        assert_eq!(chains(None, &[fp.clone(), plain.clone()]), Ok(frames));
        assert_eq!(chains(Some("fp"), std::slice::from_ref(&no)), Ok(CallChains::None));
        assert_eq!(
            chains(None, std::slice::from_ref(&dump)),
            Ok(CallChains::Copied(StackCopy(1000)))
        );
        assert!(chains(None, &[fp.clone(), dump]).is_err());
        assert!(chains(Some("dwarf"), &[fp, plain]).is_err());
        assert!(chains(None, &[event(None, Some(8))]).is_err());
        let deep = EventSpec { max_stack: Some(3), ..EventSpec::cpu_clock() };
        assert_eq!(chains(None, std::slice::from_ref(&deep)), Ok(frames));
        assert!(matches!(chains(Some("dwarf"), &[deep]), Ok(CallChains::Unwound { .. })));
    }
}
