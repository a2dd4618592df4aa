//! What stands where samples ended: lines from source files of this machine, instructions from the
//! binaries that were matched.
//!
//! Read only where a link or page is to tell it, and only at places in its hottest functions.

pub mod assembly;
pub mod source;
pub mod source_places;

use std::path::Path;

use perftab_core::session::Session;
use perftab_core::{Disclosure, HotPlace, ShareOptions};

use self::source::SourcePlaces;
use crate::cli::{ImageArgs, SourceArgs};
use crate::commands::share::ROWS_OF_A_STEP;
use crate::images::kernel_memory;
use crate::output::{self, Progress, Unit, grouped};

/// Reads what a link with these options may tell, and says what there was not.
pub fn read(session: &mut Session, options: &ShareOptions, recording: &Path, images: &ImageArgs) {
    let (source, assembly) = (options.privacy.source(), options.privacy.assembly());
    if [source, assembly] == [Disclosure::LeftOut; 2] {
        return;
    }
    if assembly == Disclosure::Included {
        kernel_memory::offer(session, images);
    }
    let places = hot_places(session, options);
    let mut texts = session.place_texts().clone();
    let has_none = texts.lines().next().is_none() && texts.instructions().next().is_none();
    if session.fidelity().is_some() && has_none {
        output::notice("this profile has no text to pass on; share the recording itself");
    }
    if source == Disclosure::Included {
        let from = SourcePlaces::new(&SourceArgs::default(), images);
        source::read(session, &places, (recording, from), &mut texts).say();
    }
    if assembly == Disclosure::Included {
        let assembly::InstructionCounts { asked, missing } =
            assembly::read(session, &places, &mut texts);
        if missing > 0 {
            let [missing, asked] = [missing, asked].map(|count| grouped(count as u64));
            output::notice(format_args!(
                "{missing} of {asked} hot instructions stay without text: only binaries of x86 and arm64 \
                 with the recorded build-id are read, copies of a kernel's memory (perftab buildid kcore), and no \
                 modules of a kernel"
            ));
        }
    }
    session.set_place_texts(texts);
}

/// Where it is hot, of all that a link may tell.
fn hot_places(session: &mut Session, options: &ShareOptions) -> Vec<HotPlace> {
    let mut progress = Progress::begin("Finding hot places", Unit::Parts, None);
    let mut steps = 0;
    loop {
        if let Some(places) = session.hot_places(options, ROWS_OF_A_STEP) {
            return places;
        }
        steps += 1;
        progress.update(steps);
    }
}
