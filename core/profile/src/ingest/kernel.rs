//! Kernel and kernel modules: one address space for all processes. The same again for guests.

use std::ops::Range;

use perftab_perfdata::decode::records::MmapRecord;
use perftab_perfdata::format::record::is_memory;

use super::address_space::{AddressSpace, Version};
use crate::mappings::Mapping;
use crate::{DsoId, DsoKind, Dsos, MappedFrom, MappedIn, Mappings, Profile};

/// Name that perf gives to the kernel.
pub(super) const KERNEL_NAME: &str = "[kernel.kallsyms]";
/// What the names of kernel maps begin with: `[kernel.kallsyms]_text`, and `[kernel.kallsyms._text]`
/// from perf 2.6.34 and before.
const KERNEL_PREFIX: &str = "[kernel.kallsyms";
/// Name that perf gives to the kernel of the guests that it was told nothing else of.
const GUEST_KERNEL_NAME: &str = "[guest.kernel.kallsyms]";
/// The same with the pid of a guest: `[guest.kernel.kallsyms.1234]`.
const GUEST_KERNEL_PREFIX: &str = "[guest.kernel.kallsyms";

/// A kernel's address space. Its frames keep the address at run time: embedded symbols have it
/// too, and a vmlinux is slid to it by the reference symbol.
pub(super) struct Kernel {
    of: KernelOf,
    space: AddressSpace,
    kernel: Option<DsoId>,
    versions: u32,
}

/// Every kernel that samples may have run in.
pub(super) struct Kernels {
    pub host: Kernel,
    pub guests: Kernel,
}

impl Default for Kernels {
    fn default() -> Self {
        Self { host: Kernel::new(KernelOf::Host), guests: Kernel::new(KernelOf::Guests) }
    }
}

impl Kernels {
    /// A sample of this row meets them as they are now.
    pub(super) fn met(&mut self, all: &mut Mappings, row: usize) {
        self.host.space.met(all, MappedIn::Kernel, row);
        self.guests.space.met(all, MappedIn::GuestKernels, row);
    }

    /// What is mapped in each.
    pub(super) fn spaces(&mut self) -> impl Iterator<Item = &mut AddressSpace> {
        [&mut self.host.space, &mut self.guests.space].into_iter()
    }
}

/// Whose kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KernelOf {
    /// The machine's that was recorded.
    Host,
    /// Its guests', together: samples do not say which guest ran. Nothing here can name their
    /// code, so they are shown by address.
    Guests,
}

/// Since when code made at run time is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CodeSince {
    /// The kernel made it now, and knows where it ends.
    Now,
    /// The recorder found it. perf says of trampolines that they fill a page (`process_bpf_image` in
    /// tools/perf/util/bpf-event.c), where newer kernels have other code too.
    #[default]
    BeforeTheRecording,
}

impl Kernel {
    fn new(of: KernelOf) -> Self {
        Self { of, space: AddressSpace::new(of.version(0)), kernel: None, versions: 0 }
    }

    /// A map of the kernel (pid -1 on the host). The kernel's own is [`KERNEL_NAME`] and the name
    /// of its reference symbol (`_text` or `_stext`), whose address is the page offset (0 if the
    /// recorder was not allowed to see it). Other names in brackets and paths are modules. What is
    /// left are more ranges of the kernel (`__entry_SYSCALL_64_trampoline`, Linux 4.15 to 4.20),
    /// as `machine__process_kernel_mmap_event` in `tools/perf/util/machine.c` has it.
    pub(super) fn map(&mut self, profile: &mut Profile, mmap: &MmapRecord<'_>) {
        let Profile { dsos, mappings: all, .. } = profile;
        // The kernel's map may be said to end behind the last address.
        let end = mmap.address.saturating_add(mmap.length);
        let dso = if let Some(rest) = mmap.path.strip_prefix(self.of.prefix()) {
            let dso = self.of.intern(dsos, mmap.mapped_from);
            self.kernel = Some(dso);
            let place = &mut dsos.get_mut(dso).kernel_place;
            place.add(mmap.page_offset, mmap.address..end);
            if place.symbol.is_none() {
                place.symbol = reference_symbol(rest).map(str::to_owned);
            }
            dso
        } else if mmap.path.starts_with(['/', '[']) {
            let dso = dsos.intern(&mmap.path, self.of.module_kind(), mmap.mapped_from, None);
            dsos.get_mut(dso).kernel_place.add(mmap.address, mmap.address..end);
            dso
        } else {
            self.dso(dsos)
        };
        if mmap.length > 0 {
            // Frames keep their run-time address: the page offset is the address itself.
            let (start, page_offset) = (mmap.address, mmap.address);
            let version = self.next_version();
            self.space.map(all, Mapping { start, end, page_offset, dso }, version);
        }
    }

    /// Code made at run time is there. Its frames have the offset from its start. No module has
    /// this memory, whatever its map says, now or when the code is gone.
    pub(super) fn add_code(
        &mut self,
        all: &mut Mappings,
        range: Range<u64>,
        dso: DsoId,
        since: CodeSince,
    ) {
        let Range { start, end } = range;
        let code = Mapping { start, end, page_offset: 0, dso };
        let version = self.next_version();
        match since {
            CodeSince::Now => {
                self.space.unmap(all, range, version);
                self.space.add_code(all, code, version);
            }
            CodeSince::BeforeTheRecording => {
                self.space.unmap_memory(all, range, version);
                self.space.add_earlier_code(all, code, version);
            }
        }
    }

    /// Code made at run time that began there is gone.
    pub(super) fn remove_code(&mut self, all: &mut Mappings, start: u64, dso: DsoId) {
        let version = self.next_version();
        self.space.remove_code(all, start, dso, version);
    }

    fn next_version(&mut self) -> Version {
        self.versions += 1;
        self.of.version(self.versions)
    }

    /// What is mapped where.
    pub(super) fn address_space(&self) -> &AddressSpace {
        &self.space
    }

    /// What a kernel address outside of every map belongs to: the kernel itself (code made at run
    /// time, modules that were loaded later, a recording without kernel maps). `None` for an address
    /// of user space, which samples in kernel mode may have where the hardware is imprecise: 64-bit
    /// kernels have the upper half of the addresses.
    pub(super) fn dso_outside_maps(
        &mut self,
        dsos: &mut Dsos,
        all: &Mappings,
        address: u64,
    ) -> Option<DsoId> {
        let is_upper = |address: u64| address >> 63 == 1;
        let is_64_bit = self.space.first(all).is_some_and(|mapping| is_upper(mapping.start));
        (is_upper(address) || !is_64_bit).then(|| self.dso(dsos))
    }

    fn dso(&mut self, dsos: &mut Dsos) -> DsoId {
        *self.kernel.get_or_insert_with(|| self.of.intern(dsos, MappedFrom::Nothing))
    }
}

impl KernelOf {
    fn version(self, number: u32) -> Version {
        match self {
            Self::Host => Version::kernel(number),
            Self::Guests => Version::guest_kernel(number),
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Host => KERNEL_PREFIX,
            Self::Guests => GUEST_KERNEL_PREFIX,
        }
    }

    fn intern(self, dsos: &mut Dsos, mapped_from: MappedFrom) -> DsoId {
        match self {
            Self::Host => dsos.intern(KERNEL_NAME, DsoKind::Kernel, mapped_from, None),
            Self::Guests => intern_foreign(dsos, GUEST_KERNEL_NAME),
        }
    }

    fn module_kind(self) -> DsoKind {
        match self {
            Self::Host => DsoKind::Module,
            Self::Guests => DsoKind::Anon,
        }
    }
}

/// The symbol whose address the page offset is, from what follows the kernel's name: `]_text`, or
/// `._text]` from perf 2.6.34 and before. Recorders choose `_text`, else `_stext`; what may stand
/// behind that is not a part of it.
fn reference_symbol(rest: &str) -> Option<&str> {
    let name = rest.trim_start_matches([']', '.']);
    if let Some(known) = ["_text", "_stext"].into_iter().find(|known| name.starts_with(known)) {
        return Some(known);
    }
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(&name[..end]).filter(|name| !name.is_empty())
}

/// A DSO for code that ran on the machine, but not in its kernel or processes. It has no identity
/// that a file could match.
pub(super) fn intern_foreign(dsos: &mut Dsos, name: &str) -> DsoId {
    let dso = dsos.intern(name, DsoKind::Anon, MappedFrom::Nothing, None);
    dsos.get_mut(dso).no_identity_because = Some("it ran in a guest or below the kernel");
    dso
}

/// What kind of thing a process mapped under this name.
pub(super) fn user_dso_kind(path: &str) -> DsoKind {
    match path {
        "[vdso]" | "[vdso32]" | "[vdsox32]" | "[vsyscall]" | "[uprobes]" => DsoKind::Vdso,
        _ if is_memory(path.as_bytes()) => DsoKind::Anon,
        _ => DsoKind::User,
    }
}
