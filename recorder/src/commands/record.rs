//! `perftab record`, and what it does with a recording once that is complete.

use std::process::ExitCode;

use super::share;
use crate::output;
use crate::record::{self, RecordArgs};

/// Records, and shares what was recorded if asked to.
pub fn run(args: &RecordArgs, losses: ExitCode) -> anyhow::Result<ExitCode> {
    let recording = record::run(args, losses)?;
    let Some(file) = recording.file.filter(|_| args.share) else { return Ok(recording.code) };
    if args.quiet {
        output::be_quiet();
    }
    match share::after_recording(&file) {
        Ok(()) => Ok(recording.code),
        // The recording is there all the same.
        Err(error) => {
            output::failure(&error.context("--share"));
            Ok(ExitCode::FAILURE)
        }
    }
}
