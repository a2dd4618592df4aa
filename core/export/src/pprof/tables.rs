//! What samples of pprof refer to: locations, functions, mappings and texts.
//!
//! Addresses are such that pprof finds the code by itself, if it is given the image: a mapping says
//! at which offset in the file it begins, and has the build-id, which pprof compares.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort_by_key;

use perftab_names::FileId;
use perftab_perfdata::text::printable;
use perftab_profile::{DsoId, DsoKind, Profile, StringId, Strings};
use perftab_views::call_tree::Label;
use perftab_views::label::Kind;

use super::fields::{function, line, location, mapping, profile};
use crate::calls::{Code, Codes, is_mapped};
use crate::protobuf::{Message, write_text};

/// A file counts as mapped into memory as a whole, this far from the one before it.
const FILE_DISTANCE: u64 = 1 << 32;
const PAGE: u64 = 1 << 12;

pub(super) struct Tables {
    texts: Strings,
    /// Codes by the number of their location, which counts from 1.
    codes: Vec<Code>,
    location_of: Map<Code, u64>,
    /// Functions by their number, which counts from 1, with the source file that was met first: the
    /// format has one for a function.
    functions: Vec<(Label, Option<FileId>)>,
    function_of: Map<Label, u64>,
    /// By DSO: the lowest and the highest address that a location has in it.
    mapped: Map<DsoId, (u64, u64)>,
}

impl Default for Tables {
    fn default() -> Self {
        let mut texts = Strings::default();
        // The format wants it to be the first.
        texts.intern("");
        Self {
            texts,
            codes: Vec::new(),
            location_of: Map::new(),
            functions: Vec::new(),
            function_of: Map::new(),
            mapped: Map::new(),
        }
    }
}

impl Tables {
    pub fn text(&mut self, text: &str) -> u64 {
        u64::from(self.texts.intern(text).0)
    }

    /// How many locations there are.
    pub fn locations(&self) -> usize {
        self.codes.len()
    }

    /// How many functions; more with each location that is written.
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// How many texts; more with each function and mapping that is written.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// The number of a code's location.
    pub fn location(&mut self, codes: &Codes, code: Code) -> u64 {
        if let Some(&known) = self.location_of.get(&code) {
            return known;
        }
        if let Some((dso, address)) = codes.place(code) {
            let (lowest, highest) = self.mapped.entry(dso).or_insert((u64::MAX, 0));
            if let Some(address) = address {
                *lowest = address.min(*lowest);
                *highest = address.max(*highest);
            }
        }
        self.codes.push(code);
        let number = self.codes.len() as u64;
        self.location_of.insert(code, number);
        number
    }

    /// Writes the location of a place in the list.
    pub fn write_location(&mut self, codes: &Codes, place: usize, out: &mut Vec<u8>) {
        let code = self.codes[place];
        let mut message = Message::default();
        message.number(location::ID, place as u64 + 1);
        if let Some((dso, address)) = codes.place(code) {
            message.number(location::MAPPING_ID, mapping_id(dso));
            let address = address.map(|address| base(&codes.profile, dso).saturating_add(address));
            message.number(location::ADDRESS, address.unwrap_or_default());
        }
        let mut lines = Vec::new();
        codes.for_each_part(code, |part| {
            // Code without a name has no line: whoever has the image may find one.
            if has_name(codes, part.label) {
                let mut line = Message::default();
                line.number(line::FUNCTION_ID, self.function(part.label, part.file));
                line.number(line::LINE, part.line.map_or(0, |line| line.get().into()));
                lines.push(line);
            }
        });
        // Innermost first.
        lines.iter().rev().for_each(|line| message.message(location::LINE, line));
        message.write(profile::LOCATION, out);
    }

    fn function(&mut self, label: Label, file: Option<FileId>) -> u64 {
        // Inlined or called, it is one function.
        let label = label.function().map_or(label, Label::Function);
        let functions = &mut self.functions;
        *self.function_of.entry(label).or_insert_with(|| {
            functions.push((label, file));
            functions.len() as u64
        })
    }

    /// Writes the function of a place in the list.
    pub fn write_function(&mut self, codes: &Codes, place: usize, out: &mut Vec<u8>) {
        let (label, file) = self.functions[place];
        let name = self.text(&codes.names().text(label));
        let file = file.map_or(0, |file| self.text(&printable(codes.symbols.file(file))));
        let mut message = Message::default();
        message.number(function::ID, place as u64 + 1);
        message.number(function::NAME, name);
        message.number(function::SYSTEM_NAME, name);
        message.number(function::FILENAME, file);
        message.write(profile::FUNCTION, out);
    }

    /// Writes all mappings. The first is that of the main binary: the first of own code, if there
    /// is any.
    pub fn write_mappings(&mut self, codes: &Codes, out: &mut Vec<u8>) {
        let mut mapped: Vec<(DsoId, (u64, u64))> = self.mapped.drain().collect();
        let labels = codes.names().labels;
        sort_by_key(&mut mapped, |&(dso, _)| (labels.dso_kind(dso) != Kind::Own, dso));
        for (dso, (lowest, highest)) in mapped {
            let message = self.mapping(&codes.profile, dso, lowest, highest);
            message.write(profile::MAPPING, out);
        }
    }

    fn mapping(&mut self, of: &Profile, id: DsoId, lowest: u64, highest: u64) -> Message {
        let (dso, base) = (of.dsos.get(id), base(of, id));
        let is_file = matches!(dso.kind, DsoKind::User | DsoKind::Vdso);
        let start = match (is_file, dso.executable_offset(), &dso.kernel_place.range) {
            (true, Some(offset), _) => offset.min(lowest),
            (false, _, Some(range)) => range.start.min(lowest),
            _ => lowest,
        };
        // Nothing is known of a DSO that only functions without addresses are in.
        let start = if lowest > highest { 0 } else { start / PAGE * PAGE };
        let limit = (highest / PAGE + 1).saturating_mul(PAGE);
        let mut message = Message::default();
        message.number(mapping::ID, mapping_id(id));
        message.number(mapping::MEMORY_START, base.saturating_add(start));
        message.number(mapping::MEMORY_LIMIT, base.saturating_add(limit));
        message.number(mapping::FILE_OFFSET, if is_file { start } else { 0 });
        message.number(mapping::FILENAME, self.text(&printable(&dso.path)));
        let identity = dso.identity.map(|identity| identity.to_string());
        let identity = identity.map_or(0, |identity| self.text(&identity));
        message.number(mapping::BUILD_ID, identity);
        message
    }

    /// Writes the text of a number.
    pub fn write_text(&self, number: usize, out: &mut Vec<u8>) {
        write_text(profile::STRING_TABLE, self.texts.get(StringId(number as u32)), out);
    }
}

fn mapping_id(dso: DsoId) -> u64 {
    u64::from(dso.0) + 1
}

/// Where a DSO's addresses count from: files would lie on top of each other, others have addresses
/// of memory.
fn base(profile: &Profile, id: DsoId) -> u64 {
    match profile.dsos.get(id).kind {
        DsoKind::User | DsoKind::Vdso => mapping_id(id) * FILE_DISTANCE,
        _ => 0,
    }
}

fn has_name(codes: &Codes, label: Label) -> bool {
    match label.function() {
        Some(function) => codes.symbols.function(function).name.is_some(),
        None => !matches!(label, Label::Dso(dso) if is_mapped(&codes.profile, dso)),
    }
}
