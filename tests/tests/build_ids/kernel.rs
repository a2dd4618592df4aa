//! The kernel: its identity, its place in memory, its symbols.
