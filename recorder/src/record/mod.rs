//! `perftab record`: samples by perf_event_open, written as a perf.data that perf itself reads.
//!
//! The order of things: the options become a [`options::Plan`]; the command is started, stopped;
//! [`probes`] are made; [`counters`] are opened on it; what already runs is described ([`kernel`],
//! [`tasks`]); then records move from the [`ring`]s into a [`part`], packed on the way by a [`packer`] if asked:
//! a [`recording_file`], a [`recording_stream`], or memory ([`flight`]). [`tally`] takes note of them
//! on the way. At the end nothing is left to be done but to write the feature sections.
//!
//! Constraints: `unsafe` only in `sys` and `ring`; no layout of the file but core's; what was
//! recorded is a valid file whatever ends the recording.
//!
//! Exit code: that of the command if it ended by itself (128 + the signal that killed it), as
//! perf has it; 0 if a time limit, Ctrl-C or the end of the recorded process ended the recording;
//! 1 if we failed, a full disk included.

mod attrs;
mod cgroup;
mod chain_mode;
mod chain_parts;
mod clock;
mod command;
mod container;
mod control;
mod counters;
mod describe;
mod embed;
mod event_options;
pub mod events;
mod explain;
#[cfg(test)]
mod fake_root;
mod finish;
mod flight;
mod gaps;
mod host;
mod hot_functions;
mod identify;
mod kallsyms;
mod kernel;
mod kernel_hits;
mod kernel_modules;
pub mod live;
mod live_line;
mod mapped_at;
mod mapped_files;
mod module_events;
mod options;
mod output_options;
mod packer;
mod part;
mod parts;
mod polled;
mod probed_files;
mod probes;
mod recording_file;
mod recording_stream;
#[allow(unsafe_code)]
mod ring;
mod ring_copy;
mod ring_size;
mod sample_layouts;
mod sampled_data;
mod session;
mod signals;
mod stack_sample;
#[allow(unsafe_code)]
mod sys;
mod tally;
mod target;
mod tasks;
mod topology;
mod trigger;
mod unwinding;
mod unwound;
mod users;
mod write_behind;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

pub use command::SELF;
pub use options::{RecordArgs, SamplingArgs, parse_duration};
pub use target::TargetArgs;
pub use tasks::own_vdso;

use self::command::StoppedCommand;
use self::control::Control;
use self::counters::Counters;
use self::finish::RecordingOutcome;
use self::options::Plan;
use self::output_options::OutputPlan;
use self::probes::Probes;
use self::session::{Ending, Loudness, Session};
use self::signals::Signals;
use crate::images::answering;
use crate::output::{self, notice};

/// Wrong usage, as clap has it too.
const USAGE: u8 = 2;

/// What came of a recording.
pub struct Recording {
    /// That of the process.
    pub code: ExitCode,
    /// The file, if it is one and has all that was recorded.
    pub file: Option<PathBuf>,
}

impl Recording {
    fn none(code: ExitCode) -> Self {
        Self { code, file: None }
    }
}

/// Records as the options say, and tells on standard error what came of it. `losses` is the exit
/// code if samples were lost.
pub fn run(args: &RecordArgs, losses: ExitCode) -> Result<Recording> {
    if let Some(recorder) = args.exec_when_continued {
        return command::become_command(&args.command, recorder).map(Recording::none);
    }
    if let Some(list) = &args.remove_probes {
        return probes::remove_when_ended(list).map(Recording::none);
    }
    if let Some(file) = &args.look_at {
        return Ok(Recording::none(answering::look_at(file)));
    }
    let mut plan = match Plan::new(args) {
        Ok(plan) => plan,
        Err(error) => {
            output::failure(&error);
            return Ok(Recording::none(ExitCode::from(USAGE)));
        }
    };
    say_what_cannot_be_seen(&plan);
    if !args.quiet {
        plan.notices.iter().for_each(notice);
    }
    let control = plan.control.as_ref().map(Control::open).transpose()?;
    let signals = Signals::install()?;
    let mut command = match plan.command.is_empty() {
        true => None,
        false => Some(StoppedCommand::start(&plan.command, plan.output.of_command())?),
    };
    // Before the counters, so that it is dropped after them.
    let _probes = Probes::make(Path::new("/"), &mut plan.events)?;
    let counters = Counters::open(&plan, command.as_ref().map(StoppedCommand::pid))?;
    if !args.quiet {
        counters.notices.iter().for_each(notice);
    }
    let loudness = if args.quiet { Loudness::Quiet } else { Loudness::Usual };
    let mut session = Session::begin(counters, &plan, loudness)?;
    session.describe_what_runs(&plan, &signals)?;
    if let Some(command) = &mut command {
        command.go()?;
    }
    let ending = session.run(&plan, signals, control, command.as_mut())?;
    if matches!(ending, Ending::SizeReached) && !args.quiet {
        notice("--max-size is reached: the recording ends here");
    }
    // Of a command that has ended by itself.
    let exit_code = match (&ending, &mut command) {
        (Ending::CommandEnded, Some(command)) => command.terminate(),
        _ => None,
    };
    let kept = session.finish(&ending, exit_code, &plan);
    // Only now: a command that takes its time to end must not keep the file incomplete.
    let code = command.as_mut().and_then(StoppedCommand::terminate);
    let kept = kept?;
    let file = match plan.output {
        OutputPlan::File(path) if kept != RecordingOutcome::UntilFull => Some(path),
        _ => None,
    };
    let code = match (kept, ending, code) {
        (RecordingOutcome::UntilFull, ..) => ExitCode::FAILURE,
        (_, Ending::CommandEnded, Some(code)) if code != 0 => ExitCode::from(code),
        (RecordingOutcome::WithLosses, ..) => losses,
        (RecordingOutcome::All, ..) => ExitCode::SUCCESS,
    };
    Ok(Recording { code, file })
}

fn say_what_cannot_be_seen(plan: &Plan) {
    if plan.target.is_any_process() && host::is_in_pid_namespace() {
        notice(
            "this is a container: whatever runs outside of it is recorded as process 0, without \
             names; record on the host, or in a container with the host's processes (docker run \
             --pid=host)",
        );
    }
}
