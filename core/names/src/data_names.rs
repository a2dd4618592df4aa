//! Names of data: what lies at addresses of DSOs that samples of memory accesses have.

use perftab_images::{MatchedObjects, RecordedIdentities};
use perftab_perfdata::map::Map;
use perftab_profile::{DsoId, StringId, Strings};

/// Names of data of one profile.
#[derive(Clone, Debug, Default)]
pub struct DataNames {
    texts: Strings,
    objects: Map<(DsoId, u64), DataObject>,
}

/// A place in a variable or table, or a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataObject {
    /// Its name, in [`DataNames`].
    pub name: StringId,
    /// How many bytes behind its start; `None` for a function.
    pub offset: Option<u64>,
}

impl DataNames {
    /// Takes in what files say of addresses of a DSO, in the order in which they were asked for. What is not
    /// of the build that was recorded, or cannot be right, names nothing.
    pub fn take(
        &mut self,
        recorded: &RecordedIdentities,
        dso: DsoId,
        addresses: &[u64],
        answer: &MatchedObjects,
    ) {
        let MatchedObjects { identity, names, offsets } = answer;
        let is_right = recorded.admits(dso, *identity)
            && names.fit(addresses.len(), 0, 0)
            && offsets.len() == addresses.len();
        if !is_right {
            return;
        }
        let texts: Vec<StringId> =
            names.functions.iter().map(|name| self.texts.intern(name)).collect();
        for ((&address, levels), &offset) in addresses.iter().zip(names.by_address()).zip(offsets) {
            let number = levels.first().and_then(|level| level.function);
            if let Some(&name) = number.and_then(|number| texts.get(number.0 as usize)) {
                self.objects.insert((dso, address), DataObject { name, offset });
            }
        }
    }

    /// What lies at an address of a DSO, if it has a name.
    pub fn at(&self, dso: DsoId, address: u64) -> Option<DataObject> {
        self.objects.get(&(dso, address)).copied()
    }

    /// A name.
    pub fn text(&self, name: StringId) -> &str {
        self.texts.get(name)
    }
}

#[cfg(test)]
mod tests {
    use perftab_images::{AddressNames, FunctionNumber, NamedLevel};
    use perftab_perfdata::format::BuildId;
    use perftab_profile::{DsoKind, Dsos, Identity, MappedFrom};

    use super::*;

    /// `table` at the first of two addresses, nothing at the second.
    fn answer(identity: Identity) -> MatchedObjects {
        let level = |function| NamedLevel { function, file: None, line: None };
        let names = AddressNames {
            functions: vec!["table".to_owned()],
            lengths: vec![1, 1],
            levels: vec![level(Some(FunctionNumber(0))), level(None)],
            ..AddressNames::default()
        };
        MatchedObjects { identity, names, offsets: vec![Some(4), None] }
    }

    #[test]
    fn only_what_is_of_the_recorded_build_and_can_be_right_names_data() {
        let identity = |last| Identity::Gnu(BuildId::new(&[1, 2, 3, last]).expect("not all zero"));
        let mut dsos = Dsos::default();
        let id = identity(4);
        let dso = dsos.intern("/bin/app", DsoKind::User, MappedFrom::Nothing, None);
        dsos.get_mut(dso).identity = Some(id);
        let recorded = RecordedIdentities::new(&dsos);
        let named = |answer: MatchedObjects| {
            let mut names = DataNames::default();
            names.take(&recorded, dso, &[16, 32], &answer);
            let at = |address| names.at(dso, address);
            assert_eq!(at(32), None, "it was given no name");
            at(16).map(|object| (names.text(object.name).to_owned(), object.offset))
        };
        assert_eq!(named(answer(id)), Some(("table".to_owned(), Some(4))));
        assert_eq!(named(answer(identity(5))), None, "of another build");
        assert_eq!(named(MatchedObjects { offsets: vec![Some(4)], ..answer(id) }), None);
        let mut unexplained = answer(id);
        unexplained.names.functions.clear();
        assert_eq!(named(unexplained), None);
    }
}
