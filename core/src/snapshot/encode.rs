//! Writes a snapshot: as much of the call tree as fits.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::NonZeroU32;

use super::codes::{self, code, gives_code};
use super::fields::{Field, Writer, zigzag};
use super::selection::{Order, Selection};
use super::tree::Tree;
use super::{
    Contents, FOLDED, Fidelity, HostFields, LeftOut, MAX_DSOS, MAX_INFLATED, MAX_WARNINGS, Options,
    Paths, Shared, TooSmall,
};
use super::{container, fields};
use crate::profile::{Dso, DsoId, DsoKind, EventOrigin, Identity};
use crate::symbolize::{FileId, FunctionId};
use crate::views::call_tree::Label;
use crate::views::coverage::FrameCoverage;
use crate::views::label::is_system;
use crate::views::weights::Sum;

/// Call nodes of the first attempt.
const FIRST_ATTEMPT: usize = 256;

/// The largest snapshot within the budget.
pub fn encode(contents: &Contents<'_>, options: &Options) -> Result<Shared, TooSmall> {
    let tree = Tree::new(contents);
    let order = Order::new(contents, &tree);
    let paths = Written::new(contents, options);
    let coverage = contents.coverage();
    let attempt = |count: usize| {
        let selection = order.select(&tree, count);
        let body =
            Body { contents, options, paths: &paths, tree: &tree, selection: &selection, coverage };
        let (body, fidelity) = body.write(order.total);
        let fits = body.len() <= MAX_INFLATED && fidelity.kept_dsos <= MAX_DSOS as u64;
        let payload = container::pack(&body);
        let characters = if fits { payload.len() } else { usize::MAX };
        (characters, Shared { payload, fidelity })
    };

    let mut fits = 0;
    let (needed, mut best) = attempt(0);
    if needed > options.characters {
        return Err(TooSmall { needed });
    }
    // Grow until it no longer fits, then halve the distance.
    let mut too_many = order.len() + 1;
    let mut next = FIRST_ATTEMPT.min(order.len());
    while fits + 1 < too_many {
        let (characters, shared) = attempt(next);
        if characters <= options.characters {
            (fits, best) = (next, shared);
        } else {
            too_many = next;
        }
        // One part in 128 is closer than the ups and downs of compression.
        if fits == order.len() || too_many - fits <= fits / 128 {
            break;
        }
        next = match too_many > order.len() {
            true => (fits * 4).clamp(1, order.len()),
            false => fits + (too_many - fits) / 2,
        };
    }
    Ok(best)
}

/// Everything that one attempt is made of.
struct Body<'a> {
    contents: &'a Contents<'a>,
    options: &'a Options,
    paths: &'a Written,
    tree: &'a Tree,
    selection: &'a Selection,
    coverage: FrameCoverage,
}

/// The paths of all DSOs as they are written, and their order.
struct Written {
    paths: Vec<String>,
    /// By DSO.
    rank: Vec<usize>,
}

impl Written {
    fn new(contents: &Contents<'_>, options: &Options) -> Self {
        let path = |dso: &Dso| {
            let has_folders = matches!(dso.kind, DsoKind::User | DsoKind::Module | DsoKind::Jit);
            match options.paths {
                Paths::Names if has_folders && !is_system(dso) => file_name(&dso.path),
                _ => fields::cut(&dso.path).to_owned(),
            }
        };
        let paths: Vec<_> = contents.profile.dsos.iter().map(|(_, dso)| path(dso)).collect();
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_by_key(|&dso| &paths[dso]);
        let mut rank = vec![0; paths.len()];
        for (place, dso) in order.into_iter().enumerate() {
            rank[dso] = place;
        }
        Self { paths, rank }
    }
}

/// A call node as it is written.
struct Entry {
    code: u64,
    label: Label,
    children: u64,
    line: Option<NonZeroU32>,
    /// One for each event.
    own: Vec<Sum>,
}

/// The tables that call nodes refer to.
#[derive(Default)]
struct Tables {
    dsos: Vec<DsoId>,
    /// By function, what it is called with.
    codes: HashMap<FunctionId, u64>,
    /// Codes of functions whose source file is known: their call nodes have lines.
    with_file: HashSet<u64>,
}

impl Body<'_> {
    /// The bytes, and what they hold.
    fn write(&self, total_nodes: usize) -> (container::Body, Fidelity) {
        let mut out = Writer::new();
        let tables = self.write_dsos_and_functions(&mut out);
        let left_out = self.left_out(&tables.dsos);
        let kept_dsos = tables.dsos.len() as u64;
        let fidelity = Fidelity {
            kept_dsos,
            total_dsos: kept_dsos.saturating_add(left_out.dsos),
            ..self.selection.fidelity(self.contents, total_nodes)
        };
        self.write_facts(&mut out, &fidelity, &left_out);
        self.write_host(&mut out);
        self.write_warnings(&mut out);
        let entries = self.entries(&mut out, &tables);
        self.write_entries(&mut out, &tables, &entries);
        self.write_sums(&mut out, &entries);
        (out.finish(), fidelity)
    }

    /// DSOs that samples pass through and that are not written, nor were before.
    fn left_out(&self, written: &[DsoId]) -> LeftOut {
        let Contents { profile, ledger, facts, .. } = self.contents;
        let mut left_out = facts.left_out;
        let written: HashSet<DsoId> = written.iter().copied().collect();
        for (id, dso) in profile.dsos.iter() {
            let used = facts.uses.get(id.index()).copied().unwrap_or_default();
            if is_written(dso) && used.samples > 0 && !written.contains(&id) {
                left_out.add(ledger.row(id).status, used.leaf_samples);
            }
        }
        left_out
    }

    fn write_facts(&self, out: &mut Writer, fidelity: &Fidelity, left_out: &LeftOut) {
        let facts = self.contents.facts;
        let lost = self.contents.profile.lost;
        let (start, end) = facts.time.unwrap_or_default();
        for number in [
            u64::from(facts.time.is_some()),
            start,
            end.saturating_sub(start),
            facts.processes,
            facts.threads,
            lost.events,
            lost.samples,
            fidelity.kept_nodes,
            fidelity.total_nodes,
            billionths(fidelity.kept_weight_share),
            billionths(fidelity.threshold_share),
            fidelity.folded_weight,
            self.coverage.frames,
            self.coverage.named,
            self.coverage.named_leaves,
            left_out.dsos,
        ] {
            out.number(Field::Facts, number);
        }
        left_out.leaf_samples().for_each(|(_, samples)| out.number(Field::Facts, samples));
        if self.coverage.forced > 0 {
            out.number(Field::Facts, self.coverage.forced);
            out.number(Field::Facts, self.coverage.forced_leaves);
        }
    }

    fn write_host(&self, out: &mut Writer) {
        if self.options.host == HostFields::None {
            return;
        }
        let host = &self.contents.profile.host;
        for text in [&host.hostname, &host.os_release, &host.arch] {
            out.optional_text(Field::Host, text.as_deref());
        }
        out.number(Field::Host, host.cpus.map_or(0, |cpus| u64::from(cpus) + 1));
        out.number(Field::Host, host.cmdline.len() as u64);
        for argument in &host.cmdline {
            out.text(Field::Host, argument);
        }
    }

    fn write_warnings(&self, out: &mut Writer) {
        let warnings = &self.contents.warnings[..self.contents.warnings.len().min(MAX_WARNINGS)];
        out.number(Field::Warnings, warnings.len() as u64);
        for warning in warnings {
            out.byte(Field::Warnings, code(&codes::WARNING_KINDS, &warning.kind));
            let offset = warning.offset.map_or(0, |offset| offset.saturating_add(1));
            out.number(Field::Warnings, offset);
            out.number(Field::Warnings, warning.count);
            out.text(Field::Warnings, &warning.message);
        }
    }

    /// DSOs by path, and of each its functions: those with a name by name, then the others by
    /// address.
    fn write_dsos_and_functions(&self, out: &mut Writer) -> Tables {
        let symbols = self.contents.symbols;
        let functions = self.functions();
        let mut tables = Tables { dsos: self.dsos(&functions), ..Tables::default() };
        let paths = tables.dsos.iter().map(|&dso| self.paths.paths[dso.index()].as_str());
        out.number(Field::PathLengths, tables.dsos.len() as u64);
        out.texts(Field::PATHS, paths);
        for &dso in &tables.dsos {
            self.write_dso(out, dso);
        }

        let files = self.files(&functions);
        out.number(Field::FileLengths, files.len() as u64);
        out.texts(Field::FILES, files.iter().map(String::as_str));

        let mut names = Vec::new();
        let mut rest = functions.as_slice();
        for &dso in &tables.dsos {
            let of_dso = rest.partition_point(|&function| {
                self.rank(symbols.function(function).dso) <= self.rank(dso)
            });
            let (here, after) = rest.split_at(of_dso);
            rest = after;
            let named = here.partition_point(|&id| symbols.function(id).name.is_some());
            out.number(Field::DsoFunctions, named as u64);
            out.number(Field::DsoFunctions, (here.len() - named) as u64);
            let mut before = 0;
            for &function in here {
                let next = codes::CODE_FUNCTIONS + tables.codes.len() as u64;
                tables.codes.insert(function, next);
                let known = symbols.function(function);
                match known.name {
                    Some(name) => {
                        names.push(name);
                        let provenance = code(&codes::PROVENANCES, &known.provenance);
                        out.byte(Field::NameProvenances, provenance);
                        let file = self.tree.files.get(&function).map(|&file| self.file(file));
                        let file = file.and_then(|file| files.binary_search(&file).ok());
                        out.number(Field::NameFiles, file.map_or(0, |file| file as u64 + 1));
                        if file.is_some() {
                            tables.with_file.insert(next);
                        }
                    }
                    None => {
                        out.number(Field::Addresses, known.address.wrapping_sub(before));
                        before = known.address;
                    }
                }
            }
        }
        out.texts(Field::NAMES, names.into_iter());
        tables
    }

    /// Functions of kept call nodes, in the order in which they are written.
    fn functions(&self) -> Vec<FunctionId> {
        let symbols = self.contents.symbols;
        let mut met: Vec<FunctionId> = self
            .kept()
            .filter_map(|node| self.tree.nodes[node as usize].label.function())
            .collect();
        met.sort_unstable();
        met.dedup();
        met.sort_by_cached_key(|&id| {
            let function = symbols.function(id);
            let name = function.name.map(fields::cut);
            (self.rank(function.dso), name.is_none(), name, function.address, function.provenance)
        });
        met
    }

    fn kept(&self) -> impl Iterator<Item = u32> {
        self.selection.children.iter().flatten().copied()
    }

    /// DSOs with functions, and those that are heavy enough to be told of.
    fn dsos(&self, functions: &[FunctionId]) -> Vec<DsoId> {
        let Contents { profile, symbols, facts, .. } = self.contents;
        let samples = profile.recorded_samples();
        let threshold = self.selection.threshold_share * samples as f64;
        let heavy = profile.dsos.iter().filter(|(id, dso)| {
            let used = facts.uses.get(id.index()).map_or(0, |used| used.samples);
            is_written(dso) && used > 0 && used as f64 >= threshold
        });
        let mut dsos: BTreeSet<DsoId> = heavy.map(|(id, _)| id).collect();
        dsos.extend(functions.iter().map(|&id| symbols.function(id).dso));
        let mut dsos: Vec<_> = dsos.into_iter().collect();
        dsos.sort_by_key(|&dso| self.rank(dso));
        dsos
    }

    /// Where a DSO stands among those that are written.
    fn rank(&self, dso: DsoId) -> usize {
        self.paths.rank[dso.index()]
    }

    fn write_dso(&self, out: &mut Writer, id: DsoId) {
        let dso = self.contents.profile.dsos.get(id);
        let row = self.contents.ledger.row(id);
        let recorded_by = code(&codes::RECORDED_BY, &dso.recorded_by);
        out.byte(Field::DsoKinds, code(&codes::DSO_KINDS, &dso.kind) | recorded_by << 4);
        match dso.identity {
            None => out.byte(Field::DsoIdentityLengths, 0),
            Some(Identity::Gnu(id)) => {
                out.byte(Field::DsoIdentityLengths, id.as_bytes().len() as u8);
                out.bytes(Field::DsoIdentities, id.as_bytes());
            }
            Some(Identity::Content(hash)) => {
                out.byte(Field::DsoIdentityLengths, codes::CONTENT_HASH);
                out.bytes(Field::DsoIdentities, &hash.0);
            }
        }
        let status = code(&codes::STATUSES, &row.status);
        out.byte(Field::DsoStatuses, status | gives_code(row.holds()) << 3);
        let image = row.image.as_deref().map(file_name);
        for text in [row.reason.as_deref(), image.as_deref(), row.found.as_deref()] {
            out.optional_text(Field::DsoTexts, text);
        }
        // A link has one place for each.
        let place = &dso.kernel_place;
        let reference = place.reference.filter(|_| place.moved_to.is_empty());
        for place in [dso.executable_offset, reference] {
            out.number(Field::DsoPlaces, place.map_or(0, |place| place.saturating_add(1)));
        }
        let used = self.contents.facts.uses.get(id.index()).copied().unwrap_or_default();
        out.number(Field::DsoUses, used.leaf_samples);
        out.number(Field::DsoUses, used.samples);
    }

    fn file(&self, file: FileId) -> String {
        let path = self.contents.symbols.file(file);
        match self.options.paths {
            Paths::Names => file_name(path),
            Paths::Full => fields::cut(path).to_owned(),
        }
    }

    fn files(&self, functions: &[FunctionId]) -> Vec<String> {
        let symbols = self.contents.symbols;
        let named = functions.iter().filter(|&&id| symbols.function(id).name.is_some());
        let files = named.filter_map(|function| self.tree.files.get(function));
        let files: BTreeSet<String> = files.map(|&file| self.file(file)).collect();
        files.into_iter().collect()
    }

    /// Kept call nodes, callers before what they call, all of one's before the next one's. The
    /// first is the root; what it calls are processes, by name.
    fn entries(&self, out: &mut Writer, tables: &Tables) -> Vec<Entry> {
        let group_name = |node: u32| match self.tree.nodes[node as usize].label {
            Label::Group(name) => fields::cut(self.contents.profile.strings.get(name)),
            _ => FOLDED,
        };
        let mut groups = self.selection.children[0].clone();
        groups.sort_by_key(|&node| group_name(node));
        out.number(Field::GroupLengths, groups.len() as u64);
        out.texts(Field::GROUPS, groups.iter().map(|&node| group_name(node)));

        let mut entries = vec![self.entry(0, groups.len(), codes::CODE_GROUP)];
        // What was not kept below the root is the root's own.
        for (event, own) in entries[0].own.iter_mut().enumerate() {
            own.add(self.selection.folded(0, event));
        }
        let mut open: Vec<u32> = groups.into_iter().rev().collect();
        while let Some(node) = open.pop() {
            let index = node as usize;
            let children = &self.selection.children[index];
            let folded = self.selection.has_folded(index);
            let code = match self.tree.nodes[index].label {
                Label::All | Label::Group(_) => codes::CODE_GROUP,
                // A link holds whole stacks: no DSO is collapsed in it.
                Label::NoMapping | Label::Dso(_) => codes::CODE_NO_MAPPING,
                Label::Function(function) | Label::Inlined(function) => {
                    tables.codes.get(&function).copied().unwrap_or(codes::CODE_NO_MAPPING)
                }
            };
            entries.push(self.entry(index, children.len() + usize::from(folded), code));
            if folded {
                let own =
                    (0..self.tree.events()).map(|e| self.selection.folded(index, e)).collect();
                let (code, label) = (codes::CODE_FOLDED, Label::NoMapping);
                entries.push(Entry { code, label, children: 0, line: None, own });
            }
            open.extend(children.iter().rev());
        }
        entries
    }

    fn entry(&self, node: usize, children: usize, code: u64) -> Entry {
        let own = (0..self.tree.events()).map(|event| self.tree.own(node, event)).collect();
        let (label, line) = (self.tree.nodes[node].label, self.tree.nodes[node].line);
        Entry { code, label, children: children as u64, line, own }
    }

    /// The shape of the tree, what each call node is, and the line.
    ///
    /// A call that was met before under the same function, anywhere in the tree, is written as
    /// its number there; that is one byte, and mostly the same one.
    fn write_entries(&self, out: &mut Writer, tables: &Tables, entries: &[Entry]) {
        let mut met: HashMap<u64, HashMap<u64, u64>> = HashMap::new();
        let mut lines: HashMap<u64, i64> = HashMap::new();
        let mut callers: Vec<(u64, u64)> = Vec::new();
        for entry in entries {
            out.number(Field::NodeChildren, entry.children);
            let caller = callers.last_mut().map(|(code, left)| {
                *left -= 1;
                *code
            });
            if let Some(caller) = caller.filter(|_| entry.code != codes::CODE_GROUP) {
                let call = entry.code << 1 | u64::from(matches!(entry.label, Label::Inlined(_)));
                let calls = met.entry(caller).or_default();
                let next = calls.len() as u64 + 1;
                match calls.get(&call) {
                    Some(&number) => out.number(Field::NodePairs, number),
                    None => {
                        calls.insert(call, next);
                        out.number(Field::NodePairs, 0);
                        out.number(Field::NodeFunctions, call);
                    }
                }
                if tables.with_file.contains(&entry.code) {
                    let line = entry.line.map_or(0, |line| i64::from(line.get()));
                    let before = lines.entry(entry.code).or_default();
                    out.number(Field::NodeLines, zigzag(line - *before));
                    *before = line;
                }
            }
            while callers.last().is_some_and(|&(_, left)| left == 0) {
                callers.pop();
            }
            if entry.children > 0 {
                callers.push((entry.code, entry.children));
            }
        }
    }

    /// Events, and for each event the samples and weight of all call nodes.
    fn write_sums(&self, out: &mut Writer, entries: &[Entry]) {
        let events = &self.contents.profile.events;
        out.number(Field::Events, events.len() as u64);
        if events.iter().any(|event| event.origin != EventOrigin::Recorded) {
            let origins = events.iter().map(|event| code(&codes::EVENT_ORIGINS, &event.origin));
            origins.for_each(|origin| out.byte(Field::EventOrigins, origin));
        }
        for (index, event) in events.iter().enumerate() {
            let own = || entries.iter().map(|entry| entry.own[index]);
            let unit = own().map(|sum| sum.weight).fold(0, greatest_common_divisor).max(1);
            let is_regular = own().all(|sum| sum.samples.checked_mul(unit) == Some(sum.weight));
            out.text(Field::Events, &event.name);
            out.number(Field::Events, event.samples);
            out.number(Field::Events, event.weight);
            out.number(Field::Events, unit);
            out.number(Field::Events, u64::from(is_regular));
            for sum in own() {
                out.number(Field::NodeCounts, sum.samples);
                if !is_regular {
                    out.number(Field::NodeWeights, sum.weight / unit);
                }
            }
        }
    }
}

/// What stands in the table of DSOs; the others are made anew by the reader.
fn is_written(dso: &Dso) -> bool {
    codes::DSO_KINDS.contains(&dso.kind)
}

fn file_name(path: &str) -> String {
    fields::cut(path.rsplit(['/', '\\']).next().unwrap_or(path)).to_owned()
}

fn billionths(share: f64) -> u64 {
    (share * 1e9).round() as u64
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
