//! The cache that is shared with perf: what is stored, found, refused and packed.
