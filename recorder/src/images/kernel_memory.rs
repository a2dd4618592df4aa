//! Code of kernels as it ran, from the copies of their memory that `perftab buildid kcore` keeps.
//!
//! A copy is a file like any other: the gate decides. Asked for by whoever shows instructions, as nothing else needs it.

use perftab_core::session::Session;
use perftab_core::{DsoId, DsoKind, Image};
use perftab_perfdata::format::BuildId;

use super::local;
use super::search::resolve;
use crate::buildid_cache::Cache;
use crate::cli::ImageArgs;
use crate::file_source::FileSource;

/// Gives a session the code of its kernels, unless this machine is to be left alone.
pub fn offer(session: &mut Session, args: &ImageArgs) {
    let cache = Cache::of_user(args.cache.buildid_dir.as_deref()).filter(|_| !args.no_local);
    let Some(cache) = cache else { return };
    let dsos = session.profile().dsos.iter();
    let kernels = dsos.filter(|(_, dso)| dso.kind == DsoKind::Kernel);
    let kernels: Vec<(DsoId, BuildId)> =
        kernels.filter_map(|(dso, kernel)| Some((dso, kernel.build_id()?))).collect();
    for (dso, id) in kernels {
        let Some((path, file)) = cache.kernel_memory(id) else { continue };
        let Ok(source) = FileSource::new(file) else { continue };
        // Why it is refused stands in the ledger.
        let _ = session.admit(&path.to_string_lossy(), Box::new(source));
        // Where functions are, if no file has told: names may have come with the recording.
        let kallsyms = path.with_file_name("kallsyms");
        let beside = || FileSource::new(local::open_regular(&kallsyms)?).ok();
        if session.image_name(dso).is_none()
            && let Some(source) = beside()
        {
            let name = kallsyms.to_string_lossy();
            let image = Image::open_cached_kallsyms(&name, Box::new(source), id);
            let _ = session.admit_image(&name, image);
        }
    }
    resolve(session);
}
