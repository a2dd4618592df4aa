//! The viewer, one HTML file, built into the binary by `build.rs`.

/// The page's source.
pub const PAGE: &str = include_str!(env!("PERFTAB_PAGE_FILE"));
