//! The build-id cache that this user shares with perf: copies of what was mapped, by build-id.
//!
//! Constraints:
//! - The layout is perf's ([`layout`]), so perf reads what is stored here and the other way round.
//! - A name claims, content decides: each file is checked whenever it is looked up. perf stores
//!   hard links, so that overwriting a program in place overwrites the entry too, which then holds
//!   another build than its name says.
//! - What is stored here is a copy, complete and checked before it has its name. Several processes
//!   may store and remove at once; none ever sees a part of a file.

mod content;
mod kcore;
mod layout;
mod lookup;
mod store;

use std::env;
use std::path::{Path, PathBuf};

use crate::perfconfig::PerfConfig;

pub use content::{OtherContent, key_of};
pub use kcore::Kcore;
pub use layout::{EntryName, Part, link_name, link_target};
pub use lookup::{CachedFile, Entry, Proof};
pub use store::{Bytes, Existing};

/// A cache; its folder may not be there yet.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The one in the folder `named`, else in perf's setting `buildid.dir`, else in `~/.debug`.
    /// `None` for a user without a home.
    pub fn of_user(named: Option<&Path>) -> Option<Self> {
        let home = || env::var_os("HOME").filter(|home| !home.is_empty());
        let root = named
            .map(Path::to_owned)
            .or_else(|| PerfConfig::of_user().buildid_dir())
            .or_else(|| Some(Path::new(&home()?).join(".debug")))?;
        Some(Self { root })
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }
}
