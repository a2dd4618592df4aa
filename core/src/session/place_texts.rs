//! What stands at lines and instructions: what is needed to read it, and what was read.

use perftab_images::{FunctionCode, MatchedImage, Svma};
use perftab_profile::DsoId;
use perftab_snapshot::{HotPlace, ShareOptions};
use perftab_views::place_texts::PlaceTexts;

use crate::session::Session;

impl Session {
    /// Where samples ended in the functions that a link with these options can tell of, in order. `None`
    /// as long as there is more to do than so many rows of samples take: it goes on where it stopped.
    pub fn hot_places(&mut self, options: &ShareOptions, rows: usize) -> Option<Vec<HotPlace>> {
        let mut link_cache = std::mem::take(&mut self.link_cache);
        let places = link_cache.hot_places(&self.contents(), options, rows);
        self.link_cache = link_cache;
        places
    }

    /// The code of the function at an address of a DSO, if a file that passed the gate has it.
    pub fn function_code(&self, dso: DsoId, address: u64) -> Option<FunctionCode> {
        self.images.function_code(dso, self.profile.dsos.get(dso), address)
    }

    /// What covers an address of the file that has the code of a DSO, as disassemblies write it.
    pub fn name_in_file(&self, dso: DsoId, address: Svma) -> Option<String> {
        self.images.name_in_file(dso, address)
    }

    /// MD5 of the source file of this path, as the compiler noted it for code at this address.
    pub fn source_md5(&self, place: &HotPlace, path: &str) -> Option<[u8; 16]> {
        let dso = self.profile.dsos.get(place.dso);
        self.images.source_md5(place.dso, dso, place.address, path)
    }

    /// What the host calls the file that has the code of a DSO, of those that passed the gate.
    pub fn image_name(&self, dso: DsoId) -> Option<&str> {
        self.images.of(dso).first().map(MatchedImage::name)
    }

    /// What stands at lines and addresses, as far as it is known: a link may have brought it.
    pub fn place_texts(&self) -> &PlaceTexts {
        &self.facts.texts
    }

    /// Replaces what is known. Views show it, and links tell it if they may.
    pub fn set_place_texts(&mut self, texts: PlaceTexts) {
        self.facts.texts = texts;
    }
}
