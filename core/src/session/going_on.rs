//! A recording that is still being read, as it was and as it is now ([`Opening::so_far`](super::Opening::so_far)).

use perftab_names::Status;
use perftab_profile::{Dso, DsoId};

use super::Session;

impl Session {
    /// Takes over the files that an earlier session of the same reading has, so that they are not looked for and read
    /// again. Frames have their names after [`Self::name_frames`], through the same gate: what was said of them before
    /// is not taken. Code that processes made is to be offered again.
    pub fn take_files_of(&mut self, earlier: &mut Self) {
        let Some(mut images) = earlier.images.take() else { return };
        let is_same = |(id, dso): &(DsoId, &Dso)| {
            let before = earlier.profile.dsos.get(*id);
            dso.identity == before.identity && dso.kind == before.kind && dso.path == before.path
        };
        let count = earlier.profile.dsos.len();
        // Code tables have DSOs of their own, which come after all that were read.
        let known = self.profile.dsos.iter().take(count).take_while(is_same).count();
        images.go_on(self.profile.dsos.clone(), known);
        self.images = Some(images);
        self.unwound.take_tables_of(&mut earlier.unwound, known);
        self.set_naming_depth(earlier.naming_depth());
        for id in (0..known as u32).map(DsoId) {
            let row = earlier.ledger.row(id);
            if matches!(row.status, Status::Matched | Status::NoSymbols) {
                self.ledger.take_row(id, row.clone());
                self.begin_naming(id);
            }
        }
    }
}
