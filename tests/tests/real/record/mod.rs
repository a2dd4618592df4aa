//! `perftab record` on this machine, read back by tools that others wrote.
//!
//! What needs root, or a tool that is not installed, is skipped with a line that says so.

mod cgroups;
mod control;
mod deep_stacks;
mod embed;
mod failures;
mod groups;
mod identity;
mod live;
mod off_cpu;
mod parts;
mod peers;
mod privileges;
mod probes;
pub mod recorder;
mod silent_server;
mod targets;
