//! A guest with a kernel that has loadable modules, which the machine that runs the tests need not
//! have: boots Debian's kernel under qemu, records inside with perf and with perftab, and hands out
//! the recordings with what the guest's own /proc and /sys say of every symbol.
//!
//! One boot serves all tests of a program. `cargo xtask guest-kernel` fetches the kernel
//! (`cargo xtask test` does too); without it, or without qemu, tests say that they skip.

mod frames;
mod initramfs;
mod kernel;
mod machine;
mod symbols;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;

pub use frames::{NamedFrame, NamedSample, samples};
pub use kernel::GuestKernel;
pub use symbols::{GuestModule, Snapshot};

use crate::child_process::LimitedCommand;
use crate::{perftab_binary, program};
use initramfs::Initramfs;

/// Loaded to reach the guest's disk, in this order.
const DRIVERS: [&str; 6] = [
    "drivers/virtio/virtio_ring.ko",
    "drivers/virtio/virtio.ko",
    "drivers/virtio/virtio_pci_legacy_dev.ko",
    "drivers/virtio/virtio_pci_modern_dev.ko",
    "drivers/virtio/virtio_pci.ko",
    "drivers/block/virtio_blk.ko",
];

/// Where modules lie in the guest's tree, below `kernel/crypto/`, and what packed them.
const TREE: [(&str, &str, &[&str]); 5] = [
    ("af_alg", "", &[]),
    ("algif_hash", "", &[]),
    ("streebog_generic", ".xz", &["xz", "--check=crc32", "--stdout"]),
    ("wp512", ".gz", &["gzip", "--no-name", "--stdout"]),
    ("rmd160", ".zst", &["zstd", "-q", "--stdout"]),
];

/// A symbol of streebog_generic, and what it is called in the guest's other build of it.
pub const RENAMED: (&str, &str) = ("streebog_xlps", "streebog_xlps_rebuilt");
/// The build-id of that other build.
pub const REBUILT_ID: [u8; 20] = [0xb1; 20];

const SCRIPTS: [(&str, &str); 5] = [
    ("init", include_str!("scripts/init")),
    ("scenario", include_str!("scripts/scenario")),
    ("bin/snapshot", include_str!("scripts/snapshot")),
    ("bin/at-rest", include_str!("scripts/at-rest")),
    ("bin/changes", include_str!("scripts/changes")),
];

/// What a boot left.
pub struct Guest {
    /// Its kernel, as it lies on this machine.
    pub kernel: GuestKernel,
    folder: PathBuf,
}

impl Guest {
    /// The guest that all tests of this program share, booted by the first that asks. `None`, said
    /// for `test`, if this machine cannot; a guest that fails fails the test.
    pub fn get(test: &str) -> Option<&'static Self> {
        static GUEST: OnceLock<Result<Result<Guest, String>, String>> = OnceLock::new();
        let guest = GUEST.get_or_init(|| Ok(Guest::boot(needed()?)));
        match guest {
            Ok(Ok(guest)) => Some(guest),
            Ok(Err(failed)) => panic!("{failed}"),
            Err(missing) => {
                println!("SKIPPED: {test}: {missing}");
                None
            }
        }
    }

    fn boot(kernel: GuestKernel) -> Result<Self, String> {
        let folder = own_folder();
        let mut files = Initramfs::default();
        for folder in ["dev", "proc", "sys", "tmp", "out"] {
            files.add_folder(folder);
        }
        for (path, text) in SCRIPTS {
            files.add_script(path, text);
        }
        add_programs(&mut files, &folder);
        add_modules(&mut files, &kernel, &folder);
        machine::boot(&kernel.image(), &files.encode(), &folder)?;
        Ok(Self { kernel, folder })
    }

    /// A file that the guest left: a recording, or what it said.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join("out").join(name)
    }

    /// A module as it lies in the guest's tree, packed or not.
    pub fn module_in_tree(&self, name: &str) -> PathBuf {
        let (_, packed, _) = TREE.iter().find(|(known, ..)| *known == name).expect("in the tree");
        self.folder.join(format!("{name}.ko{packed}"))
    }
}

/// Everything that a boot needs, or what is missing.
fn needed() -> Result<GuestKernel, String> {
    for tool in ["qemu-system-x86_64", "busybox", "perf", "objcopy", "xz", "gzip", "zstd"] {
        let on_path = std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(tool).is_file()));
        if !on_path {
            return Err(format!("there is no `{tool}` here"));
        }
    }
    GuestKernel::find().ok_or_else(|| "no kernel to boot: cargo xtask guest-kernel".into())
}

/// `target/guest/PID`; those of test programs that have ended are removed, as nothing outlives a
/// static.
fn own_folder() -> PathBuf {
    let all = kernel::target("guest");
    for entry in fs::read_dir(&all).into_iter().flatten().flatten() {
        if !Path::new("/proc").join(entry.file_name()).exists() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let folder = all.join(process::id().to_string());
    fs::create_dir_all(&folder).expect("a folder for the guest");
    folder
}

fn add_programs(files: &mut Initramfs, folder: &Path) {
    files.add_program("bin/busybox", &which("busybox"));
    files.add_program("bin/perf", &which("perf"));
    let digest = program::compile(folder, "digest", &"ab".repeat(20), include_str!("digest.c"));
    files.add_program("bin/digest", &digest);
    // A debug build is mostly debug information.
    let perftab = folder.join("perftab");
    run(Command::new("objcopy").arg("--strip-debug").arg(perftab_binary()).arg(&perftab));
    files.add_program("bin/perftab", &perftab);
}

fn which(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{name} was there"))
}

/// Modules are loaded from `/load`, unpacked, as busybox knows not every packing; recorders find
/// them in the tree below `/lib/modules`, as a distribution packs them.
fn add_modules(files: &mut Initramfs, kernel: &GuestKernel, folder: &Path) {
    let read = |path: &Path| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    for driver in DRIVERS {
        let name = driver.rsplit('/').next().unwrap_or(driver);
        files.add_file(&format!("drivers/{name}"), read(&kernel.module(driver)));
    }
    let tree = format!("lib/modules/{}", kernel.release());
    let mut dependencies = String::new();
    for (name, packed, packer) in TREE {
        let module = kernel.module(&format!("crypto/{name}.ko"));
        files.add_file(&format!("load/{name}.ko"), read(&module));
        let in_tree = folder.join(format!("{name}.ko{packed}"));
        let bytes = match packer {
            [] => read(&module),
            [packer, options @ ..] => run(Command::new(packer).args(options).arg(&module)),
        };
        fs::write(&in_tree, &bytes).expect("the packed module is written");
        files.add_file(&format!("{tree}/kernel/crypto/{name}.ko{packed}"), bytes);
        dependencies.push_str(&format!("kernel/crypto/{name}.ko{packed}:\n"));
    }
    files.add_file(&format!("{tree}/modules.dep"), dependencies.into_bytes());
    files.add_file("opt/keccak/hashing", read(&kernel.module("crypto/sha3_generic.ko")));

    let (note, rebuilt) = (folder.join("rebuilt.note"), folder.join("rebuilt.ko"));
    let mut bytes = Vec::from(*b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0");
    bytes.extend_from_slice(&REBUILT_ID);
    fs::write(&note, bytes).expect("the note is written");
    run(Command::new("objcopy")
        .arg(format!("--update-section=.note.gnu.build-id={}", note.display()))
        .arg(format!("--redefine-sym={}={}", RENAMED.0, RENAMED.1))
        .arg(kernel.module("crypto/streebog_generic.ko"))
        .arg(&rebuilt));
    files.add_file("load/rebuilt/streebog_generic.ko", read(&rebuilt));
}

/// Standard output of a command that succeeds.
fn run(command: &mut Command) -> Vec<u8> {
    let output = command.ended().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    output.stdout
}
