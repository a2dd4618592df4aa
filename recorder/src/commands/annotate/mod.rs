//! `perftab annotate`: where in the code of functions samples ended, by instruction and line of source.
//!
//! A function is what the linker knows, with all that is inlined into it, as in `perf annotate`. Addresses are those of
//! its file, as other disassemblies have them.

mod branches;
mod text;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Write};
use std::iter;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{anyhow, bail};
use perftab_core::session::{Amount, AnnotatedCode, CodeHeat, DecodedCode, Session, ShownBlock};
use perftab_core::{
    CodeLine, CodeOrigin, Direction, Dso, DsoId, DsoKind, FunctionCode, FunctionKey, FunctionOrder,
    FunctionRef, Group, Inlines, NamingDepth, Query, SortDirection,
};
use perftab_listing::instructions::Syntax;
use perftab_listing::source::SourceCheck;
use serde::{Serialize, Serializer};

use self::branches::{RanInstruction, TakenBranch};
use super::{doubts, event_number, filter, finish_named};
use crate::cli::{AnnotateArgs, AnnotatedPart};
use crate::images::{kernel_memory, search};
use crate::input::{Input, is_link_argument};
use crate::output::{self, Outcome, Results, grouped, printable};
use crate::place_texts::assembly::{Instructions, NameForm};
use crate::place_texts::source::{SourcePlaces, Sources};
use crate::recording::USUAL_NAME;

/// Functions that are annotated if none is named.
const MOST_FUNCTIONS: usize = 10;
/// Functions whose code is looked for in files that are here and is in none.
const MOST_WITHOUT_CODE: usize = 50;
/// Instructions of all functions: some 150 MB of memory. The longest functions have tens of thousands.
const MOST_INSTRUCTIONS: usize = 1 << 19;

/// Of longer instructions and lines of source the beginning is shown.
const MOST_CHARACTERS: usize = 300;
/// Why a kernel has no instructions.
const NO_VMLINUX: &str = "no file that is at hand has the kernel's code; name its vmlinux with --vmlinux, or keep its code with \
                          perftab buildid kcore";
/// Lines without code that are printed between two with code.
const MOST_BETWEEN: u32 = 200;

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
    /// Whether what ran may differ from its file.
    #[serde(skip)]
    code: FileCode,
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
    /// The one that it stands in itself.
    #[serde(skip)]
    own_file: Option<String>,
}

/// What a file says of the code that ran.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileCode {
    /// All of it.
    AsItRan,
    /// How a kernel begins, which changes some of its code.
    BeforeBoot,
    /// All of a kernel, as it lay in memory.
    InMemory,
    /// A process wrote it into its jitdump.
    Made,
}

impl AnnotatedFunction {
    /// Whether anything says how often its instructions ran.
    fn has_branches(&self) -> bool {
        self.instructions.first().is_some_and(|first| first.ran.is_some())
    }
}

#[derive(Serialize)]
struct AnnotatedInstruction {
    /// In the file's own addresses.
    #[serde(serialize_with = "serialize_hex")]
    address: u64,
    /// Null for bytes that are no instruction.
    text: Option<String>,
    /// What it refers to besides where it leads: a name, a text in quotes, or both.
    refers_to: Option<String>,
    /// The function that is inlined there; null in the function's own code.
    #[serde(serialize_with = "serialize_text")]
    inlined: Option<Rc<str>>,
    #[serde(serialize_with = "serialize_text")]
    file: Option<Rc<str>>,
    line: Option<NonZeroU32>,
    samples: u64,
    weight: u64,
    /// What branches say of it, where they were recorded.
    #[serde(flatten)]
    ran: Option<RanInstruction>,
}

#[derive(Serialize)]
struct AnnotatedLine {
    file: String,
    line: NonZeroU32,
    /// Null if the file is not at hand, or another one than was compiled.
    text: Option<String>,
    samples: u64,
    weight: u64,
    /// How often the instruction of it ran that ran most often, where branches were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    executions: Option<u64>,
}

#[derive(Serialize)]
struct SourceFile {
    path: String,
    /// Null if the file is not used.
    checked_by: Option<SourceCheck>,
    /// What stands in lines with code, and between them where that is not much.
    #[serde(skip)]
    lines: BTreeMap<NonZeroU32, String>,
}

fn serialize_hex<S: Serializer>(address: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{address:#x}"))
}

fn serialize_text<S: Serializer>(text: &Option<Rc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(serializer)
}

/// Prints the annotated code of the functions that are asked for, or of the hottest.
pub fn run(args: &AnnotateArgs) -> anyhow::Result<Outcome> {
    // What nothing identifies gives names, each marked, and never code: other instructions than ran would look like them.
    if args.images.trust_paths {
        bail!(
            "annotate does not take --trust-paths: without a build-id nothing shows that a file is what ran, so it can give \
             names, but no instructions. perftab report --trust-paths prints the names"
        );
    }
    let (file, function) = operands(args);
    let input = Input::open(&file)?;
    let mut session = input.read(args.images.images.this_machine())?;
    session.set_naming_depth(NamingDepth::Functions);
    let event = event_number(&session, args.event.as_deref())?;
    let branches = branches::read(args, input.recording(), &mut session, event)?;
    search::name_frames(&mut session, input.recording(), &args.images)?;
    kernel_memory::offer(&mut session, &args.images.images);
    let mut query = Query {
        event,
        direction: Direction::Callees,
        group: Group::None,
        inlines: Inlines::Merged,
        ..Query::default()
    };
    filter::apply(&args.filters, &session, &mut query)?;
    let limit =
        args.limit.map_or(MOST_FUNCTIONS, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let (mut annotation, hottest) = hottest(&mut session, &query);
    let wanted = match &function {
        None => hottest,
        Some(name) => filter::functions(&session, name).map_err(|error| {
            // Why it may have no name.
            doubts::say(&session);
            anyhow!("{error}; one that is inlined is a part of its caller here")
        })?,
    };
    let places = SourcePlaces::new(&args.sources, &args.images.images);
    let names_of_targets = if args.json { NameForm::Whole } else { NameForm::Short };
    let form = (args.disassembler_style, names_of_targets);
    let (part, reader) = (args.what(), Sources::of(places));
    let mut sources = ReadSources { part, reader, form };
    let mut without_code = Vec::new();
    // All samples are gone through for each.
    let mut tries = limit.saturating_add(MOST_WITHOUT_CODE);
    for function in &wanted {
        if annotation.functions.len() >= limit || tries == 0 {
            break;
        }
        if let Some(why) = why_no_code(&session, function) {
            without_code.push(why);
            continue;
        }
        tries -= 1;
        for CodeHeat { dso, addresses } in session.code_heat(&query, function) {
            let blocks = branches.as_ref();
            let blocks = blocks.map(|sums| branches::blocks_in(&session, sums, function, dso));
            let place = Place { session: &session, recording: &file, dso, blocks };
            let functions = &mut annotation.functions;
            let why = place.annotate_all(function, &addresses, &mut sources, functions);
            without_code.extend(why);
        }
    }
    // Pieces of one name come in the order of their addresses.
    annotation.functions.sort_by_key(|function| Reverse(function.self_weight));
    annotation.functions.truncate(limit);
    match (&annotation.functions[..], without_code.first(), &function) {
        ([], Some(why), _) => bail!("{why}"),
        ([], None, Some(name)) => bail!("no sample that is left ended in {name}"),
        ([], None, None) => bail!("no sample that is left ended in a function with a name"),
        // The hottest of them, if nobody asked for it.
        (_, Some(why), _) => output::notice(why),
        (_, None, _) => {}
    }
    if args.what() == AnnotatedPart::Source
        && annotation.functions.iter().all(|function| function.lines.is_empty())
    {
        bail!("no file tells the lines of this code; --asm prints its instructions");
    }
    let is_for_people = !args.json && !args.stdio;
    let mut results = if is_for_people { Results::paged() } else { Results::new() };
    if args.json {
        serde_json::to_writer(&mut results, &annotation).map_err(io::Error::from)?;
        writeln!(results)?;
    } else {
        text::write(&mut results, &annotation, args.what(), args.number())?;
    }
    results.end()?;
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
    let functions = report.functions.ended_in().collect();
    (annotation, functions)
}

/// Why the code of a function cannot be shown; `None` if a file is here that may have it.
fn why_no_code(session: &Session, function: &FunctionRef) -> Option<String> {
    // The recording may have a jitdump as a file that was mapped, too: that one has no code of its own.
    let mut meant = session.profile().dsos.iter().filter(|(_, dso)| function.dso.means(dso));
    let first = meant.next()?;
    let is_it = |(_, dso): &(DsoId, &Dso)| dso.path == function.dso.path;
    let (id, dso) = if is_it(&first) { first } else { meant.find(is_it).unwrap_or(first) };
    let why = match dso.kind {
        DsoKind::User if session.image_name(id).is_some() => return None,
        DsoKind::Kernel if session.fidelity().is_none() => return None,
        _ if session.fidelity().is_some() => {
            "a link has none of whole functions; use the recording"
        }
        DsoKind::User if dso.identity.is_none() => {
            "it was recorded without a build-id, so no file is known to have its code"
        }
        DsoKind::User => "no file with its build-id is at hand; add it with --image",
        DsoKind::Jit if session.has_jitdump(id) => return None,
        DsoKind::Jit => "a perf map has names alone; a jitdump has code, too",
        DsoKind::Module => "the code of a module has its addresses only once it is loaded",
        _ => "its code is in no file",
    };
    Some(format!("{} in {}: no instructions: {why}", shown(function), dso.path))
}

/// The recording and the function. As with perf, a function may stand alone.
fn operands(args: &AnnotateArgs) -> (PathBuf, Option<String>) {
    let function = args.function.as_ref().or(args.symbol.as_ref()).cloned();
    if let Some(input) = &args.input {
        return (input.clone(), function.or_else(|| args.file.clone()));
    }
    let Some(file) = &args.file else { return (PathBuf::from(USUAL_NAME), function) };
    let (path, usual) = (Path::new(file), Path::new(USUAL_NAME));
    let may_be_read = path.exists() || file == "-" || is_link_argument(file.as_ref());
    match function.is_none() && !may_be_read && usual.exists() {
        true => (usual.to_path_buf(), Some(file.clone())),
        false => (path.to_path_buf(), function),
    }
}

/// What is read of source files, and how instructions are written.
struct ReadSources {
    part: AnnotatedPart,
    reader: Sources,
    form: (Syntax, NameForm),
}

/// Where code is looked for.
struct Place<'a> {
    session: &'a Session,
    recording: &'a Path,
    dso: DsoId,
    /// Those of the function that ran; `None` where no branches were recorded.
    blocks: Option<Vec<ShownBlock>>,
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
            let Some((code, from)) = self.code(first) else {
                let dso = self.session.profile().dsos.get(self.dso);
                let why = match dso.kind {
                    DsoKind::Kernel => NO_VMLINUX,
                    DsoKind::Jit => "its jitdump cannot be read where it was",
                    _ => "no file that is at hand has its code; add the binary with --image",
                };
                let path = &dso.path;
                return Some(format!("{} in {path}: no instructions: {why}", shown(function)));
            };
            let FunctionCode { start, bytes, .. } = code.code();
            let (start, length) = (*start, bytes.len() as u64);
            let decoded = DecodedCode { dso: self.dso, start, length, starts: code.starts() };
            let of_code = self.session.annotated(decoded, rest);
            if of_code.taken == 0 {
                return Some(format!(
                    "{}: of a function the first 4 MiB are shown, and samples ended behind these",
                    shown(function)
                ));
            }
            rest = rest.get(of_code.taken..).unwrap_or_default();
            let Some(still) = left.checked_sub(code.len()) else {
                let most = grouped(MOST_INSTRUCTIONS as u64);
                let name = shown(function);
                return Some(format!("{name}: left out beyond {most} instructions in all"));
            };
            left = still;
            annotated.push(self.annotate(function, of_code, (&code, from), read));
        }
        None
    }

    /// The code at an address, and what it is.
    fn code(&self, at: u64) -> Option<(Instructions, FileCode)> {
        let &Self { session, dso, .. } = self;
        match session.profile().dsos.get(dso).kind {
            DsoKind::Jit => Some((Instructions::made(session, dso, at)?, FileCode::Made)),
            DsoKind::Kernel => {
                let in_memory = Instructions::in_memory(session, dso, at)
                    .map(|code| (code, FileCode::InMemory));
                in_memory
                    .or_else(|| Some((Instructions::at(session, dso, at)?, FileCode::BeforeBoot)))
            }
            _ => Some((Instructions::at(session, dso, at)?, FileCode::AsItRan)),
        }
    }

    fn annotate(
        &self,
        function: &FunctionRef,
        annotated: AnnotatedCode,
        (code, from): (&Instructions, FileCode),
        read: &mut ReadSources,
    ) -> AnnotatedFunction {
        let &Self { session, recording, dso, .. } = self;
        let own_file = annotated.own_file().map(|file| printable(file).into_owned());
        let AnnotatedCode { all, instructions: of_code, lines: by_line, files, .. } = annotated;
        let ran = self.blocks.as_ref().map(|blocks| branches::by_instruction(code, blocks));
        let mut ran_lines: BTreeMap<CodeLine, u64> = BTreeMap::new();
        let mut names = ShownNames::default();
        let mut instructions = Vec::new();
        for (number, (CodeOrigin { inlined, line }, sum)) in of_code.into_iter().enumerate() {
            let ran = ran.as_ref().and_then(|ran| ran.get(number)).copied();
            if let Some((RanInstruction { executions, .. }, line)) = ran.zip(line.clone()) {
                let most = ran_lines.entry(line).or_default();
                *most = executions.max(*most);
            }
            let shown = code.shown(session, number, read.form);
            let (text, refers_to) = shown.map(|it| (it.text, it.refers_to)).unzip();
            instructions.push(AnnotatedInstruction {
                address: code.address_in_file(number).map_or(0, |address| address.0),
                text: text.map(|text| cut(&text)),
                refers_to: refers_to.flatten().map(|text| cut(&text)),
                inlined: inlined.map(|name| names.shown(name)),
                file: line.as_ref().map(|line| names.shown(Rc::clone(&line.file))),
                line: line.as_ref().map(|line| line.line),
                samples: sum.samples,
                weight: sum.weight,
                ran,
            });
        }
        // Instructions alone need no file, and nobody is told of one.
        let files = Some(files).filter(|_| read.part != AnnotatedPart::Assembly);
        let (mut sources, mut lines) = (Vec::new(), Vec::new());
        let mut by_line = by_line.into_iter().peekable();
        for (file, address) in files.unwrap_or_default() {
            let of_file: Vec<_> =
                iter::from_fn(|| by_line.next_if(|(line, _)| line.file == file)).collect();
            let places = iter::once((dso, address));
            let content = read.reader.content(session, recording, &file, places);
            let numbers = of_file.iter().map(|(line, _)| line.line);
            let source = SourceFile::of(&file, numbers, content);
            for (place, Amount { samples, weight }) in of_file {
                let line = place.line;
                let (file, text) = (source.path.clone(), source.line(line).map(str::to_owned));
                let executions = ran_lines.get(&place).copied();
                lines.push(AnnotatedLine { file, line, text, samples, weight, executions });
            }
            sources.push(source);
        }
        sources.sort_by(|one, other| one.path.cmp(&other.path));
        let dso = &function.dso;
        AnnotatedFunction {
            name: shown(function),
            dso: printable(&dso.path).into_owned(),
            build_id: dso.build_id.clone(),
            code: from,
            self_weight: all.weight,
            self_samples: all.samples,
            instructions,
            lines,
            sources,
            own_file,
        }
    }
}

/// Names and paths as they are shown, each once.
#[derive(Default)]
struct ShownNames(BTreeMap<Rc<str>, Rc<str>>);

impl ShownNames {
    fn shown(&mut self, name: Rc<str>) -> Rc<str> {
        let shown = |name: &Rc<str>| match printable(name) {
            Cow::Borrowed(_) => Rc::clone(name),
            Cow::Owned(shown) => shown.into(),
        };
        let known = self.0.entry(name);
        Rc::clone(match known {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let shown = shown(unknown.key());
                unknown.insert(shown)
            }
        })
    }
}

/// What a function is called on screen.
fn shown(function: &FunctionRef) -> String {
    printable(function.name.as_deref().unwrap_or_default()).into_owned()
}

/// A text on one line of a terminal, if that is wide.
fn cut(text: &str) -> String {
    output::shortened(&printable(text), MOST_CHARACTERS)
}

/// A line of source, with spaces for tabs.
fn line_of_source(text: &str) -> String {
    let mut spaced = String::new();
    let mut column = 0;
    for sign in text.chars().take(MOST_CHARACTERS + 1) {
        let width = if sign == '\t' { 8 - column % 8 } else { 1 };
        match sign {
            '\t' => spaced.extend(iter::repeat_n(' ', width)),
            sign => spaced.push(sign),
        }
        column += width;
    }
    cut(&spaced)
}

impl SourceFile {
    /// Of lines with code, ascending, what stands in them and between them.
    fn of(
        path: &str,
        lines: impl Iterator<Item = NonZeroU32>,
        content: Option<(String, SourceCheck)>,
    ) -> Self {
        let path = printable(path).into_owned();
        let Some((content, check)) = content else {
            return Self { path, checked_by: None, lines: BTreeMap::new() };
        };
        let mut wanted = lines.peekable();
        let mut last: Option<NonZeroU32> = None;
        let mut kept = BTreeMap::new();
        for (number, text) in (1..=u32::MAX).filter_map(NonZeroU32::new).zip(content.lines()) {
            let Some(&next) = wanted.peek() else { break };
            let is_near = last.is_some_and(|last| next.get() - last.get() <= MOST_BETWEEN + 1);
            if number == next || is_near {
                kept.insert(number, line_of_source(text));
            }
            if number == next {
                last = wanted.next();
            }
        }
        Self { path, checked_by: Some(check), lines: kept }
    }

    /// What stands in a line.
    fn line(&self, line: NonZeroU32) -> Option<&str> {
        self.lines.get(&line).map(String::as_str)
    }
}
