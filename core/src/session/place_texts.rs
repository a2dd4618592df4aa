//! What stands at lines and instructions: what is needed to read it, and what was read.

use std::rc::Rc;

use perftab_snapshot::{HotPlace, ShareOptions};
use perftab_views::place_texts::PlaceTexts;

use crate::session::Session;

impl Session {
    /// Where samples ended in the functions that a link with these options can tell of, in order. `None`
    /// as long as there is more to do than so many rows of samples take: it goes on where it stopped.
    pub fn hot_places(&mut self, options: &ShareOptions, rows: usize) -> Option<Vec<HotPlace>> {
        let context = self.link_context(options, rows)?;
        Some(context.hot_places(&self.contents()))
    }

    /// What stands at lines and addresses, as far as it is known: a link may have brought it.
    pub fn place_texts(&self) -> &PlaceTexts {
        &self.facts.texts
    }

    /// Replaces what is known. Views show it, and links tell it if they may.
    pub fn set_place_texts(&mut self, texts: PlaceTexts) {
        Rc::make_mut(&mut self.facts).texts = texts;
    }
}
