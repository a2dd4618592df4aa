//! What a listing of code is made of, and profiles are not: instructions as text, and whether a source file is the one
//! that was compiled.
//!
//! No part of `perftab-core`: the page loads it when somebody looks at code, as a module of its own (`web/listing`).
#![forbid(unsafe_code)]

mod arm_references;
pub mod instructions;
pub mod source;
