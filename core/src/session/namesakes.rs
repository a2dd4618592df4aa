//! Which DSOs a file may be of, by its name: hints for people, which decide nothing.

use perftab_profile::{DsoId, DsoKind};

use super::Session;

impl Session {
    /// The DSOs that somebody who names a file so may mean: those of its name, or what a perf map of
    /// its name is of. A hint, which decides nothing.
    pub fn namesakes(&self, name: &str) -> Vec<DsoId> {
        let of_map = self.of_perf_map(name);
        if of_map.is_empty() { self.recorded.named_like(name) } else { of_map }
    }

    /// Memory without a file in the processes that would write a perf map of this name
    /// (`perf-PID.map`); nothing for another name. A process in a container names it by its pid in
    /// there, which is not recorded.
    pub(super) fn of_perf_map(&self, name: &str) -> Vec<DsoId> {
        let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let pid = base.strip_prefix("perf-").and_then(|rest| rest.strip_suffix(".map"));
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { return Vec::new() };
        let threads = &self.profile.threads;
        let dsos = self.profile.dsos.iter().filter(|(_, dso)| dso.kind == DsoKind::Anon);
        dsos.filter(|(_, dso)| {
            dso.process.is_some_and(|process| threads.process(process).pid == pid)
        })
        .map(|(id, _)| id)
        .collect()
    }
}
