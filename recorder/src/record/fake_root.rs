//! A made-up root folder with what a kernel shows of itself, for unit tests.

use std::fs;
use std::path::{Path, PathBuf};

/// Removed when dropped.
pub struct FakeRoot(PathBuf);

impl FakeRoot {
    /// An empty one.
    pub fn new(name: &str) -> Self {
        let folder = format!("perftab-kernel-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// With a file in it.
    pub fn with(self, path: &str, bytes: &[u8]) -> Self {
        self.write(path, bytes);
        self
    }

    /// Writes a file.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Loads modules, with the build-id that has only this byte, instead of all there were.
    pub fn load(&self, modules: &[(&str, u64, u8)]) {
        let folder = self.0.join("sys/module");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let mut lines = String::new();
        for (name, address, id) in modules {
            lines.push_str(&format!("{name} 4096 0 - Live {address:#x}\n"));
            self.write(&format!("sys/module/{name}/notes/.note.gnu.build-id"), &note(*id));
        }
        self.write("proc/modules", lines.as_bytes());
    }
}

impl Drop for FakeRoot {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// As /proc/kallsyms.
pub const KALLSYMS: &str = "\
0000000000001000 A per_cpu_start
ffffffff81000000 T startup_64
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t do_one
ffffffff81000180 T do_two
ffffffff81000180 T do_two_again
ffffffff81000200 r not_code
ffffffff81001000 T _etext
ffffffffc0001000 t ext4_read\t[ext4]
ffffffffc0000800 t ext4_init\t[ext4]
ffffffffc0900000 t bpf_prog_12ab\t[bpf]
";

/// A note with a build-id of 20 times that byte.
pub fn note(id: u8) -> Vec<u8> {
    let mut note = Vec::new();
    for word in [4u32, 20, 3] {
        note.extend_from_slice(&word.to_ne_bytes());
    }
    note.extend_from_slice(b"GNU\0");
    note.extend_from_slice(&[id; 20]);
    note
}

/// A kernel with two modules, one of which has no build-id.
pub fn fake(name: &str) -> FakeRoot {
    FakeRoot::new(name)
        .with("sys/kernel/notes", &note(0xaa))
        .with("proc/kallsyms", KALLSYMS.as_bytes())
        .with("proc/sys/kernel/osrelease", b"6.1.0-test\n")
        .with(
            "proc/modules",
            b"ext4 4096 1 - Live 0xffffffffc0000000\nnf_nat 8192 0 - Live 0xffffffffc0100000 (E)\n",
        )
        .with("sys/module/ext4/notes/.note.Linux", b"\0\0")
        .with("sys/module/ext4/notes/.note.gnu.build-id", &note(0xee))
        .with("lib/modules/6.1.0-test/modules.dep", b"kernel/net/nf-nat.ko.xz: kernel/a.ko\n")
}

/// Whether records name this.
pub fn has(records: &[u8], name: &[u8]) -> bool {
    records.windows(name.len()).any(|window| window == name)
}
