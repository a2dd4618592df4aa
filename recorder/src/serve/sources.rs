//! Source files of this machine, for the page that shows code.
//!
//! Constraint: the page never says a path. It says a build and an address, and the debug information of a file with that
//! build-id says which source the code there was made of. That may be anything, too: what is read is a regular file that is
//! called as sources are, of limited size, also where links of the file system lead (`place_texts::source`). What the
//! compiler put into the debug information comes before it, and what a debuginfod server has after it.

use std::fs::File;
use std::time::SystemTime;

use perftab_core::images::CompiledSource;
use perftab_core::{Identity, Svma};
use perftab_listing::source::{self, Noted, OtherSource, Written};

use crate::debuginfod_client::{Client, FetchError};
use crate::images::identity;
use crate::place_texts::source::readable;
use crate::place_texts::source_places::{self, MovedPaths};

/// A source file that may be the one that was compiled.
pub struct FoundSource {
    pub bytes: Vec<u8>,
    /// When it was written last, if it is a file of this machine.
    pub modified: Option<SystemTime>,
    pub from: SourceFrom,
}

/// Where a source is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFrom {
    /// A file of this machine.
    ThisMachine,
    /// The compiler put it in.
    DebugInformation,
    /// A debuginfod server.
    Server,
}

impl SourceFrom {
    /// What the page is told.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThisMachine => "file",
            Self::DebugInformation => "debug information",
            Self::Server => "debuginfod",
        }
    }
}

/// Why no source is handed out.
pub enum NoSource {
    /// What is there is another one than was compiled.
    Other(OtherSource),
    /// Servers may have it, and did not say so.
    Servers(FetchError),
}

/// Where a source is looked for.
pub struct SourceSearch<'a> {
    /// `None`: not on this machine.
    pub here: Option<&'a MovedPaths>,
    /// After this machine, if they may be asked.
    pub servers: Option<&'a Client>,
    /// When the code had run: a file of the build that is younger is a copy.
    pub recorded: Option<SystemTime>,
}

impl SourceSearch<'_> {
    /// The source of the code at an address, as a file of the build says; `None` if there is none.
    pub fn find(
        &self,
        debug: &File,
        identity: Identity,
        address: Svma,
    ) -> Option<Result<FoundSource, NoSource>> {
        let image = identity::image(debug).ok()??;
        let CompiledSource { path, md5, text } = CompiledSource::at(&image, identity, address)?;
        let is_it = |bytes: &[u8], written| source::check(bytes, [Noted { md5, written }]);
        if let Some(bytes) = text.filter(|text| is_it(text, Written::BeforeBinary).is_ok()) {
            return Some(Ok(FoundSource {
                bytes,
                modified: None,
                from: SourceFrom::DebugInformation,
            }));
        }
        let here = self.here.and_then(|here| {
            let (bytes, modified) = readable(&here.of(&path))?;
            let built = [file_time(debug), self.recorded].into_iter().flatten().min();
            let found = FoundSource { bytes, modified, from: SourceFrom::ThisMachine };
            Some(is_it(&found.bytes, here.written(modified, built)).map(|_| found))
        });
        if let Some(Ok(_)) = here {
            return here.map(|it| it.map_err(NoSource::Other));
        }
        let given = match (self.servers, identity) {
            (Some(servers), Identity::Gnu(id)) => source_places::from_servers(servers, id, &path),
            _ => Ok(None),
        };
        let of_servers = match given {
            Ok(None) => None,
            Ok(Some(bytes)) => Some(match is_it(&bytes, Written::BeforeBinary) {
                Ok(_) => Ok(FoundSource { bytes, modified: None, from: SourceFrom::Server }),
                Err(other) => Err(NoSource::Other(other)),
            }),
            Err(FetchError::Cancelled) => None,
            Err(failed) if failed.is_not_found() => None,
            Err(failed) => Some(Err(NoSource::Servers(failed))),
        };
        match of_servers {
            Some(Ok(_)) => of_servers,
            _ => here.map(|it| it.map_err(NoSource::Other)).or(of_servers),
        }
    }
}

fn file_time(debug: &File) -> Option<SystemTime> {
    debug.metadata().ok()?.modified().ok()
}
