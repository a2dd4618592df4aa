//! The tables that all threads share: frames, functions, images, source files and texts.

use perftab_perfdata::map::Map;
use std::io::Write;
use std::ops::Range;

use perftab_names::{FileId, Symbols};
use perftab_perfdata::format::BuildId;
use perftab_perfdata::text::printable;
use perftab_profile::{Dso, DsoId, Profile, StringId, Strings};
use perftab_views::call_tree::Label;

use crate::calls::{Code, Codes, Part, is_mapped};
use crate::json;
use crate::names::Names;

/// Names and colours of categories, by [`Kind`]. There must be a grey one.
pub(super) const CATEGORIES: [(&str, &str); 7] = [
    ("Other", "grey"),
    ("Own code", "yellow"),
    ("System libraries", "blue"),
    ("Kernel", "orange"),
    ("JIT", "green"),
    ("No name", "darkgrey"),
    ("Left out of a link", "grey"),
];

/// In the resource table: a library.
const LIBRARY: u32 = 1;

#[derive(Default)]
pub(super) struct Tables {
    texts: Strings,
    frames: Vec<Frame>,
    /// Where the frames of each code are, one for each level.
    frames_of: Map<Code, Range<u32>>,
    functions: Vec<Function>,
    function_of: Map<Label, u32>,
    /// Each is a resource of the same number.
    images: Vec<DsoId>,
    image_of: Map<DsoId, u32>,
    sources: Vec<FileId>,
    source_of: Map<FileId, u32>,
    stack_length: u32,
}

struct Frame {
    function: u32,
    category: u8,
    depth: u32,
    line: Option<u32>,
}

struct Function {
    name: StringId,
    image: Option<u32>,
    /// Of the code that was met first: the format has one for a function.
    source: Option<u32>,
}

impl Tables {
    /// Entries of the stack table so far.
    pub fn stack_length(&self) -> u32 {
        self.stack_length
    }

    /// The frames of a code's levels, outermost first.
    pub fn frames_of(&self, code: Code) -> Range<u32> {
        self.frames_of.get(&code).cloned().unwrap_or_default()
    }

    /// Adds a call to the stack table, an entry for each level of its code; the number of entries
    /// then.
    pub fn add_call(&mut self, codes: &Codes, code: Code) -> u32 {
        if !self.frames_of.contains_key(&code) {
            let start = self.frames.len() as u32;
            let names = codes.names();
            codes.for_each_part(code, |part| self.add_frame(&codes.profile, &names, part));
            self.frames_of.insert(code, start..self.frames.len() as u32);
        }
        self.stack_length += self.frames_of(code).len() as u32;
        self.stack_length
    }

    fn add_frame(&mut self, profile: &Profile, names: &Names<'_>, part: Part) {
        let category = names.labels.kind(part.label) as u8;
        let function = self.function(profile, names, part);
        let line = part.line.map(|line| line.get());
        self.frames.push(Frame { function, category, depth: part.depth, line });
    }

    fn function(&mut self, profile: &Profile, names: &Names<'_>, part: Part) -> u32 {
        // Inlined or called, it is one function.
        let label = part.label.function().map_or(part.label, Label::Function);
        if let Some(&known) = self.function_of.get(&label) {
            return known;
        }
        let name = self.texts.intern(&names.text(label));
        let dso = names.labels.dso(label).filter(|&dso| is_mapped(profile, dso));
        let image = dso.map(|dso| number(&mut self.images, &mut self.image_of, dso));
        let source = part.file.map(|file| number(&mut self.sources, &mut self.source_of, file));
        let number = self.functions.len() as u32;
        self.functions.push(Function { name, image, source });
        self.function_of.insert(label, number);
        number
    }

    pub fn write_frames(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"frameTable\":{");
        let numbers = |out: &mut Vec<u8>, key: &str, value: fn(&Frame) -> u32| {
            json::list(out, key, &self.frames, |out, frame| drop(write!(out, "{}", value(frame))));
            out.push(b',');
        };
        numbers(out, "func", |frame| frame.function);
        numbers(out, "category", |frame| frame.category.into());
        numbers(out, "inlineDepth", |frame| frame.depth);
        json::list(out, "line", &self.frames, |out, frame| json::number_or_null(out, frame.line));
        out.push(b',');
        let count = self.frames.len();
        same(out, "address", "-1", count);
        same(out, "subcategory", "0", count);
        same(out, "nativeSymbol", "null", count);
        same(out, "innerWindowID", "0", count);
        same(out, "column", "null", count);
        let _ = write!(out, "\"length\":{count}}}");
    }

    pub fn write_functions(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"funcTable\":{");
        json::list(out, "name", &self.functions, |out, function| {
            drop(write!(out, "{}", function.name.0));
        });
        out.push(b',');
        json::list(out, "resource", &self.functions, |out, function| match function.image {
            Some(image) => drop(write!(out, "{image}")),
            None => out.extend_from_slice(b"-1"),
        });
        out.push(b',');
        json::list(out, "source", &self.functions, |out, function| {
            json::number_or_null(out, function.source);
        });
        out.push(b',');
        let count = self.functions.len();
        same(out, "isJS", "false", count);
        same(out, "relevantForJS", "false", count);
        same(out, "lineNumber", "null", count);
        same(out, "columnNumber", "null", count);
        let _ = write!(out, "\"length\":{count}}}");
    }

    pub fn write_images(&mut self, profile: &Profile, out: &mut Vec<u8>) {
        let (texts, images) = (&mut self.texts, &self.images);
        out.extend_from_slice(b",\"resourceTable\":{");
        json::list(out, "name", images, |out, &dso| {
            let name = texts.intern(&printable(profile.dsos.get(dso).name()));
            let _ = write!(out, "{}", name.0);
        });
        out.push(b',');
        json::list(out, "lib", 0..images.len(), |out, image| drop(write!(out, "{image}")));
        out.push(b',');
        same(out, "host", "null", images.len());
        same(out, "type", &LIBRARY.to_string(), images.len());
        let _ = write!(out, "\"length\":{}}}", images.len());
        out.extend_from_slice(
            b",\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\
              \"functionSize\":[],\"length\":0}",
        );
    }

    pub fn write_sources(&mut self, symbols: &Symbols, out: &mut Vec<u8>) {
        let (texts, sources) = (&mut self.texts, &self.sources);
        out.extend_from_slice(b",\"sources\":{");
        json::list(out, "filename", sources, |out, &file| {
            let path = texts.intern(&printable(symbols.file(file)));
            let _ = write!(out, "{}", path.0);
        });
        out.push(b',');
        same(out, "id", "null", sources.len());
        same(out, "startLine", "1", sources.len());
        same(out, "startColumn", "1", sources.len());
        same(out, "sourceMapURL", "null", sources.len());
        let _ = write!(out, "\"length\":{}}}", sources.len());
    }

    pub fn write_texts(&self, out: &mut Vec<u8>) {
        out.push(b',');
        json::list(out, "stringArray", 0..self.texts.len() as u32, |out, text| {
            json::string(out, self.texts.get(StringId(text)));
        });
        out.push(b'}');
    }

    /// The images with their build-ids.
    pub fn write_libs(&self, profile: &Profile, out: &mut Vec<u8>) {
        out.push(b',');
        json::list(out, "libs", &self.images, |out, &dso| {
            let dso = profile.dsos.get(dso);
            let (name, path) = (printable(dso.name()), printable(&dso.path));
            let texts =
                [("name", &name), ("debugName", &name), ("path", &path), ("debugPath", &path)];
            out.push(b'{');
            for (key, text) in texts {
                json::string(out, key);
                out.push(b':');
                json::string(out, text);
                out.push(b',');
            }
            let code_id = dso.build_id().map_or("null".to_owned(), |id| format!("\"{id}\""));
            let _ = write!(
                out,
                "\"arch\":null,\"breakpadId\":\"{}\",\"codeId\":{code_id}}}",
                debug_id(dso)
            );
        });
    }
}

/// A column in which all have the same value, and a comma.
fn same(out: &mut Vec<u8>, key: &str, value: &str, count: usize) {
    json::list(out, key, 0..count, |out, _| out.extend_from_slice(value.as_bytes()));
    out.push(b',');
}

fn number<T: Copy + Eq + std::hash::Hash>(
    list: &mut Vec<T>,
    known: &mut Map<T, u32>,
    item: T,
) -> u32 {
    *known.entry(item).or_insert_with(|| {
        list.push(item);
        list.len() as u32 - 1
    })
}

fn debug_id(dso: &Dso) -> String {
    dso.build_id().map_or_else(|| "0".repeat(33), breakpad_id)
}

/// Breakpad's form of a build-id: its first 16 bytes as a GUID, of which three parts are numbers in
/// the byte order of the machine, here little endian; then the age, which is 0.
fn breakpad_id(id: BuildId) -> String {
    let mut guid = [0; 16];
    let known = id.as_bytes().len().min(16);
    guid[..known].copy_from_slice(&id.as_bytes()[..known]);
    guid[..4].reverse();
    guid[4..6].reverse();
    guid[6..8].reverse();
    let mut text: String = guid.iter().map(|byte| format!("{byte:02X}")).collect();
    text.push('0');
    text
}

#[cfg(test)]
mod tests {
    use perftab_views::label::Kind;

    use super::*;

    /// Pairs that samply wrote for dump_syms and libc.
    #[test]
    fn breakpad_ids_are_those_of_other_tools() {
        let pairs = [
            ("510d0a5c19eadf8043f203b4525be9be3dcb9554", "5C0A0D51EA1980DF43F203B4525BE9BE0"),
            ("f0fc29165cbe6088c0e1adf03b0048fbecbc003a", "1629FCF0BE5C8860C0E1ADF03B0048FB0"),
        ];
        for (id, expected) in pairs {
            let id = BuildId::from_hex(id).expect("it is one");
            assert_eq!(breakpad_id(id), expected);
        }
    }

    #[test]
    fn every_kind_has_a_category() {
        assert_eq!(CATEGORIES[Kind::Kernel as usize].0, "Kernel");
        assert_eq!(CATEGORIES[Kind::Unnamed as usize].0, "No name");
        assert_eq!(CATEGORIES.len(), Kind::Folded as usize + 1);
    }
}
