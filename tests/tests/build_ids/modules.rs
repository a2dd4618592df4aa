//! Kernel modules: packed, out of tree, loaded and unloaded while recorded.
