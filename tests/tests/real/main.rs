//! Tests with something real: recordings of this kernel, compilers, the perftab binary and its
//! servers, perf and other peers, a guest kernel.
//!
//! One program for all of them, so that what they share, such as the guest kernel's recordings, is
//! made once. What is not installed, or not permitted, is skipped with a line that says so.

mod annotate;
mod branches;
mod build_ids;
mod commands;
mod companions;
mod corpus;
mod diff;
mod event_names;
mod exports;
mod features;
mod jitted;
mod jitted_stacks;
mod kernel_code;
mod link_sizes;
mod memory_accesses;
mod naming_recordings;
mod place_texts;
mod places;
mod printed_fixtures;
mod record;
mod report_like_perf;
mod report_queries_like_perf;
mod script;
mod serve_debuginfod;
mod serve_guard;
mod serve_profiles;
mod serve_sources;
mod stacks_like_peers;
mod symbols;
mod tasks;
mod tracepoints;
mod unwind_index;
mod unwinding;
mod views_like_report;
