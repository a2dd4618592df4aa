//! DSOs, source files and functions: the tables that call nodes refer to.

use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::sorting::{sort, sort_by_key};

use perftab_names::FunctionId;
use perftab_profile::{Dso, DsoId, Identity};
use perftab_views::call_tree::Label;

use super::body::Body;
use super::texts::RedactedText;
use crate::codes::{self, code, gives_code};
use crate::fields::{Field, Writer};
use crate::{Contents, Disclosure};

/// The tables that call nodes refer to.
#[derive(Default)]
pub(super) struct Tables {
    pub dsos: Vec<DsoId>,
    /// By function, what it is called with.
    pub codes: Map<FunctionId, u64>,
    /// By DSO, what all of it is called with, collapsed into one.
    pub dso_codes: Map<DsoId, u64>,
    /// Codes of functions whose source file is known: their call nodes have lines.
    pub with_file: Set<u64>,
}

impl<'a> Body<'_, 'a> {
    /// DSOs by path, and of each its functions: those with a name by name, then the others by
    /// address.
    pub fn write_dsos_and_functions(&self, out: &mut Writer<'a>) -> Tables {
        let symbols = self.contents.symbols;
        let functions = self.functions();
        let mut tables = Tables { dsos: self.dsos(&functions), ..Tables::default() };
        let paths = tables.dsos.iter().map(|&dso| self.texts.path(dso));
        out.texts(Field::PATHS, paths);
        for (position, &dso) in tables.dsos.iter().enumerate() {
            self.write_dso(out, dso);
            self.write_mappings(out, position, dso);
        }

        let files = self.files(&functions);
        out.texts(Field::FILES, files.iter().copied());

        let mut names = Vec::new();
        let mut rest = functions.as_slice();
        for &dso in &tables.dsos {
            let of_dso = rest.partition_point(|&function| {
                self.texts.rank(symbols.function(function).dso) <= self.texts.rank(dso)
            });
            let (here, after) = rest.split_at(of_dso);
            rest = after;
            let named = here.partition_point(|&id| self.texts.function(id).is_some());
            out.number(Field::DsoFunctions, named as u64);
            out.number(Field::DsoFunctions, (here.len() - named) as u64);
            let mut before = 0;
            for &function in here {
                let next = codes::CODE_FUNCTIONS + tables.codes.len() as u64;
                tables.codes.insert(function, next);
                let known = symbols.function(function);
                match self.texts.function(function) {
                    Some(name) => {
                        names.push(name);
                        let provenance = code(&codes::PROVENANCES, &known.provenance);
                        out.byte(Field::NameProvenances, provenance);
                        let file = self.file(function).map(RedactedText::text);
                        let place =
                            |text| files.binary_search_by_key(&text, |file| file.text()).ok();
                        let file = file.and_then(place);
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
        let first = codes::CODE_FUNCTIONS + tables.codes.len() as u64;
        tables.dso_codes = tables.dsos.iter().copied().zip(first..).collect();
        tables
    }

    /// Functions of kept call nodes, in the order in which they are written.
    fn functions(&self) -> Vec<FunctionId> {
        let symbols = self.contents.symbols;
        let mut met: Vec<FunctionId> = self
            .kept()
            .filter_map(|node| self.tree.nodes[node as usize].label.function())
            .collect();
        sort(&mut met);
        met.dedup();
        let keyed = met.into_iter().map(|id| {
            let function = symbols.function(id);
            let name = self.texts.function(id).map(RedactedText::text);
            let rank = self.texts.rank(function.dso);
            ((rank, name.is_none(), name, function.address, function.provenance), id)
        });
        let mut keyed: Vec<_> = keyed.collect();
        sort(&mut keyed);
        keyed.into_iter().map(|(_, id)| id).collect()
    }

    fn kept(&self) -> impl Iterator<Item = u32> {
        self.selection.nodes().iter().copied()
    }

    /// DSOs with functions, and those that are heavy enough to be told of.
    fn dsos(&self, functions: &[FunctionId]) -> Vec<DsoId> {
        let Contents { profile, symbols, .. } = self.contents;
        let facts = &self.scope.facts;
        let samples = self.scope.samples(self.contents);
        let threshold = self.selection.threshold_share * samples as f64;
        let heavy = profile.dsos.iter().filter(|(id, dso)| {
            let used = facts.uses.get(id.index()).map_or(0, |used| used.samples);
            is_written(dso) && used > 0 && used as f64 >= threshold
        });
        let mut dsos = Set::new();
        dsos.extend(heavy.map(|(id, _)| id));
        dsos.extend(functions.iter().map(|&id| symbols.function(id).dso));
        dsos.extend(self.kept().filter_map(|node| match self.tree.nodes[node as usize].label {
            Label::Dso(dso) => Some(dso),
            _ => None,
        }));
        let mut dsos: Vec<_> = dsos.into_iter().collect();
        sort_by_key(&mut dsos, |&dso| (self.texts.rank(dso), dso));
        dsos
    }

    fn write_dso(&self, out: &mut Writer<'a>, id: DsoId) {
        let dso = self.contents.profile.dsos.get(id);
        let row = self.contents.ledger.row(id);
        let recorded_by = code(&codes::RECORDED_BY, &dso.recorded_by);
        out.byte(Field::DsoKinds, code(&codes::DSO_KINDS, &dso.kind) | recorded_by << 4);
        let identity =
            dso.identity.filter(|_| self.options.privacy.build_ids == Disclosure::Included);
        match identity {
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
        for text in [self.texts.reason(id), self.texts.image(id), self.texts.found(id)] {
            out.optional_text(Field::DsoTexts, text);
        }
        // A link has one place for each.
        let place = &dso.kernel_place;
        let reference = place.reference.filter(|_| place.moved_to.is_empty());
        let is_included = self.options.privacy.addresses == Disclosure::Included;
        let offset = dso.executable_offset();
        for place in [offset, reference].map(|place| place.filter(|_| is_included)) {
            out.number(Field::DsoPlaces, place.map_or(0, |place| place.saturating_add(1)));
        }
        let used = self.scope.facts.uses.get(id.index()).copied().unwrap_or_default();
        out.number(Field::DsoUses, used.leaf_samples);
        out.number(Field::DsoUses, used.samples);
    }

    /// Where its code was mapped from, if that was more than one place: else the offset tells enough.
    fn write_mappings(&self, out: &mut Writer<'a>, position: usize, id: DsoId) {
        let mappings = &self.contents.profile.dsos.get(id).executable;
        let is_included = self.options.privacy.addresses == Disclosure::Included;
        if mappings.len() < 2 || !is_included {
            return;
        }
        let mut number = |number: u64| out.number(Field::DsoMappings, number);
        number(position as u64);
        number(mappings.len() as u64);
        for mapping in mappings {
            number(mapping.offset);
            number(mapping.length.unwrap_or(0));
        }
    }

    /// The source file of a function, if it has a name.
    fn file(&self, function: FunctionId) -> Option<RedactedText<'a>> {
        self.tree.files.get(&function).and_then(|&file| self.texts.file(file))
    }

    /// Source files of these functions, by alphabet.
    fn files(&self, functions: &[FunctionId]) -> Vec<RedactedText<'a>> {
        let named = functions.iter().filter(|&&id| self.texts.function(id).is_some());
        let mut files: Vec<_> = named.filter_map(|&function| self.file(function)).collect();
        sort_by_key(&mut files, |file| file.text());
        files.dedup_by_key(|file| file.text());
        files
    }
}

/// What stands in the table of DSOs; the others are made anew by the reader.
pub(super) fn is_written(dso: &Dso) -> bool {
    codes::DSO_KINDS.contains(&dso.kind)
}
