//! What stands where samples ended: lines from source files of this machine, instructions from the
//! binaries that were matched.
//!
//! Read only where a link or page is to tell it, and only at places in its hottest functions.

mod assembly;
mod source;

use std::path::Path;

use perftab_core::session::Session;
use perftab_core::snapshot::{ShareOptions, Tell};

use crate::output::{self, grouped};

/// Reads what a link with these options may tell, and says what there was not.
pub fn read(session: &mut Session, options: &ShareOptions, recording: &Path) {
    let (source, assembly) = (options.privacy.source(), options.privacy.assembly());
    if [source, assembly] == [Tell::LeftOut; 2] {
        return;
    }
    let places = session.hot_places(options);
    let mut texts = session.place_texts().clone();
    if source == Tell::Told {
        source::read(session, &places, recording, &mut texts).say();
    }
    if assembly == Tell::Told {
        let assembly::Read { asked, missing } = assembly::read(session, &places, &mut texts);
        if missing > 0 {
            let [missing, asked] = [missing, asked].map(|count| grouped(count as u64));
            output::notice(format_args!(
                "{missing} of {asked} hot instructions stay without text: only binaries of x86 and arm64 \
                 whose build-id is the recorded one are read, and no kernel"
            ));
        }
    }
    session.set_place_texts(texts);
}
