//! The guest's kernel where `cargo xtask guest-kernel` put it, laid out as Debian installs it.

use std::fs;
use std::path::{Path, PathBuf};

/// A kernel with its modules and the debug files of both.
pub struct GuestKernel {
    root: PathBuf,
    release: String,
}

/// A path in the repository's `target` folder.
pub(super) fn target(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target").join(path)
}

impl GuestKernel {
    /// `$PERFTAB_GUEST_KERNEL`, or what xtask has fetched.
    pub fn find() -> Option<Self> {
        let named = std::env::var_os("PERFTAB_GUEST_KERNEL").map(PathBuf::from);
        let root = named.unwrap_or_else(|| target("guest-kernel")).canonicalize().ok()?;
        let release = fs::read_dir(root.join("boot")).ok()?.flatten().find_map(|entry| {
            Some(entry.file_name().to_str()?.strip_prefix("vmlinuz-")?.to_owned())
        })?;
        let kernel = Self { root, release };
        kernel.vmlinux().is_file().then_some(kernel)
    }

    /// As `uname -r` says it in the guest.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// What is booted.
    pub fn image(&self) -> PathBuf {
        self.root.join("boot").join(format!("vmlinuz-{}", self.release))
    }

    /// A module by its path below `kernel/`.
    pub fn module(&self, path: &str) -> PathBuf {
        self.root.join("lib/modules").join(&self.release).join("kernel").join(path)
    }

    /// The kernel with symbols and DWARF.
    pub fn vmlinux(&self) -> PathBuf {
        self.debug_folder().join("boot").join(format!("vmlinux-{}", self.release))
    }

    /// The same module with DWARF.
    pub fn debug_module(&self, path: &str) -> PathBuf {
        let modules = self.debug_folder().join("lib/modules");
        modules.join(&self.release).join("kernel").join(path)
    }

    /// As `/usr/lib/debug`.
    pub fn debug_folder(&self) -> PathBuf {
        self.root.join("usr/lib/debug")
    }
}
