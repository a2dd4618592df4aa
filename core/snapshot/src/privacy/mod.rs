//! What a sender chooses to tell, and how the rest is taken out of texts.
//!
//! Every part is told or left out by itself, and patterns rename what is told. `encode/texts.rs`
//! applies this to all texts of a snapshot before any of them is written.

mod aliases;
mod folders;
mod redactor;
mod renames;

pub(crate) use aliases::{Aliases, Draft, Line, numbered};
pub(crate) use folders::{Folders, file_name};
pub(crate) use redactor::Redactor;
pub use renames::{BadRename, Rename, RenameText};

use serde::Deserialize;

/// What may be told of a recording and of those who made it. The default tells what a profile
/// needs, and nothing of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", default)]
pub struct Privacy {
    /// Names of functions in executables, in libraries outside the system's folders and in code of
    /// run times. Without: `function-N`.
    pub own_functions: Disclosure,
    /// Names of functions in the system's libraries and the kernel. Without: `function-N`.
    pub system_functions: Disclosure,
    /// File names of DSOs. Without: `dso-N`.
    pub dsos: Disclosure,
    /// Folders of DSOs, of sources, and in all other texts.
    pub folders: Disclosure,
    /// Build-ids. Without them nobody can name code in the link that has no name yet.
    pub build_ids: Disclosure,
    /// File names of sources, and lines.
    pub files: Disclosure,
    /// Names of processes and threads. Without: `process-N`, and `thread-N` where no process is
    /// called like it.
    pub processes: Disclosure,
    /// The recorder's arguments.
    pub command_line: Disclosure,
    /// Host name, kernel release, architecture and CPUs.
    pub host: Disclosure,
    /// When the first sample was, by the recorder's clock. Without: times count from there.
    pub clock: Disclosure,
    /// Addresses of code without a name and of instructions in hot functions, and where the kernel
    /// lay. Without: all code of a DSO without a name is one, and nobody can name it.
    pub addresses: Disclosure,
    /// What stands in lines of source that are hot, as far as it was read. It names functions, so
    /// none is told unless names of functions are.
    pub source: Disclosure,
    /// The instructions that are hot, as text. They name functions too.
    pub assembly: Disclosure,
    /// The words of warnings. Without: their kinds and counts only.
    pub warnings: Disclosure,
    /// What is called otherwise, in all texts.
    #[cfg_attr(feature = "typescript", tsify(type = "RenameText[]"))]
    pub renames: Vec<Rename>,
}

impl Default for Privacy {
    fn default() -> Self {
        Self {
            own_functions: Disclosure::Included,
            system_functions: Disclosure::Included,
            dsos: Disclosure::Included,
            folders: Disclosure::LeftOut,
            build_ids: Disclosure::Included,
            files: Disclosure::Included,
            processes: Disclosure::Included,
            command_line: Disclosure::LeftOut,
            host: Disclosure::LeftOut,
            clock: Disclosure::Included,
            addresses: Disclosure::Included,
            source: Disclosure::LeftOut,
            assembly: Disclosure::LeftOut,
            warnings: Disclosure::Included,
            renames: Vec::new(),
        }
    }
}

impl Privacy {
    /// Nothing is left out.
    pub fn everything() -> Self {
        let mut privacy = Self::default();
        privacy.parts_mut().into_iter().for_each(|part| *part = Disclosure::Included);
        privacy
    }

    /// Whether lines of source are told.
    pub fn source(&self) -> Disclosure {
        self.all_of([self.source, self.files])
    }

    /// Whether instructions are told.
    pub fn assembly(&self) -> Disclosure {
        self.all_of([self.assembly, self.addresses])
    }

    /// RedactedText if these parts are, and names of functions.
    fn all_of(&self, parts: [Disclosure; 2]) -> Disclosure {
        let names = [self.own_functions, self.system_functions];
        let mut needed = parts.into_iter().chain(names);
        if needed.all(|part| part == Disclosure::Included) {
            Disclosure::Included
        } else {
            Disclosure::LeftOut
        }
    }

    /// Every part that is told or not.
    pub fn parts_mut(&mut self) -> [&mut Disclosure; 14] {
        let Self {
            own_functions,
            system_functions,
            dsos,
            folders,
            build_ids,
            files,
            processes,
            command_line,
            host,
            clock,
            addresses,
            source,
            assembly,
            warnings,
            renames: _,
        } = self;
        [
            own_functions,
            system_functions,
            dsos,
            folders,
            build_ids,
            files,
            processes,
            command_line,
            host,
            clock,
            addresses,
            source,
            assembly,
            warnings,
        ]
    }
}

/// Whether a part is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Disclosure {
    /// It is in the snapshot.
    Included,
    /// It is not.
    LeftOut,
}
