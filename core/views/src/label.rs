//! How a call node or function is shown: its text, its kind and its marks.

use perftab_names::{FunctionId, Provenance, Symbols};
use perftab_perfdata::text::{counted, printable};
use perftab_profile::{Dso, DsoId, DsoKind, Profile, Thread};
use serde::Serialize;

use crate::Query;
use crate::call_tree::{CallNodeId, CallTree, Label};
use crate::families::family_name;
use crate::function_ref::DsoRef;

/// What a box or row stands for; decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Kind {
    /// A process, or something that is no code.
    Pseudo = 0,
    /// An executable, or an object outside the system's folders.
    Own = 1,
    /// An object in the system's folders.
    System = 2,
    /// Kernel and modules.
    Kernel = 3,
    /// Code that a run time made.
    Jit = 4,
    /// Code without a name.
    Unnamed = 5,
    /// Several narrow call nodes.
    Folded = 6,
}

/// Marks of a box or row; bits, since they cross into the page as a column of bytes.
pub mod mark {
    /// Inlined into its caller.
    pub const INLINED: u8 = 1;
    /// Its name comes from a file that does not match.
    pub const FORCED: u8 = 2;
    /// A search found it.
    pub const MATCH: u8 = 4;
    /// Not code: a process, a folded rest.
    pub const PSEUDO: u8 = 8;
    /// A DSO's functions as one, or processes.
    pub const COLLAPSED: u8 = 16;
    /// From this bit on: of code without a name, the [`super::Kind`] that it would be with one.
    pub const KIND_SHIFT: u32 = 5;
}

/// Text of what has no name because nothing was mapped there.
pub const NO_MAPPING: &str = "[no mapping]";

/// What orders the texts of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameKey<'a> {
    Name(&'a str),
    Address(u64),
    Last,
}

impl NameKey<'_> {
    /// A number that is less for what is before, and may be the same for two of a kind that are alike.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Name(name) => {
                let mut first = [0; 8];
                let length = name.len().min(first.len());
                first[..length].copy_from_slice(&name.as_bytes()[..length]);
                u64::from_be_bytes(first) >> 1
            }
            Self::Address(address) => address >> 1 | 1 << 63,
            Self::Last => u64::MAX,
        }
    }
}

/// Names call nodes and functions of one profile.
#[derive(Clone, Copy)]
pub struct Labels<'a> {
    profile: &'a Profile,
    symbols: &'a Symbols,
    own: &'a [DsoId],
}

/// The DSOs that a query counts as own code, whatever their folder says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnCode(Vec<DsoId>);

impl OwnCode {
    /// Those of `query` that the profile has.
    pub fn of(profile: &Profile, query: &Query) -> Self {
        Self::named(profile, &query.own)
    }

    /// Those that are named here, as far as the profile has them.
    pub fn named(profile: &Profile, own: &[DsoRef]) -> Self {
        if own.is_empty() {
            return Self::default();
        }
        let is_own = |dso: &Dso| own.iter().any(|own| own.means(dso));
        let own = profile.dsos.iter().filter(|(_, dso)| is_own(dso));
        Self(own.map(|(id, _)| id).collect())
    }
}

impl<'a> Labels<'a> {
    /// For a profile and what is known of its names.
    pub fn new(profile: &'a Profile, symbols: &'a Symbols) -> Self {
        Self { profile, symbols, own: &[] }
    }

    /// The same, where colours follow what is counted as own code.
    pub fn counting(self, own: &'a OwnCode) -> Self {
        Self { own: &own.0, ..self }
    }

    /// Text of a call node.
    pub fn text(&self, label: Label) -> String {
        match label {
            Label::All => "all".to_owned(),
            Label::Group(name) => printable(self.profile.strings.get(name)).into_owned(),
            Label::Family(name) => {
                printable(&family_name(self.profile.strings.get(name))).into_owned()
            }
            Label::NoMapping => NO_MAPPING.to_owned(),
            Label::Dso(_) => self.dso_name(label),
            Label::Function(function) | Label::Inlined(function) => self.function_text(function),
        }
    }

    /// Text that stands by itself: an address tells its DSO, `0x1b8f in libz.so.1`.
    pub fn text_alone(&self, label: Label) -> String {
        let text = self.text(label);
        match label.function() {
            Some(id)
                if self.symbols.function(id).name.is_none() && id.as_unnamed_of().is_none() =>
            {
                format!("{text} in {}", self.dso_name(label))
            }
            _ => text,
        }
    }

    /// Name of a function, or its address in its DSO; `libc.so.6, 1,204 addresses` for all without a name.
    pub fn function_text(&self, id: FunctionId) -> String {
        let rest = id.as_unnamed_of();
        if let Some(dso) = rest {
            let dso = self.profile.dsos.get(dso);
            let alike = self.profile.dsos.iter().filter(|(id, it)| {
                Some(*id) == rest
                    || (it.kind, dso.kind) == (DsoKind::Anon, DsoKind::Anon) && it.path == dso.path
            });
            let addresses = alike.map(|(id, _)| u64::from(self.symbols.unnamed_in(id))).sum();
            let addresses = counted(addresses, "address", "addresses");
            return format!("{}, {addresses}", printable(dso.name()));
        }
        let function = self.symbols.function(id);
        match function.name {
            Some(name) => printable(name).into_owned(),
            None => format!("{:#x}", function.address),
        }
    }

    /// Name and number of a thread.
    pub fn thread_text(&self, thread: Thread) -> String {
        format!("{} {}", printable(self.profile.strings.get(thread.name)), thread.tid)
    }

    /// What orders texts: names by alphabet, then addresses by number.
    pub(super) fn name_key(&self, label: Label) -> NameKey<'a> {
        match label {
            Label::All | Label::NoMapping => NameKey::Last,
            Label::Dso(dso) => NameKey::Name(self.profile.dsos.get(dso).name()),
            Label::Group(name) | Label::Family(name) => {
                NameKey::Name(self.profile.strings.get(name))
            }
            Label::Function(id) | Label::Inlined(id) => {
                let function = self.symbols.function(id);
                match id.as_unnamed_of() {
                    Some(dso) => NameKey::Name(self.profile.dsos.get(dso).name()),
                    None => function.name.map_or(NameKey::Address(function.address), NameKey::Name),
                }
            }
        }
    }

    /// The DSO that a call node's code lies in.
    pub fn dso(&self, label: Label) -> Option<DsoId> {
        match label {
            Label::Dso(dso) => Some(dso),
            label => label.function().map(|function| self.symbols.function(function).dso),
        }
    }

    /// Name of that DSO, empty if there is none.
    pub fn dso_name(&self, label: Label) -> String {
        let name = self.dso(label).map(|dso| self.profile.dsos.get(dso).name());
        printable(name.unwrap_or_default()).into_owned()
    }

    /// Colour of a call node.
    pub fn kind(&self, label: Label) -> Kind {
        match label {
            Label::All | Label::Group(_) | Label::Family(_) => Kind::Pseudo,
            Label::NoMapping => Kind::Unnamed,
            Label::Dso(dso) => self.dso_kind(dso),
            Label::Function(function) | Label::Inlined(function) => self.function_kind(function),
        }
    }

    /// Colour of a function.
    pub fn function_kind(&self, function: FunctionId) -> Kind {
        let function = self.symbols.function(function);
        match (self.profile.dsos.get(function.dso).kind, function.name) {
            (DsoKind::Folded | DsoKind::Pseudo, _) | (_, Some(_)) => self.dso_kind(function.dso),
            (_, None) => Kind::Unnamed,
        }
    }

    /// Colour of the named code of a DSO.
    pub fn dso_kind(&self, id: DsoId) -> Kind {
        let dso = self.profile.dsos.get(id);
        match dso.kind {
            DsoKind::Folded => Kind::Folded,
            DsoKind::Pseudo => Kind::Pseudo,
            DsoKind::Unmapped => Kind::Unnamed,
            DsoKind::Kernel | DsoKind::Module => Kind::Kernel,
            DsoKind::Jit | DsoKind::Anon => Kind::Jit,
            DsoKind::Vdso => Kind::System,
            DsoKind::User if self.own.binary_search(&id).is_ok() => Kind::Own,
            DsoKind::User if is_system(dso) => Kind::System,
            DsoKind::User => Kind::Own,
        }
    }

    /// Marks of a call node.
    pub fn marks(&self, label: Label) -> u8 {
        let inlined = match label {
            Label::Inlined(_) => mark::INLINED,
            Label::Dso(_) => mark::COLLAPSED,
            Label::All | Label::Group(_) => mark::PSEUDO,
            Label::Family(_) => mark::PSEUDO | mark::COLLAPSED,
            _ => 0,
        };
        let forced = label.function().is_some_and(|function| self.is_forced(function));
        let (pseudo, of_kind) = match (self.kind(label), self.dso(label)) {
            (Kind::Folded | Kind::Pseudo, _) => (mark::PSEUDO, 0),
            (Kind::Unnamed, Some(dso)) => (0, (self.dso_kind(dso) as u8) << mark::KIND_SHIFT),
            _ => (0, 0),
        };
        inlined | pseudo | of_kind | if forced { mark::FORCED } else { 0 }
    }

    /// True if the function's name comes from a file that does not match.
    pub fn is_forced(&self, function: FunctionId) -> bool {
        self.symbols.function(function).provenance == Provenance::Forced
    }

    /// Texts from the root's child down to the call node.
    pub fn path(&self, tree: &CallTree, id: CallNodeId) -> Vec<String> {
        tree.path(id).into_iter().skip(1).map(|id| self.text(tree.label(id))).collect()
    }
}

/// Objects in the folders of the system's packages; executables there are somebody's program.
pub fn is_system(dso: &Dso) -> bool {
    is_system_path(&dso.path)
}

/// The same of a path.
pub fn is_system_path(path: &str) -> bool {
    let folders = ["lib/", "lib32/", "lib64/", "libx32/", "libexec/"];
    let below = path.strip_prefix("/usr/").or_else(|| path.strip_prefix('/'));
    let in_system = below.is_some_and(|path| folders.iter().any(|at| path.starts_with(at)));
    let name = path.rsplit('/').next().unwrap_or_default();
    in_system && name.contains(".so") && !path.contains("/../")
}

#[cfg(test)]
mod tests {
    use super::NameKey;

    #[test]
    fn numbers_of_names_are_in_their_order() {
        let names = ["", "\u{1}", "a", "a b", "aa", "abcdefgh", "abcdefghi", "abcdefgi", "ä", "中"];
        let addresses = [0, 1, 2, 0x7fff_ffff_f000, 0xffff_ffff_8100_0000, u64::MAX];
        let names = names.map(NameKey::Name).into_iter();
        let keys = names.chain(addresses.map(NameKey::Address)).chain([NameKey::Last]);
        let keys: Vec<_> = keys.collect();
        assert!(keys.is_sorted());
        assert!(keys.is_sorted_by_key(|key| key.number()));
    }
}
