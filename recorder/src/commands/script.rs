//! `perftab script`: every sample as text, one block each, with its raw call chain.
//!
//! The recording is read twice: names may come from its end, and the samples are printed as they
//! pass by, so that memory does not grow with what is printed.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use anyhow::bail;
use branches::BranchLines;
use perftab_core::session::{Session, StackDumps, StackWalk, WatchedSample};
use perftab_core::{
    BranchDetail, Chains, Choice, Column, Field, Layout, NamingDepth, Query, SourcePath,
    TimeDigits, Traces,
};

use super::{NO_SAMPLE_LEFT, filter, finish, finish_named, header};
use crate::cli::{BranchField, ScriptArgs, ScriptField, ScriptFields, SymbolArgs};
use crate::images::search;
use crate::input::Input;
use crate::output::{self, Outcome, Results};

/// What a link has not of what is printed here.
const LACKS: &str = "individual samples with raw call chains";
/// Text that is gathered before it is written.
const WRITE_BYTES: usize = 256 << 10;

mod branches;

/// Prints all samples.
pub fn run(args: &ScriptArgs) -> anyhow::Result<Outcome> {
    let recording = Input::open(args.input.path())?.into_recording(LACKS)?;
    let mut session = recording.read(args.images.images.this_machine())?;
    if args.no_inline {
        session.set_naming_depth(NamingDepth::Functions);
    }
    let (mut fields, mut of_branches) = (Vec::new(), Vec::new());
    let mut columns = args.hide_call_graph.then(usual);
    for field in &args.fields {
        match field {
            ScriptFields::Added(added) => added.iter().for_each(|field| match *field {
                ScriptField::Sample(Field::Srcline(_)) if args.full_source_path => {
                    fields.push(Field::Srcline(SourcePath::Whole));
                }
                ScriptField::Sample(field) => fields.push(field),
                ScriptField::Branches(field) => of_branches.push(field),
            }),
            ScriptFields::These(choice, these) => columns = Some((*choice, these.clone())),
        }
    }
    let clock = Clock::of(args);
    if (args.max_stack != usize::MAX || clock != Clock::Recorded) && columns.is_none() {
        columns = Some(usual());
    }
    let layout = columns.map(|columns| layout(args, columns));
    if layout.is_some() && !(fields.is_empty() && of_branches.is_empty()) {
        bail!("fields that are added to a whole block do not go together with chosen ones");
    }
    if args.header.header || args.header.header_only {
        let mut results = Results::new();
        header::write(&mut results, &session.info())?;
        results.flush()?;
        if args.header.header_only {
            return Ok(finish(&session));
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
    let mut query = Query::default();
    filter::apply_to_samples(&args.samples, &session, &mut query)?;
    let taken = (!args.samples.is_empty()).then(|| session.taken_rows(&query));
    let scope = Scope { taken, symbols: args.symbols.clone() };
    let session = Rc::new(session);
    let form = match layout {
        Some(layout) => Form::Fields(layout, clock),
        None => Form::Block(fields, branches),
    };
    let printer = Rc::new(RefCell::new(Printer::new(walk, form, scope)));
    let watcher = {
        let (session, printer) = (session.clone(), printer.clone());
        Box::new(move |sample: &WatchedSample<'_>| printer.borrow_mut().print(&session, sample))
    };
    recording.watch(dumps, watcher, &mut || Ok(printer.borrow_mut().check()?))?;
    printer.borrow_mut().finish()?;
    if printer.borrow().printed == Printed::Nothing && !session.profile().samples.is_empty() {
        output::notice(NO_SAMPLE_LEFT);
    }
    Ok(finish_named(&session))
}

fn usual() -> (Choice, Vec<Column>) {
    (Choice::Usual, ScriptFields::USUAL.to_vec())
}

fn layout(args: &ScriptArgs, (choice, columns): (Choice, Vec<Column>)) -> Layout {
    Layout {
        columns,
        choice,
        most_words: args.max_stack,
        zero_nanos: 0,
        times: if args.ns { TimeDigits::Nanoseconds } else { TimeDigits::Microseconds },
        chains: if args.hide_call_graph { Chains::Innermost } else { Chains::Whole },
    }
}

/// How a sample is printed.
enum Form {
    /// As a block, with these fields besides.
    Block(Vec<Field>, BranchLines),
    /// As perf prints chosen fields.
    Fields(Layout, Clock),
}

/// Since when times are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// As they were recorded.
    Recorded,
    /// Since the first sample.
    FromFirst(Option<u64>),
    /// Since the sample before.
    FromLast(Option<u64>),
}

impl Clock {
    fn of(args: &ScriptArgs) -> Self {
        match (args.reltime, args.deltatime) {
            (true, _) => Self::FromFirst(None),
            (_, true) => Self::FromLast(None),
            (false, false) => Self::Recorded,
        }
    }

    /// What the time of the next sample is counted from.
    fn zero(&mut self, time: u64) -> u64 {
        match self {
            Self::Recorded => 0,
            Self::FromFirst(first) => *first.get_or_insert(time),
            Self::FromLast(last) => last.replace(time).unwrap_or(time),
        }
    }
}

/// Which samples are printed.
struct Scope {
    /// By their rows; `None`: all.
    taken: Option<Vec<bool>>,
    /// Functions that they ended in; none: any.
    symbols: SymbolArgs,
}

impl Scope {
    fn takes(&self, session: &Session, sample: &WatchedSample<'_>) -> bool {
        let is_taken = |rows: &Vec<bool>| rows.get(sample.row).copied().unwrap_or(false);
        self.taken.as_ref().is_none_or(is_taken)
            && filter::is_asked_for(&self.symbols, || session.leaf_name(sample))
    }
}

/// Whether any sample was one of those that are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    Nothing,
    Some,
}

/// Prints samples as they are shown; an error waits until somebody asks.
struct Printer {
    results: Results,
    walk: Option<StackWalk>,
    form: Form,
    scope: Scope,
    traces: Traces,
    text: String,
    printed: Printed,
    error: Option<io::Error>,
}

impl Printer {
    fn new(walk: Option<StackWalk>, form: Form, scope: Scope) -> Self {
        let (results, traces, text) = (Results::new(), Traces::default(), String::new());
        Self { results, walk, form, scope, traces, text, printed: Printed::Nothing, error: None }
    }

    fn print(&mut self, session: &Session, sample: &WatchedSample<'_>) {
        if self.error.is_none() {
            let unwound = self.walk.as_mut().map_or(&[][..], |walk| walk.addresses(sample));
            // What is not printed is read all the same: a walk goes from each sample to the next of its thread.
            if !self.scope.takes(session, sample) {
                return;
            }
            self.printed = Printed::Some;
            match &mut self.form {
                Form::Block(fields, branches) => {
                    let more = branches.of(session, sample);
                    let more = (&mut self.traces, more);
                    session.write_sample(sample, unwound, fields, more, &mut self.text);
                }
                Form::Fields(layout, clock) => {
                    layout.zero_nanos = sample.time_nanos.map_or(0, |time| clock.zero(time));
                    let traces = &mut self.traces;
                    session.write_fields(sample, unwound, layout, traces, &mut self.text);
                }
            }
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
