//! Candidate images: files that may be what was mapped, or its debug file.
//!
//! Constraint: a path only says where to look. Whether a file is used is decided by its build-id:
//! by core's gate when it is offered to a `Session`, by [`identity::build_id`] where the server of
//! `perftab view` hands it to the page (which asks core's gate again).

pub mod answering;
pub mod candidates;
pub mod code_of_processes;
pub mod companions;
pub mod download;
pub mod folders;
mod forced;
pub mod identity;
pub mod kernel;
pub mod kernel_copies;
pub mod kernel_memory;
pub mod local;
pub mod named;
mod roots;
pub mod search;
mod still_mapped;
pub mod trusted;
pub mod unpacked;
