//! Links: a session into a payload, and a payload into a session.

use serde::Serialize;

use std::collections::HashSet;

use crate::error::Warning;
use crate::profile::WallClockTime;
use crate::session::{FormatInfo, Session};
use crate::snapshot::{
    self, Contents, Fidelity, HostFields, Options, Paths, SnapshotError, TooSmall,
};
use crate::symbolize::{DsoImages, NamingDepth, RecordedIdentities};
use crate::text::printable;
use crate::views::serialize_weight;

/// How much a link may hold, and what of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareOptions {
    /// Characters that the payload may have, the address before it not counted.
    pub characters: usize,
    /// Folders of DSOs and sources.
    pub paths: Paths,
    /// Host name, kernel, command line.
    pub host: HostFields,
}

/// A link's payload and what it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct SharedLink {
    /// `p1.…`, ready to follow `#`.
    pub payload: String,
    /// What it holds.
    pub fidelity: FidelityInfo,
}

/// What of a recording a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct FidelityInfo {
    /// Call nodes under their own names.
    #[serde(serialize_with = "serialize_weight")]
    pub kept_nodes: u64,
    /// Call nodes that there were.
    #[serde(serialize_with = "serialize_weight")]
    pub total_nodes: u64,
    /// Weight that ended in kept call nodes, 0 to 1.
    pub kept_weight_share: f64,
    /// Share of the lightest call node kept; 0 if all were.
    pub threshold_share: f64,
    /// Weight that was folded into callers.
    #[serde(serialize_with = "serialize_weight")]
    pub folded_weight: u64,
    /// DSOs in the link's ledger.
    #[serde(serialize_with = "serialize_weight")]
    pub kept_dsos: u64,
    /// DSOs that samples pass through.
    #[serde(serialize_with = "serialize_weight")]
    pub total_dsos: u64,
}

impl From<Fidelity> for FidelityInfo {
    fn from(fidelity: Fidelity) -> Self {
        Self {
            kept_nodes: fidelity.kept_nodes,
            total_nodes: fidelity.total_nodes,
            kept_weight_share: fidelity.kept_weight_share,
            threshold_share: fidelity.threshold_share,
            folded_weight: fidelity.folded_weight,
            kept_dsos: fidelity.kept_dsos,
            total_dsos: fidelity.total_dsos,
        }
    }
}

/// Messages name paths and events, which are as strange as the file.
pub(super) fn printable_warnings(mut warnings: Vec<Warning>) -> Vec<Warning> {
    for warning in &mut warnings {
        warning.message = printable(&warning.message).into_owned();
    }
    warnings
}

impl Session {
    /// Opens a link's payload (`p1.…`). It is a session like any other: files may be offered to
    /// it, and code without names is named behind the same gate.
    pub fn from_snapshot(payload: &str) -> Result<Self, SnapshotError> {
        let mut snapshot = snapshot::decode(payload)?;
        snapshot.profile.wall_clock = WallClockTime::of(&snapshot.profile.events);
        let recorded = RecordedIdentities::new(&snapshot.profile.dsos);
        Ok(Self {
            profile: snapshot.profile,
            format: FormatInfo::of_link(),
            warnings: printable_warnings(snapshot.warnings),
            facts: snapshot.facts,
            fidelity: Some(snapshot.fidelity),
            symbols: snapshot.symbols,
            ledger: snapshot.ledger,
            recorded,
            images: DsoImages::default(),
            held: 0,
            vouched: HashSet::new(),
            naming_depth: NamingDepth::default(),
            to_name: Vec::new(),
            made: Vec::new(),
            distances: Default::default(),
            ranges: Default::default(),
            times: Default::default(),
            generation: 0,
        })
    }

    /// What a link holds of its recording; `None` for a recording.
    pub fn fidelity(&self) -> Option<Fidelity> {
        self.fidelity
    }

    /// Writes a link that holds as much as fits.
    pub fn share(&self, options: &ShareOptions) -> Result<SharedLink, TooSmall> {
        let contents = Contents {
            profile: &self.profile,
            symbols: &self.symbols,
            ledger: &self.ledger,
            warnings: &self.warnings,
            facts: &self.facts,
        };
        let &ShareOptions { characters, paths, host } = options;
        let shared = snapshot::encode(&contents, &Options { characters, paths, host })?;
        Ok(SharedLink { payload: shared.payload, fidelity: shared.fidelity.into() })
    }
}
