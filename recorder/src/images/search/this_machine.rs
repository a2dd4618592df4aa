//! Files of this machine: by path, by build-id, by what those say of their debug files.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use perftab_core::session::{OfferReport, WantedDso};
use perftab_core::{DsoKind, Image, NotAnImage};
use perftab_perfdata::decode::SliceSource;

use super::{NewCopies, Search, readings};
use crate::file_source::FileSource;
use crate::images::answering;
use crate::images::candidates::{Candidates, SoughtDso};
use crate::images::kernel::{self, RunningSymbols};
use crate::images::kernel_copies::KernelCopies;
use crate::images::local;
use crate::output;
use crate::record::own_vdso;

impl Search<'_> {
    /// Files of this machine: by path, by build-id, by what those say of their debug files.
    pub(super) fn offer_local(&mut self, machine: &mut Candidates) {
        let looked_for = std::mem::replace(&mut self.looked_for, self.wanted.len());
        let wanted: Vec<WantedDso> = self.wanted[looked_for..].to_vec();
        for wanted in wanted {
            if wanted.kind == DsoKind::Kernel {
                self.offer_kallsyms(&wanted, machine);
            }
            if wanted.kind == DsoKind::Vdso {
                self.offer_vdso();
            }
            let listed_as = self.session.profile().dsos.get(wanted.dso).listed_as.clone();
            let dso = SoughtDso {
                kind: wanted.kind,
                path: &wanted.path,
                listed_as: listed_as.as_deref(),
                ids: readings(wanted.build_id).collect(),
            };
            let mut used = Vec::new();
            for path in machine.executables(&dso) {
                // One that was stripped may lie beside a whole one of the same build.
                if self.have_functions.contains(&wanted.dso) {
                    break;
                }
                if self.offer_for(&wanted, &path) {
                    used.push(path);
                }
            }
            let mut debug_files = machine.debug_files(&dso);
            debug_files.extend(used.iter().flat_map(|path| machine.linked_from(path)));
            for path in debug_files {
                if self.have_lines.contains(&wanted.dso) {
                    break;
                }
                if self.offer_for(&wanted, &path) {
                    machine.linked_from(&path).iter().for_each(|path| {
                        self.offer_for(&wanted, path);
                    });
                }
            }
            if !self.named.contains(&wanted.dso) {
                self.session.note_attempt(
                    wanted.dso,
                    &machine.places().by_id(),
                    "no file of this build",
                );
            }
        }
    }

    /// Offers a file that may be one DSO's and notes what came of it; whether it names the DSO.
    fn offer_for(&mut self, wanted: &WantedDso, path: &Path) -> bool {
        let is_used =
            |report: &OfferReport| report.used.iter().any(|used| used.dsos.contains(&wanted.dso.0));
        if self.offer(path).is_some_and(|report| is_used(&report)) {
            return true;
        }
        let is_recorded = path == Path::new(&wanted.path);
        let outcome = match answering::metadata(path) {
            Some(metadata) => self.offered.get(&(metadata.dev(), metadata.ino())).cloned(),
            None => is_recorded.then(|| "not there".to_owned()),
        };
        if let Some(outcome) = outcome
            && !self.named.contains(&wanted.dso)
        {
            self.session.note_attempt(wanted.dso, &path.to_string_lossy(), &outcome);
        }
        false
    }

    /// The vdso is in no file; ours is that of every process under this kernel.
    fn offer_vdso(&mut self) {
        let Some(vdso) = own_vdso() else { return };
        // Why it is refused stands in the ledger.
        if let Ok(admitted) = self.session.admit("[vdso]", Box::new(SliceSource::new(vdso))) {
            self.named.extend(admitted.dsos);
        }
    }

    /// The symbols of the kernel that runs, and copies of those of others.
    fn offer_kallsyms(&mut self, wanted: &WantedDso, machine: &Candidates) {
        let copies = KernelCopies::of_user();
        for id in readings(wanted.build_id) {
            let open = |path: PathBuf, file| {
                let source = Box::new(FileSource::new(file).ok()?);
                let name = path.to_string_lossy().into_owned();
                Some((Image::open_cached_kallsyms(&name, source, id), name))
            };
            let admit_copy = |search: &mut Self| {
                let copy = copies.open(id).and_then(|(path, file)| open(path, file));
                copy.is_some_and(|(image, name)| search.admit_symbols(image, &name))
            };
            if admit_copy(self) {
                return;
            }
            if let Some(RunningSymbols { path, text, notes }) =
                machine.kernels().running_symbols(id)
            {
                if self.copies == NewCopies::Kept {
                    copies.keep(id, &text);
                }
                // Where the names came from is the same the first time and later.
                if admit_copy(self) {
                    return;
                }
                let (name, source) = (path.to_string_lossy(), Box::new(SliceSource::new(text)));
                if self.admit_symbols(Image::open_kallsyms(&name, source, &notes), &name) {
                    return;
                }
            }
            let others = machine.places().kernel_symbols(id).into_iter();
            let mut others = others.filter_map(|path| {
                let file = local::open_regular(&path)?;
                open(path, file)
            });
            if others.any(|(image, name)| self.admit_symbols(image, &name)) {
                return;
            }
        }
    }

    /// Whether the gate lets the symbols of a kernel in.
    fn admit_symbols(&mut self, image: Result<Image, NotAnImage>, name: &str) -> bool {
        let admitted = self.session.admit_image(name, image);
        let is_admitted = admitted.is_ok();
        self.named.extend(admitted.into_iter().flat_map(|it| it.dsos));
        is_admitted
    }

    /// Says which kernels have no names after all that was tried, and what to do about it.
    pub(super) fn say_missing_kernels(&self) {
        let release = self.session.profile().host.os_release.as_deref();
        for wanted in self.session.wanted() {
            if let (DsoKind::Kernel, Some(id)) = (wanted.kind, wanted.build_id) {
                output::notice(kernel::missing_kernel(id, release));
            }
        }
    }
}
