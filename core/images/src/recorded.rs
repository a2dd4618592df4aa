//! What was recorded of the files that ran: everything that the gate compares with.

use perftab_perfdata::map::Map;

use perftab_dsos::module_name;
use perftab_dsos::{Dso, DsoId, DsoKind, Dsos, Identity, KernelPlace};
use perftab_perfdata::format::{BuildId, IdLength};

use super::image::Image;
use super::kallsyms::Kallsyms;
use super::rejection::Rejection;
use crate::containers::unpacked_name;

/// What was recorded of the files that ran: everything the gate compares with.
#[derive(Clone, Debug, Default)]
pub struct RecordedIdentities {
    by_identity: Map<Identity, Vec<DsoId>>,
    /// Ids that end in zeros and were not recorded by the kernel: shorter ones, padded.
    padded: Vec<(BuildId, IdLength, DsoId)>,
    /// True if some were recorded with a content hash.
    knows_contents: bool,
    /// By [`DsoId`].
    kinds: Vec<DsoKind>,
    /// Where kernels were.
    kernel_places: Map<DsoId, KernelPlace>,
    /// For refusals only: what was recorded under a file name.
    by_name: Map<String, Vec<SameName>>,
}

impl RecordedIdentities {
    /// The identities of a profile's DSOs.
    pub fn new(dsos: &Dsos) -> Self {
        let mut recorded = Self::default();
        for (id, dso) in dsos.iter() {
            if let Some(identity) = dso.identity {
                recorded.by_identity.entry(identity).or_default().push(id);
                recorded.knows_contents |= matches!(identity, Identity::Content(_));
            }
            recorded.padded.extend(dso.padded_id().map(|(padded, length)| (padded, length, id)));
            let same_name = recorded.by_name.entry(name_key(dso)).or_default();
            same_name.push(SameName { dso: id, path: dso.path.clone(), identity: dso.identity });
            recorded.kinds.push(dso.kind);
            if dso.kind == DsoKind::Kernel {
                recorded.kernel_places.insert(id, dso.kernel_place.clone());
            }
        }
        recorded
    }

    /// Why a file that has this build-id would be refused; `None` if it may be admitted. For those
    /// who would have to hold all of a file before they can offer it.
    pub fn refusal(&self, name: &str, found: BuildId) -> Option<Rejection> {
        let is_unknown = self.with_identity(Identity::Gnu(found)).is_empty();
        is_unknown.then(|| Rejection::nothing_recorded(self, name, Some(found)))
    }

    /// The DSOs that were recorded with an identity found. If one has it to the byte, those that
    /// have it only if zeros are taken for padding may be of another build, and are left out.
    pub fn with_identity(&self, found: Identity) -> Vec<DsoId> {
        match (self.by_identity.get(&found), found) {
            (Some(exact), _) => exact.clone(),
            (None, Identity::Gnu(found)) => {
                let padded = self.padded.iter();
                let padded = padded.filter(|(recorded, length, _)| recorded.may_be(found, *length));
                padded.map(|&(.., dso)| dso).collect()
            }
            (None, Identity::Content(_)) => Vec::new(),
        }
    }

    /// What `image` is, where that can matter: a file without a build-id is read only if the
    /// recording knows files by their content.
    pub(super) fn identity_of(&self, image: &Image) -> Option<Identity> {
        match image.build_id() {
            Some(id) => Some(Identity::Gnu(id)),
            None => self.knows_contents.then(|| image.identity()).flatten(),
        }
    }

    /// Whether all of `image` has to be read to know that.
    pub fn has_to_read(&self, image: &Image) -> bool {
        self.knows_contents && image.is_unread()
    }

    /// True if a file of this identity would be admitted for `dso`: the rule of the gate, for whoever
    /// compares without it.
    pub fn admits(&self, dso: DsoId, found: Identity) -> bool {
        self.with_identity(found).contains(&dso)
    }

    /// True if `image` would be admitted for `dso`.
    pub fn matches(&self, dso: DsoId, image: &Image) -> bool {
        self.identity_of(image).is_some_and(|found| self.admits(dso, found))
    }

    /// True if a DSO was recorded with the identity of `image`.
    pub fn has(&self, image: &Image) -> bool {
        self.identity_of(image).is_some_and(|found| !self.with_identity(found).is_empty())
    }

    /// What kind of thing a DSO is.
    pub fn kind(&self, dso: DsoId) -> Option<DsoKind> {
        self.kinds.get(dso.index()).copied()
    }

    /// Leaves those of `dsos` whose recorded addresses agree with a copy of kallsyms; fails if that
    /// is none.
    pub(super) fn check_claim(
        &self,
        dsos: &mut Vec<DsoId>,
        kallsyms: &Kallsyms,
        claimed: Identity,
    ) -> Result<(), Rejection> {
        let mut disagreement = None;
        dsos.retain(|dso| {
            let checked = self.kernel_places.get(dso).map(|place| kallsyms.agrees_with(place));
            match checked {
                Some(Ok(())) => true,
                Some(Err(found)) => {
                    disagreement = Some(found);
                    false
                }
                None => false,
            }
        });
        match disagreement {
            Some(found) if dsos.is_empty() => Err(Rejection::KallsymsDisagrees {
                claimed: claimed.to_string(),
                message: found.to_string(),
            }),
            _ => Ok(()),
        }
    }

    /// What was recorded under the name of a file: a hint for humans, which decides nothing.
    pub(super) fn of_name(&self, name: &str) -> &[SameName] {
        let base = unpacked_name(file_name(name));
        // Debug files have the name of their binary and this.
        let plain = base.strip_suffix(".debug").unwrap_or(base);
        let of = |name: &str| self.by_name.get(name).map(Vec::as_slice);
        let module = || plain.ends_with(".ko").then(|| module_key(plain));
        of(base)
            .or_else(|| of(plain))
            .or_else(|| of(&module()?))
            .or_else(|| of(KERNEL_KEY).filter(|_| is_kernel_file(plain)))
            .unwrap_or_default()
    }

    /// The DSOs that have the name of a file.
    pub fn named_like(&self, name: &str) -> Vec<DsoId> {
        self.of_name(name).iter().map(|same| same.dso).collect()
    }

    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = DsoId> + '_ {
        self.kernel_places.keys().copied()
    }
}

/// A DSO and what it was recorded with.
#[derive(Clone, Debug)]
pub(super) struct SameName {
    pub dso: DsoId,
    pub path: String,
    pub identity: Option<Identity>,
}

/// In `by_name`: kernels, whatever they are called.
const KERNEL_KEY: &str = "\0kernel";

/// In `by_name`: a kernel module, whose file and recorded name differ in more than the folder.
fn module_key(path: &str) -> String {
    format!("\0module {}", module_name(path))
}

/// The last part of a path; in a cache, where files are `PATH/ID/elf` and the like, that of PATH.
fn file_name(path: &str) -> &str {
    let mut parts = path.rsplit(['/', '\\']);
    let last = parts.next().unwrap_or(path);
    let in_cache = ["elf", "debug", "vdso", "kallsyms"].contains(&last);
    let is_id = |part: &&str| BuildId::from_hex(part).is_some();
    let original = parts.next().filter(is_id).filter(|_| in_cache).and_then(|_| parts.next());
    original.unwrap_or(last)
}

fn is_kernel_file(name: &str) -> bool {
    name.starts_with("vmlinux") || name.starts_with("vmlinuz") || name == "kallsyms"
}

/// What DSOs of its name are found by.
fn name_key(dso: &Dso) -> String {
    match dso.kind {
        DsoKind::Kernel => KERNEL_KEY.to_owned(),
        DsoKind::Module => module_key(&dso.path),
        _ => dso.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use perftab_dsos::{MappedFrom, RecordedBy};

    use super::*;

    #[test]
    fn zeros_are_padding_only_where_the_length_is_not_recorded() {
        let id = |bytes: &[u8]| BuildId::new(bytes).expect("an id");
        let padded = |length: usize| {
            let mut bytes = vec![0; length];
            bytes[..5].copy_from_slice(&[1, 2, 3, 4, 5]);
            id(&bytes)
        };
        let is_admitted = |recorded: BuildId, length: IdLength, found: BuildId| {
            let mut dsos = Dsos::default();
            let dso = dsos.intern("/bin/a", DsoKind::User, MappedFrom::Nothing, None);
            let dso = dsos.get_mut(dso);
            dso.identity = Some(Identity::Gnu(recorded));
            dso.id_length = length;
            dso.recorded_by = Some(RecordedBy::Table);
            !RecordedIdentities::new(&dsos).with_identity(Identity::Gnu(found)).is_empty()
        };
        for length in [IdLength::AtMost, IdLength::Recorded] {
            assert!(is_admitted(padded(20), length, padded(20)));
            assert!(!is_admitted(padded(8), length, padded(20)));
            assert!(!is_admitted(padded(20), length, id(&[1, 2, 3, 4])));
        }
        for found in [5, 8, 16] {
            assert!(is_admitted(padded(20), IdLength::AtMost, padded(found)), "{found}");
            assert!(!is_admitted(padded(20), IdLength::Recorded, padded(found)), "{found}");
        }
        // The padding of a note, which perf takes for a part of the id.
        assert!(is_admitted(padded(8), IdLength::Recorded, padded(5)));
        assert!(!is_admitted(padded(12), IdLength::Recorded, padded(5)));
    }
}
