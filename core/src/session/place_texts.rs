//! What stands at lines and instructions: what is needed to read it, and what was read.

use std::num::NonZeroU32;
use std::rc::Rc;

use perftab_names::FileId;
use perftab_perfdata::map::Map;
use perftab_profile::DsoId;
use perftab_snapshot::{HotPlace, ShareOptions};
use perftab_views::column::{BigUint64Array, Uint32Array};
use perftab_views::place_texts::{PlaceTexts, TextCheck};
use serde::Serialize;

use crate::session::Session;

/// In a column: no file.
const NONE: u32 = u32::MAX;

/// Where samples ended that a link can tell of, in columns: by DSO, then address.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct HotPlaceRows {
    /// Number of the DSO.
    pub dso: Uint32Array,
    /// As frames have it.
    pub address: BigUint64Array,
    /// Place in `files` of what the code was made of; 0xffffffff if that is not known.
    pub file: Uint32Array,
    /// Counted from 1; 0 if it is not known.
    pub line: Uint32Array,
    /// Paths, as debug information has them.
    pub files: Vec<String>,
}

impl Session {
    /// Where samples ended in the functions that a link with these options can tell of, in order. `None`
    /// as long as there is more to do than so many rows of samples take: it goes on where it stopped.
    pub fn hot_places(&mut self, options: &ShareOptions, rows: usize) -> Option<Vec<HotPlace>> {
        let context = self.link_context(options, rows)?;
        Some(context.hot_places(&self.contents()))
    }

    /// The same in columns.
    pub(super) fn hot_place_rows(&self, places: &[HotPlace]) -> HotPlaceRows {
        let mut files: Map<FileId, u32> = Map::new();
        let file = |place: &HotPlace| {
            let next = files.len() as u32;
            place.line.file.map_or(NONE, |file| *files.entry(file).or_insert(next))
        };
        let file = places.iter().map(file).collect();
        HotPlaceRows {
            dso: places.iter().map(|place| place.dso.0).collect(),
            address: places.iter().map(|place| place.address).collect(),
            file,
            line: places.iter().map(|place| place.line.line.map_or(0, NonZeroU32::get)).collect(),
            files: files.keys().map(|&file| self.symbols.file(file).to_owned()).collect(),
        }
    }

    /// What stands at lines and addresses, as far as it is known: a link may have brought it.
    pub fn place_texts(&self) -> &PlaceTexts {
        &self.facts.texts
    }

    /// Replaces what is known. Views show it, and links tell it if they may.
    pub fn set_place_texts(&mut self, texts: PlaceTexts) {
        Rc::make_mut(&mut self.facts).texts = texts;
    }

    /// Forgets what was read, before it is read anew: what a link brought stays.
    pub fn begin_place_texts(&mut self) {
        let brought = self.brought_texts.get_or_insert_with(|| self.facts.texts.clone()).clone();
        self.set_place_texts(brought);
    }

    /// Takes in lines of a source file, by its path as debug information has it.
    pub fn tell_lines<'a>(
        &mut self,
        path: &str,
        check: TextCheck,
        lines: impl Iterator<Item = (NonZeroU32, &'a str)>,
    ) {
        let Some(file) = self.symbols.known_file(path) else { return };
        let texts = &mut Rc::make_mut(&mut self.facts).texts;
        texts.add_check(file, check);
        lines.for_each(|(line, text)| texts.add_line(file, line, text));
    }

    /// Takes in instructions at addresses of a DSO, as frames have them.
    pub fn tell_instructions<'a>(
        &mut self,
        dso: DsoId,
        instructions: impl Iterator<Item = (u64, &'a str)>,
    ) {
        let texts = &mut Rc::make_mut(&mut self.facts).texts;
        instructions.for_each(|(address, text)| texts.add_instruction(dso, address, text));
    }
}
