//! A profile in the formats of other tools.
//!
//! Every format is written piece by piece ([`Out`]), so that what comes out may be larger than
//! memory and a page stays alive while millions of samples are written. Collapsed stacks and the
//! picture show the call tree of a query; the others have samples by thread, and take the stacks
//! themselves where no step rewrites them: with them go addresses, source lines and inlining.
//!
//! All names go through [`names`]: control and bidirectional characters are written as escapes,
//! code without a name as its DSO and address, and forced names as `[forced] name`.
#![forbid(unsafe_code)]

mod calls;
mod collapsed;
mod exported_samples;
mod firefox;
mod json;
mod limits;
mod names;
mod out;
mod pprof;
mod protobuf;
pub mod script;
pub mod script_fields;
mod source;
mod speedscope;
mod svg;
#[cfg(test)]
mod tests;

use perftab_profile::Profile;
use perftab_views::Query;
use serde::{Deserialize, Serialize};

pub use limits::{Addresses, ForcedNames, kept, limits};
pub use out::{Out, ROWS_A_PIECE};
pub use source::{KnownTree, Source};

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// `outer;inner weight`, one line a stack.
    Collapsed,
    /// `profile.proto` of pprof, in gzip.
    Pprof,
    /// The processed format of Firefox Profiler, in gzip.
    Firefox,
    /// The file format of speedscope.
    Speedscope,
    /// A flame graph that stands alone.
    Svg,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Collapsed, Self::Pprof, Self::Firefox, Self::Speedscope, Self::Svg];

    /// How a file's name ends, without a dot before it, as the tools expect it.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Collapsed => "collapsed.txt",
            Self::Pprof => "pb.gz",
            Self::Firefox => "json.gz",
            Self::Speedscope => "speedscope.json",
            Self::Svg => "svg",
        }
    }

    /// Whether a terminal can show it.
    pub fn is_text(self) -> bool {
        !self.is_packed()
    }

    /// Whether it is gzip outside.
    pub fn is_packed(self) -> bool {
        matches!(self, Self::Pprof | Self::Firefox)
    }

    /// Whether it holds samples of several events.
    pub fn holds_events(self) -> bool {
        matches!(self, Self::Pprof | Self::Firefox | Self::Speedscope)
    }
}

/// Which events are written, where a format holds several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Events {
    /// That of the query.
    #[default]
    One,
    /// That of the query first, then all others that have samples.
    All,
}

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct ExportRequest {
    /// How.
    pub format: Format,
    /// Which samples, and what is done to their stacks. Collapsed stacks and the picture are of
    /// the tree as it asks for it; the others are always written from the outermost caller on.
    pub query: Query,
    /// Of which events.
    pub events: Events,
    /// What the profile is called.
    pub name: String,
}

impl ExportRequest {
    /// A query for each event that is written: the outermost caller is the root, ungrouped.
    pub fn queries(&self, profile: &Profile) -> Vec<Query> {
        use perftab_views::{Direction, Group, Unnamed};
        let of_event = |event: u32| Query {
            event,
            direction: Direction::Callees,
            group: Group::None,
            around: None,
            unnamed: Unnamed::EachAddress,
            ..self.query.clone()
        };
        let others = (0..).zip(&profile.events).filter(|(number, event)| {
            self.events == Events::All && *number != self.query.event && event.samples > 0
        });
        let numbers = std::iter::once(self.query.event).chain(others.map(|(number, _)| number));
        numbers.map(of_event).collect()
    }
}

/// Writes a file of another tool, as it is before it is packed.
pub async fn write(request: &ExportRequest, source: &Source, mut out: Out) {
    let out = &mut out;
    match request.format {
        Format::Collapsed => collapsed::write(request, source, out).await,
        Format::Svg => svg::write(request, source, out).await,
        Format::Pprof => pprof::write(request, source, out).await,
        Format::Firefox => firefox::write(request, source, out).await,
        Format::Speedscope => speedscope::write(request, source, out).await,
    }
    out.give();
}
