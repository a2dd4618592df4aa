//! Which DSOs a perf map is of, by its name: what a run time made in one process.

use super::Session;
use crate::profile::{DsoId, DsoKind};

impl Session {
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
