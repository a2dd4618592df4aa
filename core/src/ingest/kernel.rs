//! Kernel and kernel modules: one address space for all processes.

use super::address_space::{AddressSpace, Mapping, Version};
use crate::decode::records::MmapRecord;
use crate::profile::{DsoId, DsoKind, Dsos, MappedFrom};

/// Name that perf gives to the kernel.
pub(super) const KERNEL_NAME: &str = "[kernel.kallsyms]";

/// The kernel's address space. Its frames keep the address at run time: embedded symbols have
/// it too, and a vmlinux is slid to it by the reference symbol.
pub(super) struct Kernel {
    space: AddressSpace,
    kernel: Option<DsoId>,
    versions: u32,
}

impl Default for Kernel {
    fn default() -> Self {
        Self { space: AddressSpace::new(Version::kernel(0)), kernel: None, versions: 0 }
    }
}

impl Kernel {
    /// A map of the kernel (pid -1). The kernel's own is `[kernel.kallsyms]` and the name of its
    /// reference symbol (`_text` or `_stext`), whose address is the page offset; everything else
    /// is a module.
    pub(super) fn map(&mut self, dsos: &mut Dsos, mmap: &MmapRecord<'_>) {
        let Some(end) = mmap.address.checked_add(mmap.length) else { return };
        if mmap.length == 0 {
            return;
        }
        let dso = if is_kernel_name(&mmap.path) {
            let dso = dsos.intern(KERNEL_NAME, DsoKind::Kernel, mmap.mapped_from, None);
            self.kernel = Some(dso);
            if mmap.page_offset != 0 {
                dsos.get_mut(dso).kernel_reference.get_or_insert(mmap.page_offset);
            }
            dso
        } else {
            dsos.intern(&mmap.path, DsoKind::Module, mmap.mapped_from, None)
        };
        self.versions += 1;
        // Frames keep their run-time address: the page offset is the address itself.
        let mapping = Mapping { start: mmap.address, end, page_offset: mmap.address, dso };
        self.space.map(mapping, Version::kernel(self.versions));
    }

    /// What is mapped where.
    pub(super) fn address_space(&self) -> &AddressSpace {
        &self.space
    }

    /// The kernel itself: what a kernel address outside of every map belongs to (code made at
    /// run time, modules that were loaded later, a recording without kernel maps).
    pub(super) fn dso(&mut self, dsos: &mut Dsos) -> DsoId {
        *self.kernel.get_or_insert_with(|| {
            dsos.intern(KERNEL_NAME, DsoKind::Kernel, MappedFrom::Nothing, None)
        })
    }
}

/// True for the kernel's own map, whatever reference symbol follows the bracket.
fn is_kernel_name(name: &str) -> bool {
    name.starts_with(KERNEL_NAME)
}

/// True if a kernel-mode entry of the build-id table is a module: `[name]` other than the
/// well-known brackets, or `.ko` and perhaps a compression's suffix.
pub(super) fn is_module_name(name: &str) -> bool {
    if name.starts_with('[') {
        let known = ["[kernel.kallsyms]", "[guest.kernel.kallsyms", "[vdso", "[vsyscall]"];
        return !known.iter().any(|known| name.starts_with(known));
    }
    let file = name.rsplit('/').next().unwrap_or(name);
    let plain = [".gz", ".xz", ".zst"].iter().find_map(|suffix| file.strip_suffix(suffix));
    plain.unwrap_or(file).ends_with(".ko")
}

/// The name under which a module is known: `xt_nat` for `/lib/…/xt-nat.ko.xz` and `[xt_nat]`.
pub(super) fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.trim_start_matches('[').trim_end_matches(']');
    let plain = [".gz", ".xz", ".zst"].iter().find_map(|suffix| file.strip_suffix(suffix));
    let file = plain.unwrap_or(file);
    file.strip_suffix(".ko").unwrap_or(file).replace('-', "_")
}

/// What kind of thing a process mapped under this name. Names without a file behind them
/// (`tools/perf/util/map.h`, `is_anon_memory` and its neighbours) can never have a build-id.
pub(super) fn user_dso_kind(path: &str) -> DsoKind {
    const ANONYMOUS: [&str; 9] = [
        "//anon",
        "[anon:",
        "[heap]",
        "[stack",
        "/memfd:",
        "anon_inode:",
        "/dev/zero",
        "/SYSV",
        "/anon_hugepage",
    ];
    match path {
        "[vdso]" | "[vdso32]" | "[vdsox32]" => DsoKind::Vdso,
        _ if ANONYMOUS.iter().any(|anonymous| path.starts_with(anonymous)) => DsoKind::Anon,
        _ => DsoKind::User,
    }
}
