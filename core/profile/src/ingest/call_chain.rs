//! Call chains → interned stacks.
//!
//! Words of a chain stand innermost first. Those from [`CONTEXT_MARKER_MIN`] on are markers: they
//! say in which CPU mode the words after them ran. The first word after a marker is an
//! instruction pointer that the CPU saved; all others are return addresses, which point behind
//! the call, so that one less is looked up.

use std::ops::Range;

use perftab_perfdata::decode::sample::RawSample;
use perftab_perfdata::format::record::{
    CONTEXT_GUEST, CONTEXT_GUEST_KERNEL, CONTEXT_GUEST_USER, CONTEXT_HYPERVISOR, CONTEXT_KERNEL,
    CONTEXT_MARKER_MIN, CONTEXT_USER, CONTEXT_USER_DEFERRED, misc,
};

use super::address_space::{AddressSpace, Version};
use super::kernel::{Kernel, Kernels, intern_foreign};
use super::user_part::UserPart;
use crate::{DsoId, DsoKind, Frame, FrameId, MappedFrom, Profile, StackId};

/// Rows of the cache of resolved addresses: 256 KiB. 95 % of look-ups hit it on a whole-system
/// recording; a memo of whole chains was slower, as most of them are unique.
const CACHE_ROWS: usize = 1 << 14;

/// Whose code a word of a chain points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Context {
    Kernel,
    User,
    GuestKernel,
    GuestUser,
    Hypervisor,
    /// The kernel could not tell.
    Unknown,
}

/// Makes stacks of chains; keeps what would otherwise be allocated for each.
pub(super) struct CallChains {
    cache: Vec<CacheRow>,
    gap: Gap,
    frames: Vec<FrameId>,
    unmapped: Option<DsoId>,
    /// By the length of a run of words in no mapping, its frame, for short runs.
    runs: Vec<Option<FrameId>>,
}

/// Addresses of a process where nothing is mapped: those that were met last. Code without frame
/// pointers leaves data in the chains, and data that follow each other mostly lie together; a
/// search among the mappings for each such word was a tenth of the time of reading.
struct Gap {
    version: Version,
    addresses: Range<u64>,
}

/// Runs of fewer words than this have their frame in a table.
const SHORT_RUNS: usize = 64;

#[derive(Clone, Copy)]
struct CacheRow {
    address: u64,
    version: Version,
    frame: FrameId,
}

impl Default for CallChains {
    fn default() -> Self {
        let empty = CacheRow { address: u64::MAX, version: Version(0), frame: FrameId(0) };
        Self {
            cache: vec![empty; CACHE_ROWS],
            gap: Gap { version: Version(0), addresses: 0..0 },
            frames: Vec::new(),
            unmapped: None,
            runs: vec![None; SHORT_RUNS],
        }
    }
}

impl CallChains {
    /// The stack of a sample: its call chain, or its instruction pointer if it has none.
    pub(super) fn intern(
        &mut self,
        profile: &mut Profile,
        kernels: &mut Kernels,
        user: &AddressSpace,
        sample: &RawSample<'_>,
        user_part: UserPart<'_>,
        cpu_mode: u16,
    ) -> StackId {
        self.frames.clear();
        let mut walk = Walk { context: context_of_cpu_mode(cpu_mode), exact: true, unmapped: 0 };
        let mut words = sample.call_chain.iter();
        let mut before = None;
        while let Some(word) = words.next() {
            let after = before.replace(word);
            if word >= CONTEXT_MARKER_MIN {
                self.end_unmapped_run(profile, &mut walk);
                if word == CONTEXT_USER_DEFERRED {
                    // The cookie of a record that this version does not read.
                    words.next();
                }
                walk.context = context_of_marker(word).unwrap_or(walk.context);
                walk.exact = true;
                continue;
            }
            self.word(profile, kernels, user, word, &mut walk);
            if let (Some(CONTEXT_USER), UserPart::Calls(calls)) = (after, user_part) {
                for call in calls.iter().filter(|call| call.from != 0) {
                    // Where it calls, not where it returns to.
                    walk.exact = true;
                    self.word(profile, kernels, user, call.from, &mut walk);
                }
                break;
            }
        }
        if let UserPart::Called(pointer) = user_part {
            self.end_unmapped_run(profile, &mut walk);
            walk = Walk { context: Context::User, exact: true, unmapped: 0 };
            self.word(profile, kernels, user, pointer, &mut walk);
        }
        self.end_unmapped_run(profile, &mut walk);
        if self.frames.is_empty() && sample.ip != 0 {
            walk = Walk { context: context_of_cpu_mode(cpu_mode), exact: true, unmapped: 0 };
            self.word(profile, kernels, user, sample.ip, &mut walk);
            self.end_unmapped_run(profile, &mut walk);
        }
        self.frames.reverse();
        profile.stacks.intern_chain(&self.frames)
    }

    fn word(
        &mut self,
        profile: &mut Profile,
        kernels: &mut Kernels,
        user: &AddressSpace,
        word: u64,
        walk: &mut Walk,
    ) {
        let address = if walk.exact { word } else { word.wrapping_sub(1) };
        walk.exact = false;
        let frame = match walk.context {
            Context::Kernel => self.kernel_frame(profile, &mut kernels.host, address),
            Context::User => self.user_frame(profile, user, address),
            Context::GuestKernel => self.kernel_frame(profile, &mut kernels.guests, address),
            Context::GuestUser => Some(foreign_frame(profile, "[guest]", address)),
            Context::Hypervisor => Some(foreign_frame(profile, "[hypervisor]", address)),
            Context::Unknown => None,
        };
        match frame {
            Some(frame) => {
                self.end_unmapped_run(profile, walk);
                self.frames.push(frame);
            }
            None => walk.unmapped += 1,
        }
    }

    fn user_frame(
        &mut self,
        profile: &mut Profile,
        space: &AddressSpace,
        address: u64,
    ) -> Option<FrameId> {
        let version = space.version();
        if self.gap.version == version && self.gap.addresses.contains(&address) {
            return None;
        }
        let Profile { frames, mappings, .. } = profile;
        let mut gap = None;
        let frame = self.cached(address, version, || match space.locate(mappings, address) {
            Ok(mapping) => Some(frames.intern(mapping.frame(address))),
            Err(addresses) => {
                gap = Some(addresses);
                None
            }
        });
        if let Some(addresses) = gap {
            self.gap = Gap { version, addresses };
        }
        frame
    }

    fn cached(
        &mut self,
        address: u64,
        version: Version,
        find: impl FnOnce() -> Option<FrameId>,
    ) -> Option<FrameId> {
        let row = cache_row(address, version);
        let cached = self.cache[row];
        if cached.address == address && cached.version == version {
            return Some(cached.frame);
        }
        let frame = find()?;
        self.cache[row] = CacheRow { address, version, frame };
        Some(frame)
    }

    fn kernel_frame(
        &mut self,
        profile: &mut Profile,
        kernel: &mut Kernel,
        address: u64,
    ) -> Option<FrameId> {
        self.cached(address, kernel.address_space().version(), || {
            let Profile { dsos, mappings: all, .. } = profile;
            let frame = match kernel.address_space().find(all, address) {
                Some(mapping) => mapping.frame(address),
                None => Frame { dso: kernel.dso_outside_maps(dsos, all, address)?, address },
            };
            Some(profile.frames.intern(frame))
        })
    }

    /// A run of words in no mapping is one frame that counts them: two thirds of the words of a
    /// whole-system recording by frame pointers are such (code without frame pointers), and each
    /// as a frame of its own cost three times the time and four times the memory.
    fn end_unmapped_run(&mut self, profile: &mut Profile, walk: &mut Walk) {
        let count = std::mem::take(&mut walk.unmapped);
        if count > 0 {
            let known = self.runs.get(count as usize).copied().flatten();
            let frame = known.unwrap_or_else(|| self.run(profile, count));
            self.frames.push(frame);
        }
    }

    /// The frame of a run of so many words in no mapping.
    #[cold]
    fn run(&mut self, profile: &mut Profile, count: u64) -> FrameId {
        let dso = *self.unmapped.get_or_insert_with(|| {
            profile.dsos.intern("[no mapping]", DsoKind::Unmapped, MappedFrom::Nothing, None)
        });
        let frame = profile.frames.intern(Frame { dso, address: count });
        if let Some(known) = self.runs.get_mut(count as usize) {
            *known = Some(frame);
        }
        frame
    }
}

/// Where a walk along a chain has come to.
struct Walk {
    context: Context,
    /// The next word is an instruction pointer, not a return address.
    exact: bool,
    /// Words in no mapping since the last frame.
    unmapped: u64,
}

fn cache_row(address: u64, version: Version) -> usize {
    let mixed = (address ^ (u64::from(version.0) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - CACHE_ROWS.trailing_zeros())) as usize
}

/// Code that nothing is known of but its address.
fn foreign_frame(profile: &mut Profile, name: &str, address: u64) -> FrameId {
    let dso = intern_foreign(&mut profile.dsos, name);
    profile.frames.intern(Frame { dso, address })
}

fn context_of_cpu_mode(cpu_mode: u16) -> Context {
    match cpu_mode {
        misc::CPUMODE_KERNEL => Context::Kernel,
        misc::CPUMODE_USER => Context::User,
        misc::CPUMODE_HYPERVISOR => Context::Hypervisor,
        misc::CPUMODE_GUEST_KERNEL => Context::GuestKernel,
        misc::CPUMODE_GUEST_USER => Context::GuestUser,
        _ => Context::Unknown,
    }
}

fn context_of_marker(marker: u64) -> Option<Context> {
    match marker {
        CONTEXT_KERNEL => Some(Context::Kernel),
        CONTEXT_USER | CONTEXT_USER_DEFERRED => Some(Context::User),
        CONTEXT_HYPERVISOR => Some(Context::Hypervisor),
        CONTEXT_GUEST | CONTEXT_GUEST_USER => Some(Context::GuestUser),
        CONTEXT_GUEST_KERNEL => Some(Context::GuestKernel),
        _ => None,
    }
}
