//! `perftab annotate`: where in the code of functions samples ended, by instruction and line of source.
//!
//! A function is what the linker knows, with all that is inlined into it, as in `perf annotate`. Addresses are those of
//! its file, as other disassemblies have them.

mod text;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{anyhow, bail};
use perftab_core::session::{Amount, CodeHeat, ReportFunction, Session};
use perftab_core::{
    CodeLine, CodeOrigin, Direction, DsoId, DsoKind, DsoRef, FunctionKey, FunctionOrder,
    FunctionRef, Group, Inlines, NamingDepth, Query, SortDirection,
};
use serde::{Serialize, Serializer};

use super::{event_number, filter, finish_named, read_named};
use crate::cli::{AnnotateArgs, AnnotatedPart, InputArgs};
use crate::input::is_link_argument;
use crate::output::{self, Outcome, Results, grouped};
use crate::place_texts::assembly::Instructions;
use crate::place_texts::source::{SourceCheck, Sources};
use crate::recording::USUAL_NAME;

/// Functions that are annotated if none is named.
const MOST_FUNCTIONS: usize = 10;
/// Instructions of all functions: some 150 MB of memory. The longest functions have tens of thousands.
const MOST_INSTRUCTIONS: usize = 1 << 19;

/// Everything that `perftab annotate --json` prints.
#[derive(Serialize)]
struct Annotation {
    event: String,
    /// Samples that filters and steps leave.
    samples: u64,
    weight: u64,
    functions: Vec<AnnotatedFunction>,
}

/// A function of one DSO.
#[derive(Serialize)]
struct AnnotatedFunction {
    name: String,
    dso: String,
    build_id: Option<String>,
    /// What ended in it.
    #[serde(rename = "self")]
    self_weight: u64,
    self_samples: u64,
    /// Of all of its code, cold ones too; none if its file is not at hand.
    instructions: Vec<AnnotatedInstruction>,
    /// Those that its code is of, with what ended in the code of each.
    lines: Vec<AnnotatedLine>,
    /// The files that these are of.
    sources: Vec<SourceFile>,
}

#[derive(Serialize)]
struct AnnotatedInstruction {
    /// In the file's own addresses.
    #[serde(serialize_with = "serialize_hex")]
    address: u64,
    /// Null for bytes that are no instruction.
    text: Option<String>,
    /// The function that is inlined there; null in the function's own code.
    #[serde(serialize_with = "serialize_text")]
    inlined: Option<Rc<str>>,
    #[serde(serialize_with = "serialize_text")]
    file: Option<Rc<str>>,
    line: Option<NonZeroU32>,
    samples: u64,
    weight: u64,
}

#[derive(Serialize)]
struct AnnotatedLine {
    file: String,
    line: NonZeroU32,
    /// Null if the file is not at hand, or another one than was compiled.
    text: Option<String>,
    samples: u64,
    weight: u64,
}

#[derive(Serialize)]
struct SourceFile {
    path: String,
    /// Null if the file is not used.
    checked_by: Option<SourceCheck>,
    /// All of it: lines without code stand between those with code.
    #[serde(skip)]
    lines: Rc<[String]>,
}

fn serialize_hex<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{address:#x}"))
}

fn serialize_text<S: Serializer>(text: &Option<Rc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(serializer)
}

/// Prints the annotated code of the functions that are asked for, or of the hottest.
pub fn run(args: &AnnotateArgs) -> anyhow::Result<Outcome> {
    let (file, function) = operands(args);
    let input = InputArgs { file };
    let mut session = read_named(&input, &args.images, NamingDepth::Functions)?;
    let mut query = Query {
        event: event_number(&session, args.event.as_deref())?,
        direction: Direction::Callees,
        group: Group::None,
        inlines: Inlines::Merged,
        ..Query::default()
    };
    filter::apply(&args.filters, &session, &mut query)?;
    let limit = args.limit.unwrap_or(MOST_FUNCTIONS);
    let (mut annotation, hottest) = hottest(&mut session, &query);
    let wanted = match &function {
        None => hottest,
        Some(name) => filter::functions(&session, name).map_err(|error| {
            anyhow!("{error}; one that is inlined is a part of its caller here")
        })?,
    };
    let (files, reader) = (BTreeMap::new(), Sources::default());
    let mut sources = ReadSources { part: args.what(), files, reader };
    let mut without_code = Vec::new();
    for function in &wanted {
        if annotation.functions.len() >= limit {
            break;
        }
        if let Some(why) = why_no_code(&session, function) {
            without_code.push(why);
            continue;
        }
        for CodeHeat { dso, addresses } in session.code_heat(&query, function) {
            let place = Place { session: &session, recording: &input.file, dso };
            let functions = &mut annotation.functions;
            let why = place.annotate_all(function, &addresses, &mut sources, functions);
            without_code.extend(why);
        }
    }
    annotation.functions.truncate(limit);
    match (&annotation.functions[..], without_code.first(), &function) {
        ([], Some(why), _) => bail!("{why}"),
        ([], None, Some(name)) => bail!("no sample that is left ended in {name}"),
        ([], None, None) => bail!("no sample that is left ended in a function with a name"),
        // The hottest of them, if nobody asked for it.
        (_, Some(why), _) => output::notice(why),
        (_, None, _) => {}
    }
    let mut results = Results::new();
    if args.json {
        serde_json::to_writer(&mut results, &annotation).map_err(io::Error::from)?;
        writeln!(results)?;
    } else {
        text::write(&mut results, &annotation, args.what())?;
    }
    results.flush()?;
    sources.reader.report.say();
    Ok(finish_named(&session))
}

/// Functions in which samples ended, hottest first, with what there is of samples.
fn hottest(session: &mut Session, query: &Query) -> (Annotation, Vec<FunctionRef>) {
    let (key, direction) = (FunctionKey::SelfWeight, SortDirection::Descending);
    let report = session.report(query, FunctionOrder { key, direction }, usize::MAX);
    let annotation = Annotation {
        event: report.event.to_owned(),
        samples: report.samples,
        weight: report.weight,
        functions: Vec::new(),
    };
    let functions = report.functions.iter().filter(|function| function.self_weight > 0);
    let reference = |function: ReportFunction<'_>| {
        let path = function.dso?.to_owned();
        let build_id = function.build_id.map(|identity| identity.to_string());
        let name = Some(function.name?.into_owned());
        Some(FunctionRef { dso: DsoRef { path, build_id }, name, address: None })
    };
    (annotation, functions.filter_map(reference).collect())
}

/// Why the code of a function cannot be shown; `None` if a file is here that may have it.
fn why_no_code(session: &Session, function: &FunctionRef) -> Option<String> {
    let (id, dso) = session.profile().dsos.iter().find(|(_, dso)| function.dso.means(dso))?;
    let why = match dso.kind {
        DsoKind::Kernel | DsoKind::Module => {
            "a kernel changes its code while it runs, so its file does not say what ran"
        }
        DsoKind::User if session.image_name(id).is_some() => return None,
        DsoKind::User => "no file with its build-id is at hand; add it with --image",
        _ => "its code is in no file",
    };
    let name = function.name.as_deref().unwrap_or_default();
    Some(format!("{name} in {}: no instructions: {why}", dso.path))
}

/// The recording and the function. As with perf, a function may stand alone.
fn operands(args: &AnnotateArgs) -> (PathBuf, Option<String>) {
    let function = args.function.as_ref().or(args.symbol.as_ref()).cloned();
    let Some(file) = &args.file else { return (PathBuf::from(USUAL_NAME), function) };
    let (path, usual) = (Path::new(file), Path::new(USUAL_NAME));
    let may_be_read = path.exists() || file == "-" || is_link_argument(file.as_ref());
    match function.is_none() && !may_be_read && usual.exists() {
        true => (usual.to_path_buf(), Some(file.clone())),
        false => (path.to_path_buf(), function),
    }
}

/// Source files, each read once for all functions.
struct ReadSources {
    part: AnnotatedPart,
    /// `None` where the file is not used.
    files: BTreeMap<Rc<str>, Option<CheckedSource>>,
    reader: Sources,
}

/// The lines of a file, and what speaks for it.
type CheckedSource = (Rc<[String]>, SourceCheck);

/// Where code is looked for.
struct Place<'a> {
    session: &'a Session,
    recording: &'a Path,
    dso: DsoId,
}

impl Place<'_> {
    /// Annotates each piece of code that has the function's name, and says why one is left out. Of what is in no file,
    /// nothing is known.
    fn annotate_all(
        &self,
        function: &FunctionRef,
        heat: &[(u64, Amount)],
        read: &mut ReadSources,
        annotated: &mut Vec<AnnotatedFunction>,
    ) -> Option<String> {
        let mut rest = heat;
        let known: usize = annotated.iter().map(|known| known.instructions.len()).sum();
        let mut left = MOST_INSTRUCTIONS.saturating_sub(known);
        while let Some(&(first, _)) = rest.first() {
            let code = Instructions::at(self.session, self.dso, first);
            let is_in = |code: &Instructions, address| code.has(self.dso, address);
            let count = code.as_ref().map_or(1, |code| {
                rest.partition_point(|&(address, _)| is_in(code, address)).max(1)
            });
            let (of_code, behind) = rest.split_at(count);
            rest = behind;
            let Some(code) = code else { continue };
            match left.checked_sub(code.len()) {
                Some(still) => left = still,
                None => {
                    let name = function.name.as_deref().unwrap_or_default();
                    let most = grouped(MOST_INSTRUCTIONS as u64);
                    return Some(format!(
                        "{name} is left out: there would be more than {most} instructions"
                    ));
                }
            }
            annotated.push(self.annotate(function, of_code, &code, read));
        }
        None
    }

    fn annotate(
        &self,
        function: &FunctionRef,
        heat: &[(u64, Amount)],
        code: &Instructions,
        read: &mut ReadSources,
    ) -> AnnotatedFunction {
        let Self { session, recording, dso } = *self;
        let mut sums = vec![Amount::default(); code.len()];
        let (mut self_samples, mut self_weight) = (0, 0);
        for &(address, sum) in heat {
            self_samples += sum.samples;
            self_weight += sum.weight;
            if let Some(number) = code.number_around(address) {
                add(&mut sums[number], sum);
            }
        }
        let addresses: Vec<u64> =
            (0..code.len()).filter_map(|number| code.address(number)).collect();
        let origins = session.code_origins(dso, &addresses);
        let mut by_line: BTreeMap<CodeLine, Amount> = BTreeMap::new();
        let mut instructions = Vec::new();
        for (number, (sum, origin)) in sums.into_iter().zip(&origins).enumerate() {
            let line = &origin.line;
            if let Some(line) = line {
                add(by_line.entry(line.clone()).or_default(), sum);
            }
            instructions.push(AnnotatedInstruction {
                address: code.address_in_file(number).map_or(0, |address| address.0),
                text: code.text(session, number),
                inlined: origin.inlined.clone(),
                file: line.as_ref().map(|line| Rc::clone(&line.file)),
                line: line.as_ref().map(|line| line.line),
                samples: sum.samples,
                weight: sum.weight,
            });
        }
        let mut sources: Vec<SourceFile> = Vec::new();
        let mut lines = Vec::new();
        // Instructions alone need no file, and nobody is told of one.
        let by_line = Some(by_line).filter(|_| read.part != AnnotatedPart::Assembly);
        for (CodeLine { file, line }, sum) in by_line.unwrap_or_default() {
            if sources.last().is_none_or(|last| *last.path != *file) {
                if !read.files.contains_key(&*file) {
                    let is_of_file = |(_, origin): &(&u64, &CodeOrigin)| {
                        origin.line.as_ref().is_some_and(|line| line.file == file)
                    };
                    let place = addresses.iter().zip(&origins).find(is_of_file);
                    let place = place.map(|(&address, _)| (dso, address));
                    let content = read.reader.content(session, recording, &file, place.into_iter());
                    let lines = |text: String| text.lines().map(str::to_owned).collect();
                    read.files.insert(
                        Rc::clone(&file),
                        content.map(|(text, check)| (lines(text), check)),
                    );
                }
                let (lines, checked_by) = match read.files.get(&*file) {
                    Some(Some((lines, check))) => (Rc::clone(lines), Some(*check)),
                    _ => (Rc::default(), None),
                };
                sources.push(SourceFile { path: file.to_string(), checked_by, lines });
            }
            let text = sources.last().and_then(|source| source.line(line));
            let (samples, weight) = (sum.samples, sum.weight);
            let text = text.map(str::to_owned);
            lines.push(AnnotatedLine { file: file.to_string(), line, text, samples, weight });
        }
        let FunctionRef { dso, name, .. } = function;
        AnnotatedFunction {
            name: name.clone().unwrap_or_default(),
            dso: dso.path.clone(),
            build_id: dso.build_id.clone(),
            self_weight,
            self_samples,
            instructions,
            lines,
            sources,
        }
    }
}

fn add(to: &mut Amount, sum: Amount) {
    to.samples += sum.samples;
    to.weight = to.weight.saturating_add(sum.weight);
}

impl SourceFile {
    /// What stands in a line.
    fn line(&self, line: NonZeroU32) -> Option<&str> {
        self.lines.get(line.get() as usize - 1).map(String::as_str)
    }
}
