//! Mapped files as a recording knows them, and what identifies them: all that the gate needs to know
//! of a profile.
#![forbid(unsafe_code)]

mod code_change;
mod dsos;
mod module_name;
mod pseudo_frame;

use serde::{Deserialize, Serialize};

pub use code_change::{CodeChange, MadeCode, pid_of_jitdump, pid_of_perf_map};
pub use dsos::{Dso, DsoKind, Dsos, ExecutableMapping, KernelPlace, MappedBy, RecordedBy};
pub use module_name::{is_module_name, module_name};
pub use perftab_perfdata::identity::{ContentHash, Identity, MappedFrom};
pub use pseudo_frame::{OffCpu, PseudoFrame, advice_on_copy};

/// Makes types of positions in tables, so that one cannot be taken for another.
#[macro_export]
macro_rules! index_types {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(
                Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            )]
            pub struct $name(pub u32);

            impl $name {
                /// Position in the table's columns.
                pub fn index(self) -> usize {
                    self.0 as usize
                }
            }
        )*
    };
}

index_types! {
    /// A mapped file in [`Dsos`].
    DsoId;
    /// A process of a profile.
    ProcessId;
}
