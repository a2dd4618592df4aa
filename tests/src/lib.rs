//! What tests share: the binary under test, servers that live as long as a test, a client that
//! may send anything. The tests themselves are in `tests/`.

#![forbid(unsafe_code)]

pub mod child_process;
pub mod expectation;
pub mod fixtures;
pub mod folder;
pub mod fuzz;
pub mod guest;
pub mod http;
pub mod links;
pub mod open;
pub mod own_process;
pub mod perf;
pub mod perf_data;
pub mod printed;
pub mod program;
pub mod seeds;
pub mod servers;
pub mod synth;
pub mod tier;

mod binary;

pub use binary::{perftab_at, perftab_binary};
