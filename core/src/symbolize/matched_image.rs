//! The gate: the only place where it is decided that a file may give names.
//!
//! A file is used if it *is* the file that ran, by the identity in its own bytes. Its name and
//! path never decide anything; they only make a refusal easier to understand.
//!
//! [`MatchedImage`] has private fields and one constructor. Symbol tables, inline frames, unwind
//! tables and sources take a `&MatchedImage`, so that no code can name a frame from a file that
//! did not pass:
//!
//! ```compile_fail,E0451
//! use perftab_core::symbolize::{Image, MatchedImage};
//!
//! fn without_the_gate(image: Image) -> MatchedImage {
//!     MatchedImage { identity: image.identity().unwrap(), dsos: Vec::new(), image }
//! }
//! ```
//!
//! ```compile_fail,E0308
//! use perftab_core::symbolize::{Image, SymbolTable};
//!
//! fn names_of_any_file(image: Image) {
//!     let _ = SymbolTable::read(&[image]);
//! }
//! ```

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use super::embedded::{EmbeddedSymbols, SymbolsOf};
use super::image::{Image, NotAnImage};
use crate::containers::unpacked_name;
use crate::format::BuildId;
use crate::profile::{DsoId, DsoKind, Dsos, Identity, RecordedBy};
use crate::text::printable;

/// What was recorded of the files that ran: everything the gate compares with.
#[derive(Clone, Debug, Default)]
pub struct RecordedIdentities {
    by_identity: HashMap<Identity, Vec<DsoId>>,
    /// Ids of 20 bytes that end in zeros and whose length was not recorded: shorter ones, padded.
    padded: Vec<(BuildId, DsoId)>,
    /// By [`DsoId`].
    kinds: Vec<DsoKind>,
    /// For refusals only: what was recorded under a file name.
    by_name: HashMap<String, Vec<(DsoId, String, Option<Identity>)>>,
}

impl RecordedIdentities {
    /// The identities of a profile's DSOs.
    pub fn new(dsos: &Dsos) -> Self {
        let mut recorded = Self::default();
        for (id, dso) in dsos.iter() {
            if let Some(identity) = dso.identity {
                recorded.by_identity.entry(identity).or_default().push(id);
            }
            // The kernel writes the length of the id into the mapping.
            let may_be_padded = dso.recorded_by != Some(RecordedBy::Mmap);
            let padded = dso.build_id().filter(|_| may_be_padded);
            let padded = padded.filter(|build_id| build_id.without_padding().is_some());
            recorded.padded.extend(padded.map(|build_id| (build_id, id)));
            let same_name = recorded.by_name.entry(dso.name().to_owned()).or_default();
            same_name.push((id, dso.path.clone(), dso.identity));
            recorded.kinds.push(dso.kind);
        }
        recorded
    }

    /// Why a file that has this build-id would be refused; `None` if it may be admitted. For those
    /// who would have to hold all of a file before they can offer it.
    pub fn refusal(&self, name: &str, found: BuildId) -> Option<Rejection> {
        let found = Identity::Gnu(found);
        let is_unknown = self.with_identity(found).is_empty();
        is_unknown.then(|| Rejection::nothing_recorded(self, name, found))
    }

    /// The DSOs that were recorded with an identity found. If one has it to the byte, those that
    /// have it only if zeros are taken for padding may be of another build, and are left out.
    fn with_identity(&self, found: Identity) -> Vec<DsoId> {
        match (self.by_identity.get(&found), found) {
            (Some(exact), _) => exact.clone(),
            (None, Identity::Gnu(found)) => {
                let padded = self.padded.iter().filter(|(recorded, _)| recorded.is_same_as(found));
                padded.map(|&(_, dso)| dso).collect()
            }
            (None, Identity::Content(_)) => Vec::new(),
        }
    }

    /// What was recorded under the name of a file, or of the file whose debug file it is by name.
    fn of_name(&self, name: &str) -> &[(DsoId, String, Option<Identity>)] {
        let base = unpacked_name(name.rsplit(['/', '\\']).next().unwrap_or(name));
        let of = |name: &str| self.by_name.get(name).map(Vec::as_slice);
        of(base).or_else(|| of(base.strip_suffix(".debug")?)).unwrap_or_default()
    }

    /// The DSOs that have the name of a file: a hint for humans, and nothing that could match.
    pub fn named_like(&self, name: &str) -> Vec<DsoId> {
        self.of_name(name).iter().map(|(dso, ..)| *dso).collect()
    }
}

/// A file whose identity is one that was recorded.
#[derive(Debug)]
pub struct MatchedImage {
    identity: Identity,
    dsos: Vec<DsoId>,
    kind: DsoKind,
    image: Image,
}

impl MatchedImage {
    /// Admits `image` if a DSO was recorded with its identity.
    pub fn admit(recorded: &RecordedIdentities, image: Image) -> Result<Self, Rejection> {
        let Some(identity) = image.identity() else { return Err(Rejection::PerfMap) };
        let dsos = recorded.with_identity(identity);
        let kind = dsos.first().and_then(|dso| recorded.kinds.get(dso.index()).copied());
        match kind {
            Some(kind) => Ok(Self { identity, dsos, kind, image }),
            None => Err(Rejection::nothing_recorded(recorded, image.name(), identity)),
        }
    }

    /// What the file is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The DSOs it gives names to; at least one.
    pub fn dsos(&self) -> &[DsoId] {
        &self.dsos
    }

    /// What the host calls the file.
    pub fn name(&self) -> &str {
        self.image.name()
    }

    /// What kind of thing it is an image of.
    pub fn kind(&self) -> DsoKind {
        self.kind
    }

    pub(super) fn image(&self) -> &Image {
        &self.image
    }
}

/// Symbols that travelled in the recording, of DSOs that were recorded; `embedded.rs` says why they
/// may give names.
#[derive(Debug)]
pub struct MatchedSymbols {
    dsos: Vec<DsoId>,
    symbols: EmbeddedSymbols,
}

impl MatchedSymbols {
    /// Admits `symbols` if what they are symbols of was recorded.
    pub fn admit(recorded: &RecordedIdentities, mut symbols: EmbeddedSymbols) -> Option<Self> {
        let kind_of = |dso: DsoId| recorded.kinds.get(dso.index()).copied();
        let dsos: Vec<DsoId> = match symbols.of {
            SymbolsOf::Build { identity, kind } => {
                let same_identity = recorded.with_identity(identity).into_iter();
                same_identity.filter(|&dso| kind_of(dso) == Some(kind)).collect()
            }
            SymbolsOf::Dso(dso) => kind_of(dso).map(|_| dso).into_iter().collect(),
        };
        if dsos.is_empty() {
            return None;
        }
        symbols.symbols.sort_by_key(|symbol| symbol.address);
        Some(Self { dsos, symbols })
    }

    /// The DSOs they name; at least one.
    pub fn dsos(&self) -> &[DsoId] {
        &self.dsos
    }

    pub(super) fn symbols(&self) -> &EmbeddedSymbols {
        &self.symbols
    }
}

/// A DSO of the same file name as a file that was refused; a hint for humans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct SameName {
    /// Row of the ledger.
    pub dso: u32,
    /// The identity that was recorded, in hex.
    pub wanted: String,
}

/// Why a file is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Rejection {
    /// It is no ELF file; these are the bytes it begins with (at most 16).
    NotAnImage {
        /// The first bytes of the file.
        first_bytes: Vec<u8>,
    },
    /// It has no build-id, and nothing was recorded with its content hash.
    NoIdentityInFile,
    /// It has a build-id, but nothing that was recorded has the same.
    NothingRecordedHasIt {
        /// The build-id found, in hex.
        found: String,
        /// What was recorded under the file's name.
        same_name: Option<SameName>,
    },
    /// The DSO of the file's name was recorded without an identity, so nothing can match it.
    RecordedWithoutIdentity {
        /// The path recorded.
        path: String,
    },
    /// It is a perf map, in which nothing says what it is of.
    PerfMap,
    /// It has a build-id that was recorded, but a file with the same id and other code came before.
    SameIdOtherCode {
        /// The build-id of both, in hex.
        found: String,
        /// The host's name of the file that came first, which stays.
        first: String,
    },
    /// Its bytes could not be had.
    Unreadable {
        /// What the host said.
        message: String,
    },
}

impl Rejection {
    fn nothing_recorded(recorded: &RecordedIdentities, name: &str, found: Identity) -> Self {
        let same_name = recorded.of_name(name);
        let wanted = same_name.iter().find_map(|(dso, _, identity)| {
            Some(SameName { dso: dso.0, wanted: (*identity)?.to_string() })
        });
        match (found, wanted, same_name.first()) {
            (_, None, Some((_, path, _))) => Self::RecordedWithoutIdentity { path: path.clone() },
            (Identity::Content(_), _, _) => Self::NoIdentityInFile,
            (Identity::Gnu(id), same_name, _) => {
                Self::NothingRecordedHasIt { found: id.to_string(), same_name }
            }
        }
    }
}

impl From<NotAnImage> for Rejection {
    fn from(error: NotAnImage) -> Self {
        match error {
            NotAnImage::NotElf { first_bytes } => Self::NotAnImage { first_bytes },
            NotAnImage::Unreadable { message } => Self::Unreadable { message },
        }
    }
}

impl fmt::Display for Rejection {
    /// What is, then what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnImage { first_bytes } if first_bytes.is_empty() => {
                f.write_str("not an ELF file: it is empty")
            }
            Self::NotAnImage { first_bytes } => {
                f.write_str("not an ELF file: it begins with")?;
                first_bytes.iter().take(4).try_for_each(|byte| write!(f, " {byte:02x}"))
            }
            Self::NoIdentityInFile => f.write_str(
                "the file has no build-id, and no file with its content was recorded: link with \
                 --build-id and record again",
            ),
            Self::NothingRecordedHasIt { found, same_name: None } => write!(
                f,
                "nothing recorded has build-id {found}: `perftab buildid list` prints what is \
                 wanted"
            ),
            Self::NothingRecordedHasIt { found, same_name: Some(same_name) } => write!(
                f,
                "another build: wanted {}, found {found}: give the file that ran, or fetch it by \
                 its build-id",
                same_name.wanted
            ),
            Self::RecordedWithoutIdentity { path } => write!(
                f,
                "{} was recorded without a build-id, so no file can be known to be the one that \
                 ran: record again with `perftab record`",
                printable(path)
            ),
            Self::PerfMap => f.write_str(
                "a perf map: nothing in it says which process it is of and when it was written, so \
                 it never matches, and gives names only by force",
            ),
            Self::SameIdOtherCode { found, first } => write!(
                f,
                "the same build-id as {}, {found}, but other code: the first stays; one of them \
                 was changed after it was linked",
                printable(first)
            ),
            Self::Unreadable { message } => {
                write!(f, "the file could not be read: {}", printable(message))
            }
        }
    }
}

impl std::error::Error for Rejection {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::MappedFrom;
    use crate::symbolize::EmbeddedSymbol;

    fn symbols(of: SymbolsOf) -> EmbeddedSymbols {
        let symbol = |address| EmbeddedSymbol { address, size: 8, name: format!("at_{address}") };
        EmbeddedSymbols { of, name: "app".to_owned(), symbols: vec![symbol(16), symbol(0)] }
    }

    #[test]
    fn symbols_of_a_build_name_its_kind_only() {
        let id = BuildId::new(&[1, 2, 3, 4]).expect("not all zero");
        let other = BuildId::new(&[1, 2, 3, 5]).expect("not all zero");
        let mut dsos = Dsos::default();
        let user = dsos.intern("/bin/app", DsoKind::User, MappedFrom::BuildId(id), None);
        let kernel =
            dsos.intern("[kernel.kallsyms]", DsoKind::Kernel, MappedFrom::BuildId(id), None);
        let recorded = RecordedIdentities::new(&dsos);
        let admit = |id, kind| {
            let identity = Identity::Gnu(id);
            let matched =
                MatchedSymbols::admit(&recorded, symbols(SymbolsOf::Build { identity, kind }));
            matched.map(|matched| matched.dsos().to_vec())
        };
        assert_eq!(admit(id, DsoKind::User), Some(vec![user]));
        assert_eq!(admit(id, DsoKind::Kernel), Some(vec![kernel]));
        assert_eq!(admit(id, DsoKind::Module), None);
        assert_eq!(admit(other, DsoKind::User), None);
    }

    #[test]
    fn symbols_of_a_dso_need_no_identity_but_the_dso() {
        let mut dsos = Dsos::default();
        let program = dsos.intern("bpf_prog_1_x", DsoKind::Jit, MappedFrom::Nothing, None);
        let recorded = RecordedIdentities::new(&dsos);
        let admit = |dso| MatchedSymbols::admit(&recorded, symbols(SymbolsOf::Dso(dso)));
        let matched = admit(program).expect("it was recorded");
        assert_eq!(matched.dsos(), [program]);
        let name = |address| matched.symbols().at(address).map(|symbol| symbol.name.as_str());
        assert_eq!(
            [name(0), name(7), name(8), name(23), name(24)],
            [Some("at_0"), Some("at_0"), None, Some("at_16"), None]
        );
        assert!(admit(DsoId(1)).is_none());
    }
}
