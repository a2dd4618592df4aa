//! Functions, DSOs and call nodes by what they are called: what stays the same when ids do not,
//! across naming, reloads and links.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::sort;
use std::fmt;

use perftab_names::{FunctionId, Symbols};
use perftab_profile::{Dso, DsoId, Profile};
use serde::{Deserialize, Serialize};

use crate::Query;
use crate::call_tree::Label;
use crate::transform::Transform;

/// A DSO by its path and identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct DsoRef {
    /// As recorded; or its last part, which is all that a link may tell.
    pub path: String,
    /// The recorded identity in hex; null if there is none.
    pub build_id: Option<String>,
}

impl DsoRef {
    /// What `dso` is called.
    pub fn of(dso: &Dso) -> Self {
        let build_id = dso.identity.map(|identity| identity.to_string());
        Self { path: dso.path.clone(), build_id }
    }

    /// True if `dso` is meant: the same identity (or none) and the same path, or the last part of
    /// it where more is not known.
    pub fn means(&self, dso: &Dso) -> bool {
        let is_short = |path: &str| !path.contains('/');
        let same_path = self.path == dso.path
            || ((is_short(&self.path) || is_short(&dso.path))
                && last_part(&self.path) == last_part(&dso.path));
        same_path && self.build_id == dso.identity.map(|identity| identity.to_string())
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A function by its name, or by where it lies while it has none. An address that was taken when
/// there were no names means the function that turns out to cover it. Without either it is all code of
/// the DSO that has no name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct FunctionRef {
    /// Where it lies.
    pub dso: DsoRef,
    /// Its name; null if it has none.
    pub name: Option<String>,
    /// Its address in the DSO, as `0x1b8f70`; null if it has a name or is more than one address.
    pub address: Option<HexAddress>,
}

impl FunctionRef {
    /// What a function is called.
    pub fn of(profile: &Profile, symbols: &Symbols, function: FunctionId) -> Self {
        let is_address = function.as_unnamed_of().is_none();
        let function = symbols.function(function);
        let name = function.name.map(str::to_owned);
        let address = (is_address && name.is_none()).then_some(HexAddress(function.address));
        Self { dso: DsoRef::of(profile.dsos.get(function.dso)), name, address }
    }
}

/// An address in a DSO; as text in hex, since not every one fits a number of JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(type = "string"))]
#[serde(try_from = "String", into = "String")]
pub struct HexAddress(pub u64);

impl From<HexAddress> for String {
    fn from(address: HexAddress) -> Self {
        format!("{:#x}", address.0)
    }
}

/// A text is no address in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnAddress;

impl fmt::Display for NotAnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address is 0x and up to 16 hex digits")
    }
}

impl TryFrom<String> for HexAddress {
    type Error = NotAnAddress;

    fn try_from(text: String) -> Result<Self, NotAnAddress> {
        let digits = text.strip_prefix("0x").ok_or(NotAnAddress)?;
        u64::from_str_radix(digits, 16).map(Self).map_err(|_| NotAnAddress)
    }
}

/// One step of the way to a call node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(tag = "kind", rename_all = "kebab-case", try_from = "PathPartFields")]
pub enum PathPart {
    /// Processes of a name.
    Process {
        /// It.
        name: String,
    },
    /// Threads of a name.
    Thread {
        /// It.
        name: String,
    },
    /// A function that was called.
    Function {
        /// Which.
        function: FunctionRef,
    },
    /// A function inlined into the one before.
    Inlined {
        /// Which.
        function: FunctionRef,
    },
    /// All functions of a DSO, collapsed.
    Dso {
        /// Which.
        dso: DsoRef,
    },
    /// Words of call chains in no mapping.
    NoMapping,
}

/// What any part may have, as with steps (`transform.rs`).
#[derive(Deserialize)]
struct PathPartFields {
    kind: String,
    name: Option<String>,
    function: Option<FunctionRef>,
    dso: Option<DsoRef>,
}

impl TryFrom<PathPartFields> for PathPart {
    type Error = &'static str;

    fn try_from(fields: PathPartFields) -> Result<Self, &'static str> {
        let PathPartFields { kind, name, function, dso } = fields;
        let name = name.ok_or("a part of a way needs its name");
        let function = function.ok_or("a part of a way needs its function");
        Ok(match kind.as_str() {
            "process" => Self::Process { name: name? },
            "thread" => Self::Thread { name: name? },
            "function" => Self::Function { function: function? },
            "inlined" => Self::Inlined { function: function? },
            "dso" => Self::Dso { dso: dso.ok_or("a part of a way needs its DSO")? },
            "no-mapping" => Self::NoMapping,
            _ => return Err("there is no such part of a way"),
        })
    }
}

/// Finds what references mean in one profile, as it is named now.
pub(super) struct Resolver<'a> {
    pub profile: &'a Profile,
    pub symbols: &'a Symbols,
    dsos: Map<DsoRef, Vec<DsoId>>,
}

/// Functions that one reference means: more than one where names of several origins meet, or
/// where DSOs cannot be told apart.
pub(super) struct FunctionSet(Vec<FunctionId>);

impl FunctionSet {
    /// Their numbers.
    pub fn iter(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.0.iter().copied()
    }

    /// True if the label is that of one of them, called or inlined.
    pub fn has(&self, label: Label) -> bool {
        label.function().is_some_and(|function| self.0.binary_search(&function).is_ok())
    }
}

impl<'a> Resolver<'a> {
    pub fn new(profile: &'a Profile, symbols: &'a Symbols) -> Self {
        Self { profile, symbols, dsos: Map::new() }
    }

    /// The DSOs that are meant.
    pub fn dsos(&mut self, wanted: &DsoRef) -> &[DsoId] {
        let profile = self.profile;
        self.dsos.entry(wanted.clone()).or_insert_with(|| {
            let meant = profile.dsos.iter().filter(|(_, dso)| wanted.means(dso));
            meant.map(|(id, _)| id).collect()
        })
    }

    /// What a query names by its address.
    pub fn addresses_in(&mut self, query: &Query) -> FunctionSet {
        let parts = query.steps.iter().flat_map(Transform::path).filter_map(|part| match part {
            PathPart::Function { function } | PathPart::Inlined { function } => Some(function),
            _ => None,
        });
        let steps = query.steps.iter().filter_map(Transform::function);
        let around = query.around.iter().map(|around| &around.function);
        let named = steps.chain(parts).chain(around).filter(|named| named.address.is_some());
        let mut found: Vec<FunctionId> = named.flat_map(|named| self.functions(named).0).collect();
        sort(&mut found);
        FunctionSet(found)
    }

    /// The functions that are meant.
    pub fn functions(&mut self, wanted: &FunctionRef) -> FunctionSet {
        let (profile, symbols) = (self.profile, self.symbols);
        let dsos = self.dsos(&wanted.dso).iter().copied();
        let mut found: Vec<FunctionId> = match (&wanted.name, wanted.address) {
            (Some(name), _) => {
                let name = symbols.find_name(name);
                let dsos = dsos.filter_map(|dso| Some((dso, name?)));
                dsos.flat_map(|(dso, name)| symbols.functions_named(dso, name)).collect()
            }
            (None, Some(HexAddress(address))) => {
                dsos.flat_map(|dso| symbols.functions_at(profile, dso, address)).collect()
            }
            (None, None) => dsos.flat_map(|dso| symbols.functions_unnamed(profile, dso)).collect(),
        };
        sort(&mut found);
        found.dedup();
        FunctionSet(found)
    }
}
