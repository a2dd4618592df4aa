//! What the files of a DSO say of addresses of its data: the variable or table there, and how far into it; or
//! the function, where code is read.
//!
//! As with code ([`super::naming`]), addresses come in, names go out, and with them the identity of the
//! files that they are from.

use perftab_dsos::{Dso, DsoId, Identity};

use crate::dso_images::DsoImages;
use crate::naming::{AddressNames, DsoNaming, NamingDepth};

/// Names of data from files that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedObjects {
    /// What the files are.
    pub identity: Identity,
    /// What they say: of each address one level, without file and line.
    pub names: AddressNames,
    /// By address: how many bytes behind the start of the object that it is in; `None` for a function.
    pub offsets: Vec<Option<u64>>,
}

impl DsoImages {
    /// Names addresses of the data of a DSO, as frames would have them, by its matched files; `None` if there
    /// are none, or none that tells where it lay.
    pub fn name_objects(&self, id: DsoId, dso: &Dso, addresses: &[u64]) -> Option<MatchedObjects> {
        let build = self.build(id)?;
        let identity = self.of(id).first()?.identity();
        let placement = build.placement(dso).ok()?;
        let mut naming = DsoNaming::new(id, NamingDepth::Functions);
        naming.bound_texts(build.objects());
        let mut names = AddressNames::of_so_many(addresses.len());
        let offsets = addresses.iter().map(|&address| {
            let at = placement.svma_of_data(dso.kind, address);
            let object = at.and_then(|at| build.objects().at(at));
            let met = match (object, at) {
                (Some(object), _) => naming.met_object(&object, &mut names),
                (None, Some(at)) => {
                    let function = build.symbols().at(at);
                    function.and_then(|function| naming.met_symbol(&function, &mut names))
                }
                (None, None) => None,
            };
            names.push_one(met);
            Some(at?.0.wrapping_sub(object?.start.0))
        });
        let offsets = offsets.collect();
        Some(MatchedObjects { identity, names, offsets })
    }
}
