//! Which DSOs a file may be of, by its name: hints for people, which decide nothing.

use perftab_profile::DsoId;

use super::Session;

impl Session {
    /// The DSOs that somebody who names a file so may mean: those of its name, or what a perf map or
    /// jitdump of its name is of. A hint, which decides nothing.
    pub fn namesakes(&self, name: &str) -> Vec<DsoId> {
        let of_table = self.of_code_table(name);
        if of_table.is_empty() { self.recorded.named_like(name) } else { of_table }
    }
}
