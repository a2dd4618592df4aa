//! Memory accesses by what they were of, or by what the hardware says of them: a table beside that of functions.
//!
//! An access counts once, for one row: what it cost, as `perf report --mem-mode` has it. What has no name is
//! told apart only where that may be worth something: by address in a file that was executed somewhere, as a
//! whole in all other memory.

use perftab_names::DataObject;
use perftab_perfdata::decode::data_source::{AccessPart, DataSource};
use perftab_perfdata::map::Map;
use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::{number_of, sort_by, sort_by_numbers};
use perftab_perfdata::text::printable;
use perftab_profile::{DsoId, DsoKind, Profile, StringId};
use serde::Deserialize;

use crate::Query;
use crate::data_access::{AccessNames, is_of_kernel};
use crate::ends::RemainingSamples;
use crate::filter::Filter;
use crate::functions::{FunctionKey, FunctionOrder, SortDirection, dso_places};
use crate::label::{Kind, Labels, NO_MAPPING, NameKey};

/// What a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum AccessGroup {
    /// A variable or table, or what else the data lay in.
    #[default]
    Object,
    /// Where the data was found.
    Level,
    /// What other caches said.
    Snoop,
    /// How the address was translated.
    Tlb,
    /// Whether it was locked.
    Locked,
}

impl AccessGroup {
    fn part(self) -> Option<AccessPart> {
        match self {
            Self::Object => None,
            Self::Level => Some(AccessPart::Level),
            Self::Snoop => Some(AccessPart::Snoop),
            Self::Tlb => Some(AccessPart::Tlb),
            Self::Locked => Some(AccessPart::Lock),
        }
    }
}

/// Accesses of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccessRow {
    /// The same whatever filters leave, until data gets other names.
    pub id: u32,
    /// What they are of.
    pub subject: Subject,
    /// What they cost.
    pub sum: CostSum,
}

/// Accesses, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostSum {
    /// How many.
    pub accesses: u64,
    /// What they cost, at least 1 each.
    pub cost: u64,
    /// What was recorded of that.
    pub recorded: u64,
}

impl CostSum {
    fn add(&mut self, cost: u64, count: u64) {
        self.accesses = self.accesses.saturating_add(count);
        self.cost = self.cost.saturating_add(cost.max(1));
        self.recorded = self.recorded.saturating_add(cost);
    }

    /// What one cost; 0 if that was not recorded.
    pub fn mean(self) -> f64 {
        self.recorded as f64 / self.accesses.max(1) as f64
    }
}

/// Text of what is at no address that was recorded.
const NO_ADDRESS: &str = "[no address]";
/// Text of the kernel's memory that nothing is known of.
const KERNEL_MEMORY: &str = "[kernel memory]";

/// The accesses that a query takes, of those that its steps leave, in order; in slices of accesses. `data` is of use
/// for objects only.
pub async fn rows(
    (profile, data, left): (&Profile, &AccessNames, &RemainingSamples),
    query: &Query,
    group: AccessGroup,
    order: FunctionOrder,
    slice: &Slice,
) -> Vec<AccessRow> {
    let filter = Filter::new(profile, query);
    let mut rows: Vec<AccessRow> = Vec::new();
    let mut known: Map<Subject, u32> = Map::new();
    let mut all = 0..profile.accesses.len();
    slice.expect(all.len());
    while let Some(part) = slice.part(&mut all).await {
        for number in part {
            let Some((row, access)) = profile.accesses.with_row(number) else { continue };
            // Those that are filtered away have a number, too.
            let subject = match group.part() {
                Some(part) => Subject::Part(part, access.source.only(part)),
                None => Subject::of(number, profile, data),
            };
            let id = *known.entry(subject).or_insert_with(|| {
                let id = rows.len() as u32;
                rows.push(AccessRow { id, subject, sum: CostSum::default() });
                id
            });
            if filter.is_of_event(row) && filter.removed_by(row).is_none() && left.has(profile, row)
            {
                rows[id as usize].sum.add(access.cost, filter.sum(row).samples);
            }
        }
    }
    rows.retain(|row| row.sum.accesses > 0);
    sort(&mut rows, order, profile, data);
    rows
}

/// There may be hundreds of thousands: texts are compared only where numbers do not decide.
fn sort(rows: &mut [AccessRow], order: FunctionOrder, profile: &Profile, data: &AccessNames) {
    let directed = |number: u64| match order.direction {
        SortDirection::Descending => !number,
        SortDirection::Ascending => number,
    };
    let dso_places = dso_places(profile, order);
    let place = |row: &AccessRow| row.subject.within().map_or(0, |dso| dso_places[dso.index()]);
    let name = |row: &AccessRow| row.subject.name_key(profile, data);
    let numbers = |row: &AccessRow| {
        let cost = !row.sum.cost;
        match order.key {
            FunctionKey::SelfWeight => (directed(row.sum.cost), name(row).number()),
            FunctionKey::Total => (directed(row.sum.accesses), cost),
            FunctionKey::Mean => (directed(number_of(row.sum.mean())), cost),
            FunctionKey::Name => (directed(name(row).number()), 0),
            FunctionKey::Dso => (directed(place(row)), cost),
        }
    };
    sort_by_numbers(rows, numbers);
    let mut rest = if order.key == FunctionKey::Name { rows } else { &mut [] };
    while let Some(first) = rest.first() {
        let first = numbers(first);
        let others = rest.iter().position(|row| numbers(row) != first);
        let (alike, others) = rest.split_at_mut(others.unwrap_or(rest.len()));
        sort_by(alike, |a, b| match order.direction {
            SortDirection::Descending => name(b).cmp(&name(a)),
            SortDirection::Ascending => name(a).cmp(&name(b)),
        });
        rest = others;
    }
}

/// What an access is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// An object by where it begins, or a function.
    Object {
        /// Where it is.
        dso: DsoId,
        /// What it is called, in [`AccessNames::names`].
        name: StringId,
        /// `None` for a function.
        start: Option<u64>,
    },
    /// An address of a file that was executed.
    Address(DsoId, u64),
    /// All that lies in a file that was not, in the heap, on a stack and so on.
    Whole(DsoId),
    /// An address of the kernel that nothing is known to be at.
    KernelMemory,
    /// Such an address of a process.
    NoMapping,
    /// No address was recorded.
    NoAddress,
    /// What the hardware says.
    Part(AccessPart, DataSource),
}

/// How a row is shown.
pub struct ShownAccess {
    /// Name of the object, or what there is instead; or what the hardware says.
    pub name: String,
    /// The DSO that it is in; empty for what is in none, or is one.
    pub within: String,
    /// Colour.
    pub kind: Kind,
}

impl Subject {
    /// What the data of an access is.
    fn of(access: usize, profile: &Profile, data: &AccessNames) -> Self {
        let Some(place) = data.place_of(access) else { return Self::NoAddress };
        if let Some((dso, DataObject { name, offset })) = data.object(place) {
            let start = offset.map(|offset| place.address.wrapping_sub(offset));
            return Self::Object { dso, name, start };
        }
        let has_code = |dso: DsoId| {
            let dso = profile.dsos.get(dso);
            match dso.kind {
                DsoKind::User => !dso.executable.is_empty(),
                DsoKind::Kernel | DsoKind::Module | DsoKind::Vdso => true,
                _ => false,
            }
        };
        match place.dso {
            Some(dso) if has_code(dso) => Self::Address(dso, place.address),
            Some(dso) => Self::Whole(dso),
            None if place.address == 0 => Self::NoAddress,
            None if is_of_kernel(place.address) => Self::KernelMemory,
            None => Self::NoMapping,
        }
    }

    fn within(self) -> Option<DsoId> {
        match self {
            Self::Object { dso, .. } | Self::Address(dso, _) => Some(dso),
            _ => None,
        }
    }

    /// What the hardware says stands by its bits.
    fn name_key<'a>(self, profile: &'a Profile, data: &'a AccessNames) -> NameKey<'a> {
        match self {
            Self::Object { name, .. } => NameKey::Name(data.names.text(name)),
            Self::Address(_, address) => NameKey::Address(address),
            Self::Whole(dso) => NameKey::Name(profile.dsos.get(dso).name()),
            Self::KernelMemory => NameKey::Name(KERNEL_MEMORY),
            Self::NoMapping => NameKey::Name(NO_MAPPING),
            Self::NoAddress => NameKey::Name(NO_ADDRESS),
            Self::Part(_, source) => NameKey::Address(source.number()),
        }
    }

    /// How it is shown; its DSO has the colour of code there.
    pub fn shown(self, profile: &Profile, data: &AccessNames, labels: &Labels<'_>) -> ShownAccess {
        let within = self.within().map(|dso| profile.dsos.get(dso).name()).unwrap_or_default();
        let name = match (self, self.name_key(profile, data)) {
            (Self::Part(part, source), _) => source.text(part).to_string().trim_end().to_owned(),
            (_, NameKey::Name(name)) => printable(name).into_owned(),
            (_, NameKey::Address(address)) => format!("{address:#x}"),
            (_, NameKey::Last) => String::new(),
        };
        let kind = match self {
            Self::Object { dso, .. } => labels.dso_kind(dso),
            Self::Whole(_) | Self::Part(..) => Kind::Pseudo,
            _ => Kind::Unnamed,
        };
        ShownAccess { name, within: printable(within).into_owned(), kind }
    }
}
