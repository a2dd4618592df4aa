//! `perftab script`: every sample as text, one block each, with its raw call chain.
//!
//! The recording is read twice: names may come from its end, and the samples are printed as they
//! pass by, so that memory does not grow with what is printed.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use branches::BranchLines;
use perftab_core::session::{Session, StackDumps, StackWalk, WatchedSample};
use perftab_core::{BranchDetail, Field, SourcePath};

use super::finish_named;
use crate::cli::{BranchField, ScriptArgs, ScriptField};
use crate::images::search;
use crate::input::Input;
use crate::output::{Outcome, Results};

/// What a link has not of what is printed here.
const LACKS: &str = "individual samples with raw call chains";
/// Text that is gathered before it is written.
const WRITE_BYTES: usize = 256 << 10;

mod branches;

/// Prints all samples.
pub fn run(args: &ScriptArgs) -> anyhow::Result<Outcome> {
    let recording = Input::open(&args.input.file)?.into_recording(LACKS)?;
    let mut session = recording.read(args.images.images.this_machine())?;
    let (mut fields, mut of_branches) = (Vec::new(), Vec::new());
    for &field in &args.fields {
        match field {
            ScriptField::Sample(Field::Srcline(_)) if args.full_source_path => {
                fields.push(Field::Srcline(SourcePath::Whole));
            }
            ScriptField::Sample(field) => fields.push(field),
            ScriptField::Branches(field) => of_branches.push(field),
        }
    }
    let are_named = of_branches.iter().any(|&field| field != BranchField::Brstack);
    if are_named && session.branches(None, BranchDetail::Ends).is_ok() {
        // So that files of code are looked for that only branches lead to.
        recording.read_branches(&mut session, None, BranchDetail::Ends)?;
    }
    search::name_frames(&mut session, Some(&recording), &args.images)?;
    let walk = session.walk_stacks();
    let dumps = if walk.is_some() { StackDumps::Shown } else { StackDumps::LeftOut };
    let branches = BranchLines::new(&session, of_branches);
    let session = Rc::new(session);
    let printer = Rc::new(RefCell::new(Printer::new(walk, fields, branches)));
    let watcher = {
        let (session, printer) = (session.clone(), printer.clone());
        Box::new(move |sample: &WatchedSample<'_>| printer.borrow_mut().print(&session, sample))
    };
    recording.watch(dumps, watcher, &mut || Ok(printer.borrow_mut().check()?))?;
    printer.borrow_mut().finish()?;
    Ok(finish_named(&session))
}

/// Prints samples as they are shown; an error waits until somebody asks.
struct Printer {
    results: Results,
    walk: Option<StackWalk>,
    fields: Vec<Field>,
    branches: BranchLines,
    text: String,
    error: Option<io::Error>,
}

impl Printer {
    fn new(walk: Option<StackWalk>, fields: Vec<Field>, branches: BranchLines) -> Self {
        let (results, text) = (Results::new(), String::new());
        Self { results, walk, fields, branches, text, error: None }
    }

    fn print(&mut self, session: &Session, sample: &WatchedSample<'_>) {
        if self.error.is_none() {
            let unwound = self.walk.as_mut().map_or(&[][..], |walk| walk.addresses(sample));
            let more = self.branches.of(session, sample);
            session.write_sample(sample, unwound, &self.fields, more, &mut self.text);
            if self.text.len() >= WRITE_BYTES {
                self.error = self.write().err();
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.results.write_all(self.text.as_bytes());
        self.text.clear();
        written
    }

    /// The error that there was, if any.
    fn check(&mut self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.check()?;
        self.write()?;
        self.results.flush()
    }
}
