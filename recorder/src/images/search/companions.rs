//! Companions of images that are used: what did not run, and has a part of their debug information.

use std::iter;
use std::path::{Path, PathBuf};

use perftab_core::SupplementaryLink;

use super::Search;
use super::servers::Build;
use crate::cli::ImageArgs;
use crate::debuginfod_client::{Artifact, Client, Patience};
use crate::images::companions::{is_newer, packages_of, unit_paths};
use crate::images::download::{self, Job};
use crate::images::local::Places;
use crate::output;

impl Search<'_> {
    /// What dwz moved out of debug files that are used, into a file that several share.
    pub(super) fn find_supplementary(
        &mut self,
        args: &ImageArgs,
        places: Option<&Places>,
    ) -> anyhow::Result<()> {
        for (by, link) in self.session.wanted_supplementary() {
            let folder = Path::new(&by).parent().unwrap_or(Path::new(""));
            if let Some(places) = places {
                let linked = iter::once(folder.join(&link.path));
                let by_id = places.debug_files(link.build_id).into_iter();
                for path in linked.chain(by_id) {
                    self.offer(&path);
                }
            }
        }
        let wanted = self.session.wanted_supplementary();
        let job = |link: &SupplementaryLink| Job {
            ids: vec![link.build_id],
            artifacts: vec![Artifact::DebugInfo],
        };
        let jobs = wanted.iter().map(|(_, link)| job(link)).collect();
        download::fetch_all(Client::new(args, Patience::OfCommand), jobs, &mut |answered| {
            let Some((by, _)) = wanted.get(answered.job) else { return };
            let name = format!("what {by} shares with others");
            if let Ok(fetched) = answered.result {
                self.take_fetched(&Build { name, dsos: Vec::new() }, &answered.artifact, fetched);
            }
        })
    }

    /// Units that compilers split off, where they put them or beside the files that name them; whether any
    /// came that is of use.
    pub(super) fn find_split_units(&mut self, places: &Places) -> bool {
        let mut is_any_used = false;
        let mut newer = std::mem::take(&mut self.newer_units);
        for missing in self.session.missing_units() {
            let of = || missing.named_by.iter().map(Path::new);
            let stored = missing.units.iter().flat_map(|unit| {
                missing.build_id.into_iter().flat_map(|build| places.companions(build, unit.id))
            });
            let units = missing.units.iter().flat_map(|unit| unit_paths(unit, of()));
            let units = units.filter(|unit| {
                let is_newer = is_newer(unit, of());
                if is_newer && newer.insert(unit.clone()) {
                    output::notice(format_args!(
                        "{} is not used: it is newer than its program. If it is of the same build, --image \
                         uses it",
                        unit.display()
                    ));
                }
                !is_newer
            });
            let paths: Vec<PathBuf> =
                stored.chain(of().flat_map(packages_of)).chain(units).collect();
            for path in paths {
                is_any_used |= self.offer(&path).is_some_and(|report| !report.used.is_empty());
            }
        }
        self.newer_units = newer;
        is_any_used
    }
}
