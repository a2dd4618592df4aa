//! Every text of a snapshot as it is written: what may not be told is taken out here, and nowhere
//! else. A [`RedactedText`] can be made here only, and nothing else is ever written as a text.
//!
//! All texts of the profile are made at once, whatever of it is kept: so a name is called the same
//! in every link of one profile.

mod redacted_text;

use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::sort_by_key;
use std::num::NonZeroU32;

pub(crate) use self::redacted_text::RedactedText;
pub use self::redacted_text::{Part, ProfileTextCounts, RenamedText, SharedPart, SharedTexts};
use perftab_names::{ByFunction, FileId, FunctionId};
use perftab_perfdata::text::printable;
use perftab_profile::{Dso, DsoId, DsoKind, EventId, StringId};
use perftab_views::hot_lines::SourceLine;
use perftab_views::label::{Kind, Labels, OwnCode, is_system};

use crate::privacy::{
    Aliases, Disclosure, Draft, Folders, Line, Privacy, Redactor, file_name, numbered,
};
use crate::{Contents, FOLDED, MAX_WARNINGS, ShareOptions, view_text};

/// Words of a warning whose own are not told.
const LEFT_OUT: &str = "The sender left out this text.";
/// The field of a view with what was searched for.
const SEARCH: &str = "search";
/// What stands for the name of the host in messages.
const HOST: &str = "[host]";

/// All texts of a profile that are told. They are copies, so that a link is made while the profile goes on
/// being used.
pub(crate) struct Texts {
    lines: Map<Slot, Line<'static>>,
    /// By DSO: where its path stands among all, by alphabet.
    ranks: Vec<usize>,
    /// By function: what its name is.
    functions: ByFunction<Part>,
    /// What is counted beside them.
    profile: ProfileTextCounts,
}

/// Where a text belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Slot {
    Task(StringId),
    Function(FunctionId),
    Path(DsoId),
    Reason(DsoId),
    Image(DsoId),
    Found(DsoId),
    File(FileId),
    Line(FileId, NonZeroU32),
    Instruction(DsoId, u64),
    Event(EventId),
    Warning(usize),
    HostName,
    Kernel,
    Architecture,
    Argument(usize),
    View,
    Title,
    Recorder,
}

impl Slot {
    fn part(self, function: impl Fn(FunctionId) -> Part) -> Part {
        match self {
            Self::Function(id) => function(id),
            Self::Task(_) => Part::Process,
            Self::Path(_) => Part::Dso,
            Self::Reason(_) | Self::Image(_) | Self::Found(_) => Part::Note,
            Self::File(_) => Part::File,
            Self::Line(..) => Part::Source,
            Self::Instruction(..) => Part::Assembly,
            Self::Event(_) => Part::Event,
            Self::Warning(_) => Part::Warning,
            Self::HostName | Self::Kernel | Self::Architecture => Part::Host,
            Self::Argument(_) => Part::CommandLine,
            Self::View => Part::View,
            Self::Title => Part::Title,
            Self::Recorder => Part::Recorder,
        }
    }
}

impl Texts {
    /// All that may be told of a profile.
    pub fn new(contents: &Contents<'_>, options: &ShareOptions) -> Self {
        let privacy = &options.privacy;
        let folders = match privacy.folders {
            Disclosure::Included => None,
            Disclosure::LeftOut => Some(Folders::of(paths(contents))),
        };
        let mut redactor = Redactor::new(folders, &privacy.renames);
        if privacy.build_ids == Disclosure::LeftOut {
            redactor.hide_ids(ids(contents));
        }
        let of_dso = parts_of_functions(contents, &OwnCode::named(contents.profile, &options.own));
        let mut drafts =
            Drafts { contents: *contents, privacy, of_dso, redactor, drafts: Vec::new() };
        drafts.add_all();
        let Drafts { of_dso, redactor, drafts, .. } = drafts;
        let aliases = Aliases::new(&privacy.renames, drafts.iter().map(|(_, draft)| draft));
        let mut lines: Map<Slot, Line<'_>> =
            drafts.into_iter().map(|(slot, draft)| (slot, aliases.line(draft))).collect();
        let view = view(contents, options, &lines, |name| aliases.line(redactor.message(name)));
        lines.insert(Slot::View, Line { text: view.into(), was: None });
        if let Some(title) = options.told_title() {
            lines.insert(Slot::Title, aliases.line(redactor.message(title)));
        }

        let path = |dso: &usize| lines.get(&Slot::Path(DsoId(*dso as u32))).map(|line| &*line.text);
        let mut order: Vec<usize> = (0..contents.profile.dsos.len()).collect();
        sort_by_key(&mut order, path);
        let mut ranks = vec![0; order.len()];
        for (rank, dso) in order.into_iter().enumerate() {
            ranks[dso] = rank;
        }
        let symbols = contents.symbols;
        let mut functions = ByFunction::new(Part::OwnFunction);
        for id in symbols.function_ids() {
            *functions.get_mut(id) = of_dso[symbols.function(id).dso.index()];
        }
        let lines = lines.into_iter().map(|(slot, line)| (slot, line.into_owned())).collect();
        Self { lines, ranks, functions, profile: in_profile(contents) }
    }

    fn redacted(&self, slot: Slot) -> Option<RedactedText<'_>> {
        let function = |id: FunctionId| self.functions.get(id);
        self.lines.get(&slot).map(|line| RedactedText::new(slot.part(function), line))
    }

    /// What a DSO is called.
    pub fn path(&self, dso: DsoId) -> RedactedText<'_> {
        self.redacted(Slot::Path(dso)).unwrap_or_default()
    }

    /// Where a DSO stands among all, by what they are called.
    pub fn rank(&self, dso: DsoId) -> usize {
        self.ranks[dso.index()]
    }

    /// Why a DSO has no names.
    pub fn reason(&self, dso: DsoId) -> Option<RedactedText<'_>> {
        self.redacted(Slot::Reason(dso))
    }

    /// The file that gave a DSO its names.
    pub fn image(&self, dso: DsoId) -> Option<RedactedText<'_>> {
        self.redacted(Slot::Image(dso))
    }

    /// The identity of a file that was refused.
    pub fn found(&self, dso: DsoId) -> Option<RedactedText<'_>> {
        self.redacted(Slot::Found(dso))
    }

    /// What a function is called, if it has a name.
    pub fn function(&self, function: FunctionId) -> Option<RedactedText<'_>> {
        self.redacted(Slot::Function(function))
    }

    /// A source file.
    pub fn file(&self, file: FileId) -> Option<RedactedText<'_>> {
        self.redacted(Slot::File(file))
    }

    /// What stands at a line of source.
    pub fn line(&self, at: SourceLine) -> Option<RedactedText<'_>> {
        self.redacted(Slot::Line(at.file?, at.line?))
    }

    /// What stands at an address.
    pub fn instruction(&self, dso: DsoId, address: u64) -> Option<RedactedText<'_>> {
        self.redacted(Slot::Instruction(dso, address))
    }

    /// What processes and threads of this name are called.
    pub fn task(&self, name: StringId) -> RedactedText<'_> {
        self.redacted(Slot::Task(name)).unwrap_or_default()
    }

    /// What an event is called.
    pub fn event(&self, event: EventId) -> RedactedText<'_> {
        self.redacted(Slot::Event(event)).unwrap_or_default()
    }

    /// What a warning says.
    pub fn warning(&self, number: usize) -> RedactedText<'_> {
        self.redacted(Slot::Warning(number)).unwrap_or_default()
    }

    /// Host name, kernel release and architecture.
    pub fn host(&self) -> [Option<RedactedText<'_>>; 3] {
        [Slot::HostName, Slot::Kernel, Slot::Architecture].map(|slot| self.redacted(slot))
    }

    /// The recorder's arguments; none if they are not told.
    pub fn command_line(&self) -> impl Iterator<Item = RedactedText<'_>> {
        (0..).map_while(|number| self.redacted(Slot::Argument(number)))
    }

    /// The list of what was written.
    pub fn list(&self, written: &[RedactedText<'_>]) -> SharedTexts {
        SharedTexts::of(written, self.profile)
    }

    /// What the sender calls it, and the version of what recorded it.
    pub fn about(&self) -> [Option<RedactedText<'_>>; 2] {
        [Slot::Title, Slot::Recorder].map(|slot| self.redacted(slot))
    }

    /// How the sender looks at it.
    pub fn view(&self) -> RedactedText<'_> {
        self.redacted(Slot::View).unwrap_or_default()
    }
}

fn in_profile(contents: &Contents<'_>) -> ProfileTextCounts {
    let Contents { profile, .. } = contents;
    let own = profile.dsos.iter().filter(|(_, dso)| is_file(dso) && !is_system(dso));
    let files = files(contents);
    let paths = own.map(|(_, dso)| dso.path.as_str()).chain(files.iter().map(|it| it.1));
    let folders: Set<&str> = paths.filter_map(|path| Some(path.rsplit_once('/')?.0)).collect();
    let host = &profile.host;
    let texts = [&host.hostname, &host.os_release, &host.arch];
    let known = texts.into_iter().flatten().count() + usize::from(host.cpus.is_some());
    let identities = profile.dsos.iter().filter(|(_, dso)| dso.identity.is_some());
    ProfileTextCounts {
        folders: folders.len() as u32,
        identities: identities.count() as u32,
        arguments: host.cmdline.len() as u32,
        lines: contents.facts.texts.lines().count() as u32,
        instructions: contents.facts.texts.instructions().count() as u32,
        host: known as u32,
    }
}

/// How the sender looks at it: names in it are told as they are elsewhere, and `other` tells what is
/// none.
fn view(
    contents: &Contents<'_>,
    options: &ShareOptions,
    lines: &Map<Slot, Line<'_>>,
    other: impl Fn(&str) -> Line<'_>,
) -> String {
    if options.view.is_empty() {
        return String::new();
    }
    let privacy = &options.privacy;
    let names = [privacy.own_functions, privacy.system_functions, privacy.dsos, privacy.processes];
    let dsos = contents.profile.dsos.iter();
    let paths = dsos.map(|(id, dso)| (dso.path.as_str(), &lines[&Slot::Path(id)]));
    let renamed = lines.values().filter_map(|line| Some((line.was.as_deref()?, line)));
    let known: Map<&str, &Line<'_>> = renamed.chain(paths).collect();
    view_text::redact_view(&options.view, |field, name| {
        // A part of a name finds it too.
        if field == SEARCH && names.contains(&Disclosure::LeftOut) {
            return Some(String::new());
        }
        let redacted = known.get(name).map_or_else(|| other(name).text, |line| line.text.clone());
        (redacted != name).then(|| redacted.into_owned())
    })
}

/// By DSO, what names of its functions are.
fn parts_of_functions(contents: &Contents<'_>, own: &OwnCode) -> Vec<Part> {
    let labels = Labels::new(contents.profile, contents.symbols).counting(own);
    let part = |dso| match labels.dso_kind(dso) {
        Kind::Own | Kind::Jit => Part::OwnFunction,
        Kind::System | Kind::Kernel => Part::SystemFunction,
        // No code: what it is called is ours.
        Kind::Folded | Kind::Pseudo | Kind::Unnamed => Part::Note,
    };
    contents.profile.dsos.iter().map(|(dso, _)| part(dso)).collect()
}

/// Where files are that a profile knows of.
fn paths<'c>(contents: &Contents<'c>) -> impl Iterator<Item = &'c str> {
    let Contents { profile, ledger, .. } = *contents;
    let dsos = profile.dsos.iter().flat_map(move |(id, dso)| {
        [Some(dso.path.as_str()), ledger.row(id).image.as_deref()].into_iter().flatten()
    });
    dsos.chain(files(contents).into_iter().map(|(_, path)| path))
}

/// Source files of all frames.
fn files<'c>(contents: &Contents<'c>) -> Vec<(FileId, &'c str)> {
    let Contents { profile, symbols, .. } = *contents;
    let levels = profile.frames.iter().flat_map(|(frame, _)| symbols.levels(frame));
    let met = levels.filter_map(|level| level.file).chain(contents.facts.heat.files());
    let met: Set<FileId> = met.collect();
    met.into_iter().map(|file| (file, symbols.file(file))).collect()
}

/// Identities in hex.
fn ids<'c>(contents: &Contents<'c>) -> impl Iterator<Item = String> {
    let Contents { profile, ledger, .. } = *contents;
    profile.dsos.iter().flat_map(move |(id, dso)| {
        let recorded = dso.identity.map(|identity| identity.to_string());
        recorded.into_iter().chain(ledger.row(id).found.clone())
    })
}

/// Texts being made.
struct Drafts<'c, 'o> {
    contents: Contents<'c>,
    privacy: &'o Privacy,
    /// By DSO, what names of its functions are.
    of_dso: Vec<Part>,
    redactor: Redactor<'c, 'o>,
    drafts: Vec<(Slot, Draft<'c>)>,
}

impl<'c> Drafts<'c, '_> {
    /// Names first: those that are not told are not told in messages either.
    fn add_all(&mut self) {
        self.add_dsos();
        self.add_tasks();
        self.add_functions();
        self.add_files();
        for (index, event) in self.contents.profile.events.iter().enumerate() {
            self.add(Slot::Event(EventId(index as u32)), self.redactor.name(&event.name));
        }
        self.add_host();
        self.add_messages();
        self.add_places();
        if let Some(version) = self.contents.profile.recorder.version.as_deref() {
            self.add(Slot::Recorder, self.redactor.message(version));
        }
    }

    fn add(&mut self, slot: Slot, draft: Draft<'c>) {
        self.drafts.push((slot, draft));
    }

    fn path(&self, dso: &'c Dso) -> &'c str {
        if is_system(dso) { &dso.path } else { self.redactor.file_name(&dso.path) }
    }

    fn add_dsos(&mut self) {
        let Contents { profile, ledger, .. } = self.contents;
        let files = profile.dsos.iter().filter(|(_, dso)| is_file(dso));
        let hidden = match self.privacy.dsos {
            Disclosure::Included => Map::new(),
            Disclosure::LeftOut => numbered("dso", files.map(|(_, dso)| self.path(dso))),
        };
        for (&path, alias) in &hidden {
            self.redactor.hide(file_name(path), alias);
        }
        for (id, dso) in profile.dsos.iter() {
            let path = self.path(dso);
            let draft = match hidden.get(path) {
                _ if !is_file(dso) => self.redactor.name(&dso.path),
                None => self.redactor.file(path),
                // In this folder it looks like what it is.
                Some(alias) if is_system(dso) => {
                    Draft::of_alias(path, &format!("/usr/lib/{alias}.so"))
                }
                Some(alias) => Draft::of_alias(path, alias),
            };
            self.add(Slot::Path(id), draft);
            let row = ledger.row(id);
            if let Some(image) =
                row.image.as_deref().filter(|_| self.privacy.dsos == Disclosure::Included)
            {
                let image = self.redactor.file_name(image);
                self.add(Slot::Image(id), self.redactor.file(image));
            }
            let is_included = self.privacy.build_ids == Disclosure::Included;
            if let Some(found) = row.found.as_deref().filter(|_| is_included) {
                self.add(Slot::Found(id), Draft::new(found.into()));
            }
        }
    }

    fn add_tasks(&mut self) {
        let Contents { profile, .. } = self.contents;
        let text = |name: &StringId| profile.strings.get(*name);
        let names = (0..profile.strings.len() as u32).map(StringId);
        if self.privacy.processes == Disclosure::Included {
            names.for_each(|name| self.add(Slot::Task(name), self.redactor.name(text(&name))));
            return;
        }
        let is_name = |name: &&str| *name != FOLDED;
        let processes = profile.threads.processes.iter().map(|process| text(&process.name));
        let mut hidden = numbered("process", processes.filter(is_name));
        let others = names.clone().map(|name| text(&name)).filter(is_name);
        let others = numbered("thread", others.filter(|name| !hidden.contains_key(name)));
        hidden.extend(others);
        for name in names {
            let draft = match hidden.get(text(&name)) {
                Some(alias) => Draft::of_alias(text(&name), alias),
                None => Draft::new(text(&name).into()),
            };
            self.add(Slot::Task(name), draft);
        }
        self.hide_in_messages(hidden);
    }

    /// Messages were made fit to be shown already.
    fn hide_in_messages(&mut self, hidden: Map<&'c str, String>) {
        for (name, alias) in hidden {
            let shown = printable(name);
            if shown != name {
                self.redactor.hide(shown, &alias);
            }
            self.redactor.hide(name, &alias);
        }
    }

    fn add_functions(&mut self) {
        let Contents { symbols, .. } = self.contents;
        let disclosure_of = |part| match part {
            Part::OwnFunction => self.privacy.own_functions,
            Part::SystemFunction => self.privacy.system_functions,
            _ => Disclosure::Included,
        };
        let of_dso = self.of_dso.clone();
        let functions = symbols.function_ids();
        let named = functions.filter_map(|id| {
            let function = symbols.function(id);
            Some((id, function.name?, of_dso[function.dso.index()]))
        });
        let is_hidden = |part| disclosure_of(part) == Disclosure::LeftOut;
        let hidden = named.clone().filter(|&(_, _, part)| is_hidden(part));
        let hidden = numbered("function", hidden.map(|(_, name, _)| name));
        for (id, name, part) in named {
            let draft = match (hidden.get(name), part) {
                (Some(alias), _) if is_hidden(part) => Draft::of_alias(name, alias),
                // What is said of a stack may name a DSO.
                (_, Part::Note) => self.redactor.message(name),
                _ => self.redactor.name(name),
            };
            self.add(Slot::Function(id), draft);
        }
    }

    fn add_files(&mut self) {
        if self.privacy.files == Disclosure::LeftOut {
            return;
        }
        for (id, path) in files(&self.contents) {
            let name = self.redactor.file_name(path);
            self.add(Slot::File(id), self.redactor.file(name));
        }
    }

    /// What stands at lines and addresses may name anything.
    fn add_places(&mut self) {
        let texts = &self.contents.facts.texts;
        if self.privacy.source() == Disclosure::Included {
            for (file, line, text) in texts.lines() {
                self.add(Slot::Line(file, line), self.redactor.source(text));
            }
        }
        if self.privacy.assembly() == Disclosure::Included {
            for (dso, address, text) in texts.instructions() {
                self.add(Slot::Instruction(dso, address), self.redactor.message(text));
            }
        }
    }

    fn add_host(&mut self) {
        let host = &self.contents.profile.host;
        if self.privacy.command_line == Disclosure::Included {
            for (index, argument) in host.cmdline.iter().enumerate() {
                self.add(Slot::Argument(index), self.redactor.argument(argument));
            }
        }
        let texts = [
            (Slot::HostName, &host.hostname),
            (Slot::Kernel, &host.os_release),
            (Slot::Architecture, &host.arch),
        ];
        for (slot, text) in texts {
            match (text.as_deref(), self.privacy.host) {
                (Some(text), Disclosure::Included) => self.add(slot, self.redactor.name(text)),
                (Some(text), Disclosure::LeftOut) => self.redactor.hide(text, HOST),
                (None, _) => {}
            }
        }
    }

    fn add_messages(&mut self) {
        let Contents { profile, ledger, warnings, .. } = self.contents;
        for (id, _) in profile.dsos.iter() {
            if let Some(reason) = ledger.row(id).reason.as_deref() {
                self.add(Slot::Reason(id), self.redactor.message(reason));
            }
        }
        for (index, warning) in warnings.iter().take(MAX_WARNINGS).enumerate() {
            let draft = match self.privacy.warnings {
                Disclosure::Included => self.redactor.message(&warning.message),
                Disclosure::LeftOut => Draft::new(LEFT_OUT.into()),
            };
            self.add(Slot::Warning(index), draft);
        }
    }
}

/// Whether a DSO is called what a file is called. What others are called is told by their kind.
fn is_file(dso: &Dso) -> bool {
    matches!(dso.kind, DsoKind::User | DsoKind::Module | DsoKind::Jit)
}
