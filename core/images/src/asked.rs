//! Addresses that are to be named, and what is said of them: plain values, for whoever asks and whoever
//! answers may be in two places.

use perftab_dsos::{Dso, DsoId};
use serde::{Deserialize, Serialize};

use super::dso_images::{DsoImages, LostInlines};
use super::naming::{DsoNaming, MatchedNames, NamingDepth};

/// Of one profile: which naming of a DSO is meant. Later ones have greater numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Ticket(pub u32);

/// A slice of the addresses of a DSO, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRequest {
    /// Slices of one naming have one ticket, and are asked for in order.
    pub ticket: Ticket,
    /// Whose addresses they are.
    pub dso: DsoId,
    /// How deep they are named.
    pub depth: NamingDepth,
    /// How many were asked for before them.
    pub first: u32,
    /// Where code lies, as frames have it.
    pub addresses: Vec<u64>,
    /// How many are still to be asked for.
    pub rest: u32,
}

/// What is said of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameAnswer {
    /// As in the request.
    pub ticket: Ticket,
    /// As in the request.
    pub first: u32,
    /// `None`: nothing names the DSO, however often it is asked.
    pub names: Option<MatchedNames>,
    /// With the last slice: what could not be read of the debug information.
    pub lost: Option<LostInlines>,
}

impl DsoImages {
    /// Answers a request of this naming. `dso` is the one that it names.
    pub fn answer(&self, naming: &mut DsoNaming, dso: &Dso, request: &NameRequest) -> NameAnswer {
        let names = self.name(naming, dso, request.addresses.iter().copied());
        let is_last = request.rest == 0;
        let lost = if is_last { self.lost_inlines(request.dso) } else { None };
        NameAnswer { ticket: request.ticket, first: request.first, names, lost }
    }
}
