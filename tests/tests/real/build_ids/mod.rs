//! What is required of build-ids, b01 to b48, each on real parts: recordings of ours and of perf,
//! real ELF files, real caches and servers. `docs/build-ids.md` says what each number means.
//!
//! The name of a test begins with the numbers that it shows: `b04_b12_…`. What needs root, or a
//! tool that is not installed, is skipped with a line that says so.

mod archives;
mod bit_flip;
mod builds;
mod cache;
mod fetching;
mod forced;
mod foreign;
mod gate;
mod hosts;
mod identity_situations;
mod kernel;
mod module_files;
mod modules;
mod peers;
mod recording;
mod requirements;
mod search;
mod synthetic_kernel;
mod trusted;
