//! The running kernel: its identity, its range, its modules and its symbols.
//!
//! Everything is read below a root folder (`/`, or a made-up one in tests). /proc/kallsyms costs
//! the kernel about 40 ms to write, so it is read once, before the recording begins; at the end
//! only the functions that were hit are looked up.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use perftab_core::format::build_id::BuildId;
use perftab_core::format::elf_note::{Endian, build_id_in_notes};
use perftab_core::format::perftab_section::{KernelImage, KernelSymbol, KernelSymbols};
use perftab_core::format::record::KERNEL_PID;
use perftab_core::format::write::{CpuMode, MappedFile, Mmap2, SampleIdTrailer, mmap2};

/// How every tool calls the running kernel.
pub const KERNEL_NAME: &str = "[kernel.kallsyms]";
const PAGE: u64 = 4096;
const PROT_EXEC: u32 = 4;

/// What is known of the running kernel.
pub struct RunningKernel {
    root: PathBuf,
    /// From /sys/kernel/notes.
    pub build_id: Option<BuildId>,
    symbols: Kallsyms,
    /// Those at the start, if modules came since.
    first_symbols: Option<Kallsyms>,
    /// Every module seen so far.
    modules: Vec<Module>,
    /// Name, address and size of those that are loaded now.
    loaded: Vec<(String, u64, u64)>,
}

/// A loaded kernel module.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Module {
    /// As in /proc/modules: underscores, never dashes.
    name: String,
    /// Runtime address and size of its code and data.
    address: u64,
    size: u64,
    build_id: Option<BuildId>,
    /// The file it was loaded from, or `[name]`.
    path: String,
}

impl RunningKernel {
    /// Reads what there is to read; without permission that is less, never an error.
    pub fn read(root: &Path) -> Self {
        let notes = fs::read(root.join("sys/kernel/notes")).unwrap_or_default();
        Self {
            build_id: build_id_in_notes(&notes, Endian::NATIVE),
            symbols: Kallsyms::read(&root.join("proc/kallsyms")),
            first_symbols: None,
            modules: modules(root),
            loaded: module_places(root),
            root: root.to_owned(),
        }
    }

    /// Whether `kernel.kptr_restrict` keeps the kernel's addresses from us.
    pub fn addresses_are_hidden(&self) -> bool {
        self.symbols.text.is_none()
    }

    /// Appends the mappings of the kernel and of its modules.
    pub fn write_mappings(&self, out: &mut Vec<u8>, trailer: SampleIdTrailer) {
        if let Some(text) = &self.symbols.text {
            // The suffix names the symbol whose runtime address pgoff is: so a reader learns how
            // far the kernel was moved (KASLR).
            let name = format!("{KERNEL_NAME}{}", text.reference);
            let length = text.end - text.start;
            let map = kernel_mapping(text.start, length, text.start, self.build_id, &name);
            mmap2(out, &map, trailer);
        }
        for module in &self.modules {
            write_module(module, out, trailer);
        }
    }

    /// Appends the mappings of modules that were loaded since the last call. What is known of those
    /// that are gone stays: samples were taken in them.
    pub fn write_new_modules(&mut self, out: &mut Vec<u8>, trailer: SampleIdTrailer) {
        let loaded = module_places(&self.root);
        if loaded == self.loaded {
            return;
        }
        self.loaded = loaded;
        let now = modules(&self.root);
        let before = self.modules.len();
        for module in now {
            if !self.modules.contains(&module) {
                write_module(&module, out, trailer);
                self.modules.push(module);
            }
        }
        if self.modules.len() > before {
            let symbols = Kallsyms::read(&self.root.join("proc/kallsyms"));
            let earlier = std::mem::replace(&mut self.symbols, symbols);
            self.first_symbols.get_or_insert(earlier);
        }
    }

    /// The functions that contain these addresses, by image. Images without a build-id could not
    /// be told from another build and are left out.
    pub fn functions_at(&self, addresses: impl IntoIterator<Item = u64>) -> Vec<KernelSymbols> {
        let mut images: BTreeMap<String, BTreeMap<u64, KernelSymbol>> = BTreeMap::new();
        for address in addresses {
            let before = || self.first_symbols.as_ref()?.function_at(address);
            let Some(function) = self.symbols.function_at(address).or_else(before) else {
                continue;
            };
            let image = images.entry(function.module.unwrap_or(KERNEL_NAME).to_owned());
            image.or_default().entry(function.address).or_insert_with(|| KernelSymbol {
                address: function.address,
                size: u32::try_from(function.end - function.address).unwrap_or(u32::MAX),
                name: function.name.to_owned(),
            });
        }
        let ids: HashMap<&str, BuildId> = self
            .modules
            .iter()
            .filter_map(|module| Some((module.name.as_str(), module.build_id?)))
            .chain(self.build_id.map(|id| (KERNEL_NAME, id)))
            .collect();
        let image_of = |name: &str| {
            if name == KERNEL_NAME { KernelImage::Kernel } else { KernelImage::Module }
        };
        images
            .into_iter()
            .filter_map(|(name, symbols)| {
                Some(KernelSymbols {
                    image: image_of(&name),
                    build_id: *ids.get(name.as_str())?,
                    symbols: symbols.into_values().collect(),
                    name,
                })
            })
            .collect()
    }
}

fn write_module(module: &Module, out: &mut Vec<u8>, trailer: SampleIdTrailer) {
    let map = kernel_mapping(module.address, module.size, 0, module.build_id, &module.path);
    mmap2(out, &map, trailer);
}

fn kernel_mapping(
    address: u64,
    length: u64,
    page_offset: u64,
    build_id: Option<BuildId>,
    name: &str,
) -> Mmap2<'_> {
    Mmap2 {
        pid: KERNEL_PID,
        cpu_mode: CpuMode::Kernel,
        address,
        length,
        page_offset,
        file: match build_id {
            Some(id) => MappedFile::BuildId(id),
            None => MappedFile::Inode { major: 0, minor: 0, inode: 0 },
        },
        protection: PROT_EXEC,
        flags: 0,
        name: name.as_bytes(),
    }
}

/// /proc/kallsyms, `ADDRESS TYPE NAME[\t[MODULE]]` a line, ordered by address.
#[derive(Default)]
struct Kallsyms {
    bytes: Vec<u8>,
    /// Address and where the name begins in `bytes`. Several with one address stay as listed.
    symbols: Vec<(u64, u32)>,
    text: Option<KernelText>,
}

/// The kernel's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KernelText {
    reference: &'static str,
    start: u64,
    end: u64,
}

struct KernelFunction<'a> {
    address: u64,
    end: u64,
    name: &'a str,
    module: Option<&'a str>,
}

impl Kallsyms {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_default();
        if u32::try_from(bytes.len()).is_err() {
            return Self::default();
        }
        let (mut symbols, mut text, mut stext, mut etext) = (Vec::new(), None, None, None);
        let mut at = 0;
        while at < bytes.len() {
            let line = &bytes[at..];
            let length = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
            if let Some((address, name_at)) = symbol(&line[..length]) {
                match &line[name_at..length] {
                    b"_text" => text = Some(address),
                    b"_stext" => stext = Some(address),
                    b"_etext" => etext = Some(address),
                    _ => {}
                }
                symbols.push((address, (at + name_at) as u32));
            }
            at += length + 1;
        }
        // Those of modules follow the kernel's own; the order of equals must stay.
        symbols.sort_by_key(|(address, _)| *address);
        let start = text.map(|at| ("_text", at)).or(stext.map(|at| ("_stext", at)));
        let text = start.zip(etext).and_then(|((reference, start), end)| {
            // Zeros: hidden by kptr_restrict.
            (start > 0 && end > start).then_some(KernelText { reference, start, end })
        });
        Self { bytes, symbols, text }
    }

    fn function_at(&self, address: u64) -> Option<KernelFunction<'_>> {
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let &(start, name_at) = self.symbols.get(after.checked_sub(1)?)?;
        let (name, module) = self.name(name_at)?;
        let end = match self.symbols.get(after) {
            Some(&(next, next_at)) if self.name(next_at).is_some_and(|(_, m)| m == module) => next,
            // The last one of its image: up to the end of its page and the next, as perf has it.
            Some(&(next, _)) => next.min(page_end(start)),
            None => page_end(start),
        };
        (address < end).then_some(KernelFunction { address: start, end, name, module })
    }

    fn name(&self, at: u32) -> Option<(&str, Option<&str>)> {
        let line = self.bytes.get(at as usize..)?.split(|byte| *byte == b'\n').next()?;
        let text = std::str::from_utf8(line).ok()?;
        Some(match text.split_once('\t') {
            Some((name, module)) => (name, Some(module.trim_matches(['[', ']']))),
            None => (text, None),
        })
    }
}

fn page_end(start: u64) -> u64 {
    start.checked_next_multiple_of(PAGE).and_then(|end| end.checked_add(PAGE)).unwrap_or(u64::MAX)
}

/// Address and offset of the name, if the line is of a kind that perf shows too: code, data, weak.
fn symbol(line: &[u8]) -> Option<(u64, usize)> {
    let digits = line.iter().position(|byte| *byte == b' ')?;
    let name_at = digits + 3;
    let kind = line.get(digits + 1)?.to_ascii_uppercase();
    // Names with a dollar mark kinds of data on ARM.
    if !matches!(kind, b'T' | b'W' | b'D' | b'B') || *line.get(name_at)? == b'$' {
        return None;
    }
    let mut address = 0u64;
    for digit in &line[..digits] {
        address = address.checked_mul(16)? | u64::from((*digit as char).to_digit(16)?);
    }
    Some((address, name_at))
}

/// Name, address and size of every module that is loaded and whose address is not hidden.
fn module_places(root: &Path) -> Vec<(String, u64, u64)> {
    let text = fs::read_to_string(root.join("proc/modules")).unwrap_or_default();
    // NAME SIZE USERS USED_BY STATE 0xADDRESS
    let place = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let size = fields.get(1)?.parse().ok()?;
        let address = u64::from_str_radix(fields.get(5)?.strip_prefix("0x")?, 16).ok()?;
        (address != 0).then(|| (fields[0].to_owned(), address, size))
    };
    text.lines().filter_map(place).collect()
}

fn modules(root: &Path) -> Vec<Module> {
    let places = module_places(root);
    let paths = if places.is_empty() { HashMap::new() } else { module_paths(root) };
    let module = |(name, address, size): (String, u64, u64)| Module {
        build_id: module_build_id(&root.join("sys/module").join(&name).join("notes")),
        path: paths.get(&name).cloned().unwrap_or_else(|| format!("[{name}]")),
        name,
        address,
        size,
    };
    places.into_iter().map(module).collect()
}

/// Each file in the folder is one note section of the module.
fn module_build_id(notes: &Path) -> Option<BuildId> {
    fs::read_dir(notes).ok()?.find_map(|entry| {
        let notes = fs::read(entry.ok()?.path()).ok()?;
        build_id_in_notes(&notes, Endian::NATIVE)
    })
}

/// Files of the modules by name, from the list that depmod made for this kernel.
fn module_paths(root: &Path) -> HashMap<String, String> {
    let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    let folder = format!("/lib/modules/{}", release.trim());
    let list = fs::read_to_string(root.join(&folder[1..]).join("modules.dep")).unwrap_or_default();
    let entry = |line: &str| {
        let (path, _) = line.split_once(':')?;
        let file = path.rsplit('/').next()?;
        let (name, _) = file.split_once(".ko")?;
        Some((name.replace('-', "_"), format!("{folder}/{path}")))
    };
    list.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root folder with what a kernel shows, removed when dropped.
    struct FakeRoot(PathBuf);

    impl FakeRoot {
        fn new(name: &str) -> Self {
            let folder = format!("perftab-kernel-{name}-{}", std::process::id());
            Self(std::env::temp_dir().join(folder))
        }

        fn with(self, path: &str, bytes: &[u8]) -> Self {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
            self
        }
    }

    impl Drop for FakeRoot {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const KALLSYMS: &str = "\
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

    fn note(id: u8) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [4u32, 20, 3] {
            note.extend_from_slice(&word.to_ne_bytes());
        }
        note.extend_from_slice(b"GNU\0");
        note.extend_from_slice(&[id; 20]);
        note
    }

    fn fake(name: &str) -> FakeRoot {
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

    #[test]
    fn kernel_and_modules_are_mapped_with_their_own_ids() {
        let root = fake("mapped");
        let kernel = RunningKernel::read(&root.0);
        assert_eq!(kernel.build_id, BuildId::new(&[0xaa; 20]));
        let text = KernelText {
            reference: "_text",
            start: 0xffff_ffff_8100_0000,
            end: 0xffff_ffff_8100_1000,
        };
        assert_eq!(kernel.symbols.text, Some(text));
        assert_eq!(kernel.modules.len(), 2);
        assert_eq!(kernel.modules[0].build_id, BuildId::new(&[0xee; 20]));
        assert_eq!(kernel.modules[0].path, "[ext4]");
        assert_eq!(kernel.modules[1].build_id, None);
        assert_eq!(kernel.modules[1].path, "/lib/modules/6.1.0-test/kernel/net/nf-nat.ko.xz");
        let mut out = Vec::new();
        kernel.write_mappings(&mut out, SampleIdTrailer::NONE);
        let has = |name: &[u8]| out.windows(name.len()).any(|window| window == name);
        assert!(has(b"[kernel.kallsyms]_text\0") && has(b"[ext4]\0") && has(b"nf-nat.ko.xz\0"));
    }

    #[test]
    fn functions_are_keyed_by_image_and_bounded() {
        let root = fake("functions");
        let kernel = RunningKernel::read(&root.0);
        let images = kernel.functions_at([
            0x1500,
            0xffff_ffff_8100_0050,
            0xffff_ffff_8100_0190,
            0xffff_ffff_8100_01ff,
            0xffff_ffff_c000_0900,
            0xffff_ffff_c090_0000,
        ]);
        let names = |image: &KernelSymbols| -> Vec<(String, u32)> {
            image.symbols.iter().map(|symbol| (symbol.name.clone(), symbol.size)).collect()
        };
        // The per-CPU offset is no code, and the BPF program has no identity.
        assert_eq!(images.len(), 2);
        assert_eq!((images[0].image, images[0].name.as_str()), (KernelImage::Kernel, KERNEL_NAME));
        let expected = [("_text".to_owned(), 0x100), ("do_two_again".to_owned(), 0xe80)];
        assert_eq!(names(&images[0]), expected);
        assert_eq!((images[1].image, images[1].name.as_str()), (KernelImage::Module, "ext4"));
        assert_eq!(images[1].build_id, BuildId::new(&[0xee; 20]).unwrap());
        assert_eq!(names(&images[1]), [("ext4_init".to_owned(), 0x800)]);
    }

    #[test]
    fn a_module_that_is_loaded_later_is_mapped_then() {
        let root = fake("later");
        let mut kernel = RunningKernel::read(&root.0);
        let mut out = Vec::new();
        kernel.write_new_modules(&mut out, SampleIdTrailer::NONE);
        assert!(out.is_empty(), "nothing has changed");
        let root = root
            .with("proc/kallsyms", b"ffffffffc0200000 t btrfs_init\t[btrfs]\n")
            .with("proc/modules", b"btrfs 1 1 - Live 0xffffffffc0200000\n");
        kernel.write_new_modules(&mut out, SampleIdTrailer::NONE);
        let has = |name: &[u8]| out.windows(name.len()).any(|window| window == name);
        assert!(has(b"[btrfs]\0") && !has(b"[ext4]\0"));
        // What was hit in the one that is gone keeps its name.
        let images = kernel.functions_at([0xffff_ffff_c000_0900]);
        assert_eq!(images[0].symbols[0].name, "ext4_init");
        drop(root);
    }

    #[test]
    fn hidden_addresses_are_noticed() {
        let zeros = KALLSYMS.lines().map(|line| format!("0000000000000000{}\n", &line[16..]));
        let root =
            FakeRoot::new("hidden").with("proc/kallsyms", zeros.collect::<String>().as_bytes());
        let kernel = RunningKernel::read(&root.0);
        assert!(kernel.addresses_are_hidden());
        let mut out = Vec::new();
        kernel.write_mappings(&mut out, SampleIdTrailer::NONE);
        assert!(out.is_empty());
        assert!(kernel.functions_at([0, 1, u64::MAX]).is_empty());
    }
}
