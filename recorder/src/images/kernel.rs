//! Where this machine may keep the kernel that was recorded, its modules and their symbols.
//!
//! | place | what | written by |
//! |---|---|---|
//! | `/proc/kallsyms` with `/sys/kernel/notes` | symbols of the running kernel | the kernel |
//! | `~/.cache/perftab/kallsyms/ID` | copies of these | `kernel_copies.rs` |
//! | `~/.debug/.build-id/xx/yy…/kallsyms` | copies of these | `perf record`, `perf buildid-cache` |
//! | `/usr/lib/debug/boot/vmlinux-RELEASE` and others | kernel with DWARF | debug packages |
//! | `/boot/vmlinux-RELEASE`, `/lib/modules/RELEASE/build/vmlinux` | kernel | who built it |
//! | `/lib/modules/RELEASE/**` | modules, mostly packed | packages, DKMS |
//! | `/usr/lib/debug/lib/modules/RELEASE/**` | modules with DWARF | debug packages |
//!
//! Constraint: all of them are candidates. RELEASE is that of the recording, of a module's recorded
//! path and of the running kernel, and says nothing: kernels are rebuilt under one release, and
//! `build` is a link that moves. The running kernel's symbols go through the gate with the build-id
//! in its notes, like any file.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use perftab_core::module_name;
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes};

/// A walk does not go deeper: `/lib/modules/6.1/kernel/drivers/net/ethernet/intel/ice/ice.ko.xz`
/// is eight folders down.
const MAX_DEPTH: usize = 16;

/// Where kernels and modules may lie: everything below one root, and the releases to look for.
pub struct KernelPlaces {
    root: PathBuf,
    releases: Vec<String>,
    /// Paths by the module's name; made when the first module is looked for.
    modules: Option<HashMap<String, Vec<PathBuf>>>,
}

/// The symbols of the running kernel, and its notes, which say what they are symbols of.
pub struct RunningSymbols {
    /// Where they were read from.
    pub path: PathBuf,
    /// `/proc/kallsyms`, whose length is not known before it is read.
    pub text: Vec<u8>,
    /// `/sys/kernel/notes`.
    pub notes: Vec<u8>,
}

impl KernelPlaces {
    /// `root` is `/`, or a made-up one in tests; `recorded` is the release that was recorded.
    pub fn new(root: &Path, recorded: Option<&str>) -> Self {
        let mut places = Self { root: root.to_owned(), releases: Vec::new(), modules: None };
        if let Some(release) = recorded {
            places.add_release(release);
        }
        let running = fs::read_to_string(root.join("proc/sys/kernel/osrelease"));
        places.add_release(running.unwrap_or_default().trim());
        places
    }

    /// It becomes a part of paths, and it may come from a stranger's recording.
    fn add_release(&mut self, release: &str) {
        let is_name = !release.is_empty() && !release.starts_with('.') && !release.contains('/');
        if is_name && !self.releases.iter().any(|known| known == release) {
            self.releases.push(release.to_owned());
            self.modules = None;
        }
    }

    /// Where a vmlinux may lie. `listed_as` is the path that the recording has for it.
    pub fn kernels(&self, listed_as: Option<&str>) -> Vec<PathBuf> {
        let listed = listed_as.and_then(|path| path.strip_prefix('/'));
        let listed =
            listed.into_iter().flat_map(|path| [path.to_owned(), format!("usr/lib/debug/{path}")]);
        let of_release = self.releases.iter().flat_map(|release| {
            [
                format!("usr/lib/debug/boot/vmlinux-{release}"),
                format!("usr/lib/debug/boot/vmlinux-{release}.debug"),
                format!("usr/lib/debug/lib/modules/{release}/vmlinux"),
                format!("usr/lib/debug/usr/lib/modules/{release}/vmlinux"),
                format!("usr/lib/debug/vmlinux-{release}"),
                format!("boot/vmlinux-{release}"),
                format!("lib/modules/{release}/vmlinux"),
                format!("lib/modules/{release}/build/vmlinux"),
                format!("usr/src/kernels/{release}/vmlinux"),
            ]
        });
        let anywhere = ["boot/vmlinux", "vmlinux"].map(str::to_owned);
        listed.chain(of_release).chain(anywhere).map(|path| self.root.join(path)).collect()
    }

    /// The running kernel's symbols if it has this id. Reading them costs the kernel 40 ms, so
    /// they are not read for the gate to refuse them.
    pub fn running_symbols(&self, id: BuildId) -> Option<RunningSymbols> {
        let notes = fs::read(self.root.join("sys/kernel/notes")).ok()?;
        build_id_in_notes(&notes, Endian::NATIVE).filter(|&running| id == running)?;
        let path = self.root.join("proc/kallsyms");
        let text = fs::read(&path).ok()?;
        Some(RunningSymbols { path, text, notes })
    }

    /// Where a module and its debug file may lie, whatever it was packed with. `paths` are those
    /// that the recording has for it, with or without a folder or `.ko`.
    pub fn modules<'p>(&mut self, paths: impl IntoIterator<Item = &'p str>) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut add = |path: PathBuf| {
            if !found.contains(&path) {
                found.push(path);
            }
        };
        for path in paths {
            let release = path.strip_prefix("/usr").unwrap_or(path).strip_prefix("/lib/modules/");
            if let Some((release, _)) = release.and_then(|rest| rest.split_once('/')) {
                self.add_release(release);
            }
            if let Some(below_root) = path.strip_prefix('/') {
                let plain =
                    [".gz", ".xz", ".zst"].iter().find_map(|it| below_root.strip_suffix(it));
                let plain = plain.unwrap_or(below_root);
                for suffix in ["", ".xz", ".zst", ".gz"] {
                    add(self.root.join(format!("{plain}{suffix}")));
                }
                for suffix in ["", ".debug"] {
                    add(self.root.join(format!("usr/lib/debug/{plain}{suffix}")));
                }
            }
            let name = module_name(path);
            self.installed_modules().get(&name).into_iter().flatten().cloned().for_each(&mut add);
        }
        found
    }

    fn installed_modules(&mut self) -> &HashMap<String, Vec<PathBuf>> {
        let (root, releases) = (&self.root, &self.releases);
        self.modules.get_or_insert_with(|| {
            let mut modules = HashMap::new();
            for release in releases {
                for folder in ["lib", "usr/lib/debug/lib", "usr/lib/debug/usr/lib"] {
                    let folder = root.join(folder).join("modules").join(release);
                    add_modules(&folder, &mut modules, MAX_DEPTH);
                }
            }
            modules
        })
    }
}

/// Adds the modules below a folder. Links to folders (`build`, `source`) are not followed.
fn add_modules(folder: &Path, modules: &mut HashMap<String, Vec<PathBuf>>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let mut entries: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    // Which file is shown as the source of names must not depend on the order on disk.
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add_modules(&entry.path(), modules, depth);
            continue;
        }
        let name = entry.file_name();
        let Some(file) = name.to_str().filter(|file| file.contains(".ko")) else { continue };
        let file = file.strip_suffix(".debug").unwrap_or(file);
        modules.entry(module_name(file)).or_default().push(entry.path());
    }
}

/// What is missing if nothing names a kernel that was recorded, and what to do about it.
pub fn missing_kernel(id: BuildId, release: Option<&str>) -> String {
    let release = release.map_or(String::new(), |release| format!(" of kernel {release}"));
    format!(
        "No kallsyms or vmlinux with build-id {id} was found: its functions are shown by address. \
         Install the debug package{release}, give its file with `--vmlinux FILE`, or run `perftab \
         buildid archive` on the machine that was recorded."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    struct Root(PathBuf);

    impl Root {
        fn with(files: &[(&str, &[u8])]) -> Self {
            let name = format!("perftab-kernel-places-{}", scratch::unique_suffix());
            let root = Self(std::env::temp_dir().join(name));
            for (path, bytes) in files {
                let path = root.0.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            root
        }

        fn text(&self, paths: Vec<PathBuf>) -> Vec<String> {
            let below = |path: PathBuf| path.strip_prefix(&self.0).unwrap().display().to_string();
            paths.into_iter().map(below).filter(|path| self.0.join(path).is_file()).collect()
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn b17_b18_modules_are_found_by_name_packed_or_not_in_or_out_of_tree() {
        let files = [
            "lib/modules/6.1/kernel/net/nf-nat.ko.xz",
            "lib/modules/6.1/updates/dkms/nf_nat.ko.zst",
            "usr/lib/debug/lib/modules/6.1/kernel/net/nf-nat.ko.debug",
            "lib/modules/6.2/extra/zl.ko",
            "opt/driver/fast-net",
            "opt/driver/other.ko.gz",
        ];
        let root = Root::with(&files.map(|path| (path, &b""[..])));
        let found = |paths: &[&str]| {
            let mut places = KernelPlaces::new(&root.0, Some("6.1"));
            root.text(places.modules(paths.iter().copied()))
        };
        for path in ["[nf_nat]", "nf-nat.ko", "/somewhere/nf_nat.ko.gz"] {
            assert_eq!(found(&[path]), files[..3], "{path}");
        }
        let own_path_first = found(&["/lib/modules/6.1/updates/dkms/nf_nat.ko"]);
        assert_eq!(own_path_first, [files[1], files[0], files[2]]);
        assert_eq!(found(&["[zl]"]), [""; 0]);
        assert_eq!(found(&["/lib/modules/6.2/kernel/zl.ko"]), [files[3]]);
        assert_eq!(found(&["[fast_net]", "/opt/driver/fast-net"]), [files[4]]);
        assert_eq!(found(&["/opt/driver/other.ko.xz"]), [files[5]]);
    }

    #[test]
    fn b22_a_vmlinux_is_looked_for_where_it_may_lie_and_nowhere_else() {
        let files =
            ["usr/lib/debug/boot/vmlinux-6.1", "lib/modules/6.0/build/vmlinux", "src/vmlinux"];
        let mut with: Vec<(&str, &[u8])> = files.map(|path| (path, &b""[..])).to_vec();
        with.push(("proc/sys/kernel/osrelease", b"6.0\n"));
        let root = Root::with(&with);
        let found =
            |release, listed| root.text(KernelPlaces::new(&root.0, release).kernels(listed));
        assert_eq!(found(Some("6.1"), None), [files[0], files[1]]);
        assert_eq!(found(Some("6.1"), Some("/src/vmlinux")), [files[2], files[0], files[1]]);
        for outside in ["../../etc", "..", "", "/etc"] {
            let paths = KernelPlaces::new(&root.0, Some(outside)).kernels(Some("src/vmlinux"));
            assert!(paths.iter().all(|path| !path.display().to_string().contains("..")));
            assert_eq!(root.text(paths), [files[1]]);
        }
    }

    #[test]
    fn b20_b23_the_running_kernel_is_offered_only_under_its_own_id() {
        let note = |name: &[u8; 4], id: u8| {
            let words = [4u32, 20, 3].into_iter().flat_map(u32::to_ne_bytes);
            words.chain(name.iter().copied()).chain([id; 20]).collect::<Vec<u8>>()
        };
        // Another note of the same type, and the kernel's own behind it.
        let notes = [note(b"Xen\0", 7), note(b"GNU\0", 9)].concat();
        let root = Root::with(&[("sys/kernel/notes", &notes), ("proc/kallsyms", b"text")]);
        let places = KernelPlaces::new(&root.0, None);
        let text = |id| places.running_symbols(BuildId::new(&[id; 20]).unwrap()).map(|s| s.text);
        assert_eq!([text(7), text(8), text(9)], [None, None, Some(b"text".to_vec())]);
    }
}
