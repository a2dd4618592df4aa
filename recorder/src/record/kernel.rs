//! The running kernel: its identity, its range and its symbols; [`kernel_modules`](super::kernel_modules)
//! has its modules.
//!
//! Everything is read below a root folder (`/`, or a made-up one in tests). /proc/kallsyms costs
//! the kernel 40 to 65 ms to write, most of what a short recording costs. So it is read once, before the recording begins.
//! Where no module is loaded, a copy serves that `perftab report` has kept; a recorder leaves nothing behind. At the end
//! only the functions that were hit are looked up.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes};
use perftab_perfdata::format::perftab_section::{KernelImage, KernelSymbol, KernelSymbols};
use perftab_perfdata::format::record::KERNEL_PID;
use perftab_perfdata::format::write::{CpuMode, MappedFile, Mmap2, SampleIdTrailer, mmap2};

use super::kallsyms::{Kallsyms, KernelFunction};
use super::kernel_modules::KernelModules;
use crate::images::kernel_copies::KernelCopies;

/// How every tool calls the running kernel.
pub const KERNEL_NAME: &str = "[kernel.kallsyms]";
const PROT_EXEC: u32 = 4;

/// What is known of the running kernel.
pub struct RunningKernel {
    /// From /sys/kernel/notes.
    pub build_id: Option<BuildId>,
    /// Those at the start, and what became of them.
    pub modules: KernelModules,
    /// Those at the start, of modules too.
    symbols: Kallsyms,
}

impl RunningKernel {
    /// Reads what there is to read; without permission that is less, never an error.
    pub fn read(root: &Path, copies: &KernelCopies) -> Self {
        let notes = fs::read(root.join("sys/kernel/notes")).unwrap_or_default();
        // In this order: what is loaded between the two is in the second, and unused there.
        let modules = KernelModules::read(root);
        let build_id = build_id_in_notes(&notes, Endian::NATIVE);
        let symbols = symbols(&root.join("proc/kallsyms"), build_id, &modules, copies);
        Self { build_id, modules, symbols }
    }

    /// Whether the kernel keeps its addresses from us.
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
        self.modules.write_mappings(out, trailer);
    }

    /// Looks up the functions that contain these addresses: of all images that had code there while it was recorded.
    pub fn look_up(&self, addresses: Vec<u64>, functions: &mut KernelFunctions) {
        let of_start: HashMap<&str, BuildId> = self.modules.ids_of_start().collect();
        for address in addresses {
            // Most functions are hit at many addresses, and found once.
            if !functions.has_of_start(address)
                && let Some(function) = self.symbols.function_at(address)
            {
                functions.of_start.insert(function.address, function.end);
                let id = match function.module {
                    Some(module) => of_start.get(module).copied(),
                    None => self.build_id,
                };
                if let Some(id) = id {
                    functions.add(function.module.unwrap_or(KERNEL_NAME), id, &function);
                }
            }
            for (module, id, function) in self.modules.functions_at(address) {
                functions.add(module, id, &function);
            }
        }
    }
}

/// Functions of the kernel and of its modules, by image. Images without a build-id could not be told from another build
/// and are left out.
#[derive(Debug, Default)]
pub struct KernelFunctions {
    images: BTreeMap<(String, BuildId), BTreeMap<u64, KernelSymbol>>,
    /// Where functions that were there at the start begin and end.
    of_start: BTreeMap<u64, u64>,
}

impl KernelFunctions {
    fn has_of_start(&self, address: u64) -> bool {
        let before = self.of_start.range(..=address).next_back();
        before.is_some_and(|(_, &end)| address < end)
    }

    fn add(&mut self, image: &str, build_id: BuildId, function: &KernelFunction<'_>) {
        let image = self.images.entry((image.to_owned(), build_id)).or_default();
        image.entry(function.address).or_insert_with(|| function.symbol());
    }

    /// All of them.
    pub fn by_image(&self) -> Vec<KernelSymbols> {
        let image_of = |name: &str| {
            if name == KERNEL_NAME { KernelImage::Kernel } else { KernelImage::Module }
        };
        let symbols = self.images.iter().map(|((name, build_id), symbols)| KernelSymbols {
            image: image_of(name),
            build_id: *build_id,
            symbols: symbols.values().cloned().collect(),
            name: name.clone(),
        });
        symbols.collect()
    }
}

/// What is at the path, by a copy if there is one of this build. Copies are without modules.
fn symbols(
    path: &Path,
    build_id: Option<BuildId>,
    modules: &KernelModules,
    copies: &KernelCopies,
) -> Kallsyms {
    let build_id = build_id.filter(|_| modules.ids_of_start().next().is_none());
    let copied = build_id.and_then(|id| Kallsyms::moved(copies.read(id)?, path));
    copied.unwrap_or_else(|| Kallsyms::read(path))
}

/// A mapping of kernel code.
pub(super) fn kernel_mapping(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fake_root::{FakeRoot, KALLSYMS, fake, has};
    use crate::record::kallsyms::KernelText;

    fn functions_at(kernel: &RunningKernel, addresses: &[u64]) -> Vec<KernelSymbols> {
        let mut functions = KernelFunctions::default();
        kernel.look_up(addresses.to_vec(), &mut functions);
        functions.by_image()
    }

    #[test]
    fn kernel_and_modules_are_mapped_with_their_own_ids() {
        let root = fake("mapped");
        let kernel = RunningKernel::read(root.path(), &KernelCopies::none());
        assert_eq!(kernel.build_id, BuildId::new(&[0xaa; 20]));
        let text = KernelText {
            reference: "_text",
            start: 0xffff_ffff_8100_0000,
            end: 0xffff_ffff_8100_1000,
        };
        assert_eq!(kernel.symbols.text, Some(text));
        let ids: Vec<_> = kernel.modules.ids_of_start().collect();
        assert_eq!(ids, [("ext4", BuildId::new(&[0xee; 20]).unwrap())]);
        let mut out = Vec::new();
        kernel.write_mappings(&mut out, SampleIdTrailer::NONE);
        assert!(has(&out, b"[kernel.kallsyms]_text\0") && has(&out, b"[ext4]\0"));
        assert!(has(&out, b"/lib/modules/6.1.0-test/kernel/net/nf-nat.ko.xz\0"));
    }

    #[test]
    fn functions_are_keyed_by_image_and_bounded() {
        let root = fake("functions");
        let kernel = RunningKernel::read(root.path(), &KernelCopies::none());
        let addresses = [
            0x1500,
            0xffff_ffff_8100_0050,
            0xffff_ffff_8100_0190,
            0xffff_ffff_8100_01ff,
            0xffff_ffff_c000_0900,
            0xffff_ffff_c090_0000,
        ];
        let images = functions_at(&kernel, &addresses);
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
    fn a_copy_serves_where_the_kernel_lies_elsewhere_by_now() {
        let root = fake("copied");
        root.load(&[]);
        let copies = KernelCopies::in_folder(root.path().join("copies"));
        let functions = |address| {
            let images = functions_at(&RunningKernel::read(root.path(), &copies), &[address]);
            let symbols = images.into_iter().flat_map(|image| image.symbols);
            symbols.map(|symbol| (symbol.address, symbol.size, symbol.name)).collect::<Vec<_>>()
        };
        let found = |address: u64, name: &str| vec![(address, 0x80, name.to_owned())];
        assert_eq!(functions(0xffff_ffff_8100_0150), found(0xffff_ffff_8100_0100, "do_one"));
        // What lies behind its first page is read from the copy from now on; only the first is of the kernel that runs.
        let filler =
            |at| (0..1000).map(move |n| format!("{:016x} t filler_{n}\n", at + 0x1000 + n));
        let listed = |text: &str, at: u64| text.to_owned() + &filler(at).collect::<String>();
        let own = KALLSYMS.lines().filter(|line| !line.contains('\t'));
        let own: String = own.map(|line| format!("{line}\n")).collect();
        copies.keep(
            BuildId::new(&[0xaa; 20]).unwrap(),
            listed(&own, 0xffff_ffff_8100_0000).as_bytes(),
        );
        let moved = listed(&own.replace("ffffffff81", "ffffffff9a"), 0xffff_ffff_9a00_0000);
        root.write("proc/kallsyms", moved.replace("filler_999", "other").as_bytes());
        assert_eq!(functions(0xffff_ffff_9a00_0150), found(0xffff_ffff_9a00_0100, "do_one"));
        let last = functions(0xffff_ffff_9a00_1000 + 999);
        assert_eq!(last.first().map(|it| it.2.as_str()), Some("filler_999"), "of the copy");
        let text = RunningKernel::read(root.path(), &copies).symbols.text.expect("it is known");
        assert_eq!((text.start, text.end), (0xffff_ffff_9a00_0000, 0xffff_ffff_9a00_1000));
        // A kernel that is said to be the same build, and is not.
        root.write("proc/kallsyms", moved.replace("do_one", "do_it").as_bytes());
        assert_eq!(functions(0xffff_ffff_9a00_0150), found(0xffff_ffff_9a00_0100, "do_it"));
        // With modules all is read.
        root.write("proc/kallsyms", KALLSYMS.as_bytes());
        root.load(&[("ext4", 0xffff_ffff_c000_0000, 0xee)]);
        let kernel = RunningKernel::read(root.path(), &copies);
        let images = functions_at(&kernel, &[0xffff_ffff_c000_0900]);
        assert_eq!(images.first().map(|image| image.name.as_str()), Some("ext4"));
    }

    #[test]
    fn hidden_addresses_are_noticed() {
        let zeros = KALLSYMS.lines().map(|line| format!("0000000000000000{}\n", &line[16..]));
        let root =
            FakeRoot::new("hidden").with("proc/kallsyms", zeros.collect::<String>().as_bytes());
        let kernel = RunningKernel::read(root.path(), &KernelCopies::none());
        assert!(kernel.addresses_are_hidden());
        let mut out = Vec::new();
        kernel.write_mappings(&mut out, SampleIdTrailer::NONE);
        assert!(out.is_empty());
        assert!(functions_at(&kernel, &[0, 1, u64::MAX]).is_empty());
    }
}
