//! `--force-mismatched` and `--vmlinux`: names from files that are not known to be what ran.
//!
//! What is done is said loudly, each time: for every file what it is and what was wanted. A file
//! that does not even give marked names is an error, since somebody named it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use perftab_core::session::{ForceResult, Session};
use perftab_core::{DsoId, DsoKind, Identity, Status};

use crate::cli::NameArgs;
use crate::file_source::FileSource;
use crate::output;

/// Names what the user insists on, after everything that matches has given its names.
pub fn force(session: &mut Session, args: &NameArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.vmlinux {
        let kernels: Vec<DsoId> = of_kind(session, DsoKind::Kernel);
        if kernels.is_empty() {
            output::notice(format_args!(
                "--vmlinux {} is not used: no kernel code was recorded",
                path.display()
            ));
        }
        let nameless = without_names(session, kernels.clone());
        let is_from = |path: &Path| {
            let rows = session.dsos();
            rows.iter().any(|row| row.image.as_deref() == Some(&*path.to_string_lossy()))
        };
        if nameless.is_empty() && !kernels.is_empty() && !is_from(path) {
            output::notice(format_args!(
                "--vmlinux {} is not needed: the recording contains the names of its kernel",
                path.display()
            ));
        }
        for dso in nameless {
            force_file(session, dso, path)
                .with_context(|| format!("--vmlinux {}", path.display()))?;
        }
    }
    for argument in &args.force_mismatched {
        let what = || format!("--force-mismatched {}", argument.display());
        let (dsos, path) = chosen(session, argument).with_context(what)?;
        let nameless = without_names(session, dsos);
        if nameless.is_empty() {
            output::notice(format_args!("{} is not needed: the DSO has names", what()));
        }
        for dso in nameless {
            force_file(session, dso, &path).with_context(what)?;
        }
    }
    Ok(())
}

fn force_file(session: &mut Session, dso: DsoId, path: &Path) -> anyhow::Result<()> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        bail!("it is not a regular file");
    }
    let name = path.to_string_lossy();
    let forced = session.force(dso, &name, Box::new(FileSource::new(file)?));
    let recorded = session.profile().dsos.get(dso);
    let (of, wanted) = (recorded.path.clone(), recorded.identity);
    match forced.map_err(|error| anyhow!("{of}: {error}"))? {
        ForceResult::Matched { .. } => {
            session.name_all_frames();
            output::notice(format_args!(
                "{name} is the build of {of} that ran: it was used without forcing"
            ));
        }
        ForceResult::Forced { .. } => {
            let rows = session.dsos();
            let found = rows.iter().find(|row| row.id == dso.0).and_then(|row| row.found.clone());
            output::notice(format_args!(
                "UNSAFE: names of {of} are forced from {name}: {}. They may be wrong; each is \
                 marked [forced]",
                mismatch(wanted, found.as_deref())
            ));
        }
    }
    Ok(())
}

/// What was wanted and what was found.
fn mismatch(wanted: Option<Identity>, found: Option<&str>) -> String {
    match (wanted, found) {
        (Some(wanted), Some(found)) => format!("another build: wanted {wanted}, found {found}"),
        (Some(wanted), None) => format!("wanted {wanted}, but the file has no build-id"),
        (None, _) => "it was recorded without a build-id, so they cannot be checked".to_owned(),
    }
}

/// The DSOs that a file shall name, and the file: `DSO=FILE`, where DSO is a name, a path or the
/// beginning of a build-id, or FILE, which is taken for the DSO of its name.
fn chosen(session: &Session, argument: &Path) -> anyhow::Result<(Vec<DsoId>, PathBuf)> {
    let text = argument.to_string_lossy();
    let parts = text.split_once('=').filter(|_| !argument.exists());
    let (dsos, path) = match parts {
        Some((dso, file)) => (called(session, dso), PathBuf::from(file)),
        None => (session.namesakes(&text), argument.to_owned()),
    };
    fs::metadata(&path)?;
    if dsos.is_empty() {
        bail!(match parts {
            Some((dso, _)) => format!("no DSO called {dso} was recorded"),
            None => "no DSO of its name was recorded; say which one it is for: DSO=FILE".to_owned(),
        });
    }
    let sampled: Vec<DsoId> = sampled(session, &dsos);
    if sampled.is_empty() {
        bail!("it has no samples");
    }
    let nameless = without_names(session, sampled.clone());
    let ids: Vec<String> = nameless
        .iter()
        .filter_map(|&dso| Some(session.profile().dsos.get(dso).identity?.to_string()))
        .collect();
    if ids.len() > 1 {
        bail!("several builds of this name ran; choose one: {}=FILE", ids.join("=FILE or "));
    }
    Ok((sampled, path))
}

/// DSOs by name, path or the beginning of a build-id.
fn called(session: &Session, wanted: &str) -> Vec<DsoId> {
    /// Fewer digits may well be a name.
    const SHORTEST_ID: usize = 4;
    let dsos = || session.profile().dsos.iter();
    let by_id = |(id, dso): (DsoId, &perftab_core::Dso)| {
        let has = dso.identity?.to_string().starts_with(&wanted.to_ascii_lowercase());
        (has && wanted.len() >= SHORTEST_ID).then_some(id)
    };
    let exact: Vec<DsoId> =
        dsos().filter(|(_, dso)| dso.path == wanted).map(|(id, _)| id).collect();
    let by_id: Vec<DsoId> = dsos().filter_map(by_id).collect();
    [exact, by_id, session.namesakes(wanted)]
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

fn of_kind(session: &Session, kind: DsoKind) -> Vec<DsoId> {
    let all = session.profile().dsos.iter();
    let dsos: Vec<DsoId> = all.filter(|(_, dso)| dso.kind == kind).map(|(id, _)| id).collect();
    sampled(session, &dsos)
}

/// Those of `dsos` that samples pass through, most samples first.
fn sampled(session: &Session, dsos: &[DsoId]) -> Vec<DsoId> {
    let rows = session.dsos();
    let touched = rows.iter().filter(|row| row.samples > 0).map(|row| DsoId(row.id));
    touched.filter(|dso| dsos.contains(dso)).collect()
}

/// Those of `dsos` that nothing that matches names.
fn without_names(session: &Session, dsos: Vec<DsoId>) -> Vec<DsoId> {
    let rows = session.dsos();
    let has_names = |dso: &DsoId| {
        rows.iter().any(|row| {
            row.id == dso.0
                && matches!(row.status, Status::Matched | Status::Embedded | Status::NoSymbols)
        })
    };
    dsos.into_iter().filter(|dso| !has_names(dso)).collect()
}
