//! The viewer, one HTML file, built into the binary.

/// The page's source.
pub const PAGE: &str = "<!doctype html><meta charset=utf-8><title>perftab</title>\
<p>This perftab was built without the page: run <code>cargo xtask build</code>.";
