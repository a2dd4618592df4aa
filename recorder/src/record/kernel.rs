//! The running kernel: its identity, its range and its symbols; [`kernel_modules`](super::kernel_modules)
//! has its modules.
//!
//! Everything is read below a root folder (`/`, or a made-up one in tests). /proc/kallsyms costs
//! the kernel about 40 ms to write, so it is read once, before the recording begins; at the end
//! only the functions that were hit are looked up.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use perftab_perfdata::format::build_id::BuildId;
use perftab_perfdata::format::elf_note::{Endian, build_id_in_notes};
use perftab_perfdata::format::perftab_section::{KernelImage, KernelSymbol, KernelSymbols};
use perftab_perfdata::format::record::KERNEL_PID;
use perftab_perfdata::format::write::{CpuMode, MappedFile, Mmap2, SampleIdTrailer, mmap2};

use super::kallsyms::Kallsyms;
use super::kernel_modules::KernelModules;

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
    pub fn read(root: &Path) -> Self {
        let notes = fs::read(root.join("sys/kernel/notes")).unwrap_or_default();
        // In this order: what is loaded between the two is in the second, and unused there.
        let modules = KernelModules::read(root);
        Self {
            build_id: build_id_in_notes(&notes, Endian::NATIVE),
            modules,
            symbols: Kallsyms::read(&root.join("proc/kallsyms")),
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
        self.modules.write_mappings(out, trailer);
    }

    /// The functions that contain these addresses, by image: of all images that had code there
    /// while it was recorded. Images without a build-id could not be told from another build and
    /// are left out.
    pub fn functions_at(&self, addresses: impl IntoIterator<Item = u64>) -> Vec<KernelSymbols> {
        let of_start: HashMap<&str, BuildId> = self.modules.ids_of_start().collect();
        let mut images: BTreeMap<(&str, BuildId), BTreeMap<u64, KernelSymbol>> = BTreeMap::new();
        let mut add = |name, build_id, function: KernelSymbol| {
            let image = images.entry((name, build_id)).or_default();
            image.entry(function.address).or_insert(function);
        };
        let mut addresses: Vec<u64> = addresses.into_iter().collect();
        // Most functions are hit at many addresses, and found once.
        addresses.sort_unstable();
        let mut found = 0..0;
        for address in addresses {
            if !found.contains(&address)
                && let Some(function) = self.symbols.function_at(address)
            {
                found = function.address..function.end;
                let id = match function.module {
                    Some(module) => of_start.get(module).copied(),
                    None => self.build_id,
                };
                if let Some(id) = id {
                    add(function.module.unwrap_or(KERNEL_NAME), id, function.symbol());
                }
            }
            for (module, id, function) in self.modules.functions_at(address) {
                add(module, id, function);
            }
        }
        let image_of = |name: &str| {
            if name == KERNEL_NAME { KernelImage::Kernel } else { KernelImage::Module }
        };
        images
            .into_iter()
            .map(|((name, build_id), symbols)| KernelSymbols {
                image: image_of(name),
                build_id,
                symbols: symbols.into_values().collect(),
                name: name.to_owned(),
            })
            .collect()
    }
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

    #[test]
    fn kernel_and_modules_are_mapped_with_their_own_ids() {
        let root = fake("mapped");
        let kernel = RunningKernel::read(root.path());
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
        let kernel = RunningKernel::read(root.path());
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
    fn hidden_addresses_are_noticed() {
        let zeros = KALLSYMS.lines().map(|line| format!("0000000000000000{}\n", &line[16..]));
        let root =
            FakeRoot::new("hidden").with("proc/kallsyms", zeros.collect::<String>().as_bytes());
        let kernel = RunningKernel::read(root.path());
        assert!(kernel.addresses_are_hidden());
        let mut out = Vec::new();
        kernel.write_mappings(&mut out, SampleIdTrailer::NONE);
        assert!(out.is_empty());
        assert!(kernel.functions_at([0, 1, u64::MAX]).is_empty());
    }
}
