//! Tests that need nothing but this repository: bytes, fixtures, and core.
//!
//! One program for all of them: linking one for each file took longer than running it.

mod callers;
mod damage;
mod decode;
mod fixtures;
mod forms;
mod frame_pointers;
mod images_side;
mod jitted;
mod jitted_stacks;
mod leaf_callers;
mod link_times;
mod link_vectors;
mod memory_accesses;
mod oracle;
mod packed;
mod questions;
mod replay;
mod samples;
mod seeds;
mod so_far;
mod tidy;
mod times;
mod unpack_ahead;
mod unwinding;
