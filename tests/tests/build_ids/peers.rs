//! What perf, hotspot and samply do where a build-id decides.
