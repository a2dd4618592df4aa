//! Files from debuginfod servers.

use std::collections::{HashMap, HashSet};

use perftab_core::{DsoId, DsoKind};
use perftab_perfdata::format::BuildId;

use super::{Search, readings};
use crate::debuginfod_client::{Artifact, Client, FetchError, Fetched};
use crate::file_source::FileSource;
use crate::images::download::{self, DownloadOutcome, Job};
use crate::output;

/// A build that servers are asked for.
pub(super) struct Build {
    pub name: String,
    pub dsos: Vec<DsoId>,
}

impl Search<'_> {
    /// Files from debuginfod servers, for what has no source lines yet: the debug file, or if
    /// there is none and nothing else names the DSO, the executable. False if nothing is to be asked for.
    pub(super) fn fetch(&mut self, client: Client) -> anyhow::Result<bool> {
        let (builds, jobs) = self.jobs();
        if jobs.is_empty() {
            return Ok(false);
        }
        // A server that is down fails in the same words for each DSO.
        let mut said = HashSet::new();
        download::fetch_all(client, jobs, &mut |answered| {
            let DownloadOutcome { job, artifact, result } = answered;
            let Some(build) = builds.get(job) else { return };
            match result {
                Ok(fetched) => self.take_fetched(build, &artifact, fetched),
                Err(FetchError::Cancelled) => {}
                Err(error) => {
                    if !error.is_not_found() && said.insert(error.to_string()) {
                        output::notice(format_args!("{}: {error}", build.name));
                    }
                    let FetchError::NotGiven(servers) = error else { return };
                    for server in servers {
                        let what = format!("{artifact} from {}", server.host());
                        for &dso in &build.dsos {
                            self.session.note_attempt(dso, &what, &server.outcome.in_short());
                        }
                    }
                }
            }
        })?;
        Ok(true)
    }

    /// What is to be fetched: each build once, whatever number of paths it has.
    fn jobs(&mut self) -> (Vec<Build>, Vec<Job>) {
        let (mut builds, mut jobs): (Vec<Build>, Vec<Job>) = (Vec::new(), Vec::new());
        let mut known: HashMap<BuildId, usize> = HashMap::new();
        for wanted in &self.wanted[self.asked_for..] {
            let is_unwound = matches!(wanted.kind, DsoKind::User | DsoKind::Vdso);
            let lacks_tables = is_unwound && self.session.lacks_unwind_tables(wanted.dso);
            let has_all = self.have_lines.contains(&wanted.dso) && !lacks_tables;
            let Some(id) = wanted.build_id.filter(|_| !has_all) else {
                continue;
            };
            let index = *known.entry(id).or_insert(builds.len());
            if index == builds.len() {
                let name = wanted.path.rsplit('/').next().unwrap_or(&wanted.path).to_owned();
                builds.push(Build { name, dsos: Vec::new() });
                let ids = readings(Some(id)).collect();
                jobs.push(Job { ids, artifacts: vec![Artifact::DebugInfo] });
                if lacks_tables {
                    // Beside the debug file, which has none as a rule.
                    let (name, ids) = (builds[index].name.clone(), readings(Some(id)).collect());
                    builds.push(Build { name, dsos: vec![wanted.dso] });
                    jobs.push(Job { ids, artifacts: vec![Artifact::Executable] });
                }
            }
            builds[index].dsos.push(wanted.dso);
            let artifacts = &mut jobs[index].artifacts;
            if !self.named.contains(&wanted.dso) && !lacks_tables && artifacts.len() == 1 {
                artifacts.push(Artifact::Executable);
            }
        }
        self.asked_for = self.wanted.len();
        (builds, jobs)
    }

    pub(super) fn take_fetched(&mut self, build: &Build, artifact: &Artifact, fetched: Fetched) {
        let label = format!("{artifact} of {} from debuginfod", build.name);
        let Ok(source) = FileSource::new(fetched.file) else { return };
        if let Some(fault) = fetched.fault {
            output::notice(format_args!("{label} is not kept: {fault}"));
        }
        let report = self.offer_source(&label, source);
        for refused in &report.not_used {
            output::notice(format_args!("{label} is not used: {}", refused.message));
        }
    }
}
