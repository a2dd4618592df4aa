//! How the data of memory accesses gets its names: from files that passed the gate, as code does.

use perftab_views::data_access::AccessNames;

use super::Session;

impl Session {
    /// Looks up where the data of memory accesses lay. From then on files are wanted that may name it.
    pub fn look_up_data(&mut self) {
        if self.data.is_none() {
            self.data = Some(AccessNames::of(&self.profile));
        }
    }

    /// Names that data by the files that the session was given.
    pub fn name_data(&mut self) {
        self.look_up_data();
        let (Some(data), Some(images)) = (&mut self.data, &self.images) else { return };
        for (dso, addresses) in data.wanted() {
            if let Some(answer) = images.name_objects(dso, &addresses) {
                data.names.take(&self.recorded, dso, &addresses, &answer);
            }
        }
    }
}
