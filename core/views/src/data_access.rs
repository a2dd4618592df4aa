//! Memory accesses of samples: what they were, and of which data.

use perftab_names::{DataNames, DataObject};
use perftab_perfdata::decode::data_source::{AccessPart, DataSource};
use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::slice::Slice;
use perftab_profile::{Access, DsoId, DsoKind, MappedIn, Profile};

/// What accesses are told apart by: a sort key of `perf report --mem-mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKey {
    /// A part of what the hardware says. perf compares levels by their older bits alone, and shows those of
    /// any of the samples; here a row has one text.
    Part(AccessPart),
    /// What each cost.
    LocalWeight,
    /// The same, of which rows show the sum.
    Weight,
    /// The variable or table, and the place in it; or the address.
    Object,
    /// The DSO that the data is in.
    Dso,
    /// Where the data is in the machine's memory.
    PhysicalAddress,
    /// Bytes of the page that it is in.
    PageSize,
}

/// What an access has for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessValue {
    /// Bits that one part of this source is made of.
    Part(DataSource),
    /// A cost, a physical address, bytes of a page.
    Number(u64),
    /// A place in a variable or table of a DSO.
    Object(DsoId, DataObject),
    /// An address without a name.
    Address(u64),
    /// A DSO, if it is known.
    Dso(Option<DsoId>),
}

impl AccessKey {
    /// All sort keys, in the order in which perf sorts by default.
    pub const ALL: [Self; 11] = [
        Self::LocalWeight,
        Self::Weight,
        Self::Part(AccessPart::Level),
        Self::Object,
        Self::Dso,
        Self::Part(AccessPart::Snoop),
        Self::Part(AccessPart::Tlb),
        Self::Part(AccessPart::Lock),
        Self::Part(AccessPart::Blocked),
        Self::PhysicalAddress,
        Self::PageSize,
    ];

    /// perf's name of it, and the member that rows have in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Part(AccessPart::Operation) => "op", // Of newer versions.
            Self::Part(AccessPart::Level) => "mem",
            Self::Part(AccessPart::Snoop) => "snoop",
            Self::Part(AccessPart::Tlb) => "tlb",
            Self::Part(AccessPart::Lock) => "locked",
            Self::Part(AccessPart::Blocked) => "blocked",
            Self::LocalWeight => "local_weight",
            Self::Weight => "weight",
            Self::Object => "symbol_daddr",
            Self::Dso => "dso_daddr",
            Self::PhysicalAddress => "phys_daddr",
            Self::PageSize => "data_page_size",
        }
    }

    /// Whether it is told by where data lay.
    pub fn is_of_place(self) -> bool {
        matches!(self, Self::Object | Self::Dso)
    }
}

/// An address of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataPlace {
    /// What was mapped there; `None`: nothing that is known.
    pub dso: Option<DsoId>,
    /// As a frame's ([`perftab_profile::Frame::address`]); of what is in no DSO, the address itself.
    pub address: u64,
}

/// Where the data of accesses lay, and what is called what there.
#[derive(Clone, Debug, Default)]
pub struct AccessNames {
    places: Vec<DataPlace>,
    /// By access, its place.
    of_access: Vec<u32>,
    /// Names data that nothing is known to be mapped at, if it is the kernel's.
    kernel: Option<DsoId>,
    /// What files say of them.
    pub names: DataNames,
}

impl AccessNames {
    /// Looks up all accesses of a profile, each in what its process or the kernel had mapped then, in slices of
    /// accesses. Nothing has a name.
    pub async fn of(profile: &Profile, slice: &Slice) -> Self {
        let mut kernels = profile.dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::Kernel);
        let kernel = kernels.next().map(|(id, _)| id);
        let mut this = Self { kernel, ..Self::default() };
        let mut known: Map<DataPlace, u32> = Map::new();
        let mut all = 0..profile.accesses.len();
        slice.expect(all.len());
        while let Some(part) = slice.part(&mut all).await {
            for (row, access) in part.filter_map(|number| profile.accesses.with_row(number)) {
                let place = place(profile, row, access.address);
                let places = &mut this.places;
                let number = *known.entry(place).or_insert_with(|| {
                    places.push(place);
                    places.len() as u32 - 1
                });
                this.of_access.push(number);
            }
        }
        this
    }

    /// Where the data of the access of this number lay.
    pub(super) fn place_of(&self, access: usize) -> Option<DataPlace> {
        self.places.get(*self.of_access.get(access)? as usize).copied()
    }

    /// What lies at a place, if it has a name.
    pub(super) fn object(&self, place: DataPlace) -> Option<(DsoId, DataObject)> {
        let (dso, address) = self.named_by(place)?;
        Some((dso, self.names.at(dso, address)?))
    }

    /// The DSOs whose files may name some of it.
    pub fn wanted(&self) -> Set<DsoId> {
        self.places.iter().filter_map(|&place| self.named_by(place)).map(|(dso, _)| dso).collect()
    }

    /// The addresses that files of a DSO may name.
    pub fn wanted_of(&self, dso: DsoId) -> Vec<u64> {
        let named = self.places.iter().filter_map(|&place| self.named_by(place));
        named.filter(|&(of, _)| of == dso).map(|(_, address)| address).collect()
    }

    /// The DSO whose files name what is at a place. No record maps all data of a kernel.
    fn named_by(&self, place: DataPlace) -> Option<(DsoId, u64)> {
        let of_kernel = || self.kernel.filter(|_| is_of_kernel(place.address));
        Some((place.dso.or_else(of_kernel)?, place.address))
    }

    /// What the sample of a row has for a key.
    pub fn value(&self, profile: &Profile, row: usize, key: AccessKey) -> AccessValue {
        let number = profile.accesses.of_row(row);
        let access = number.and_then(|number| profile.accesses.get(number)).unwrap_or(Access::NONE);
        let place = || self.place_of(number?);
        let object = || self.object(place()?);
        match key {
            AccessKey::Part(part) => AccessValue::Part(access.source.only(part)),
            AccessKey::LocalWeight | AccessKey::Weight => AccessValue::Number(access.cost),
            AccessKey::PhysicalAddress => AccessValue::Number(access.physical_address),
            AccessKey::PageSize => AccessValue::Number(access.page_size),
            AccessKey::Object => match object() {
                Some((dso, object)) => AccessValue::Object(dso, object),
                None => AccessValue::Address(access.address),
            },
            AccessKey::Dso => {
                let dso = place().and_then(|place| place.dso);
                AccessValue::Dso(dso.or_else(|| object().map(|(dso, _)| dso)))
            }
        }
    }

    /// What the access of a sample cost, at least 1.
    pub fn cost(&self, profile: &Profile, row: usize) -> u64 {
        let number = profile.accesses.of_row(row);
        number.and_then(|number| profile.accesses.get(number)).map_or(1, |it| it.cost.max(1))
    }
}

/// Addresses of 64-bit kernels are those of the upper half.
pub(super) fn is_of_kernel(address: u64) -> bool {
    address >> 63 == 1
}

fn place(profile: &Profile, row: usize, address: u64) -> DataPlace {
    let process = || {
        let thread = profile.samples.thread.get(row)?;
        Some(profile.threads.thread(thread).process.into())
    };
    let of = if is_of_kernel(address) { Some(MappedIn::Kernel) } else { process() };
    let space = of.and_then(|of| profile.mappings.space_at(of, row));
    match space.and_then(|space| profile.mappings.data_in(space, address)) {
        Some(frame) => DataPlace { dso: Some(frame.dso), address: frame.address },
        None => DataPlace { dso: None, address },
    }
}
