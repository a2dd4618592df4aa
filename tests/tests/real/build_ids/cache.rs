//! The cache that is shared with perf: what is stored, found, refused and packed. On the other
//! side is always the real perf, with a home of its own.

mod archive;
mod home;
pub mod kcore;
mod list;
mod poison;
mod shared;
mod store;
mod verbs;
mod verify;
