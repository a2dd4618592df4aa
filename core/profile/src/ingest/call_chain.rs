//! Call chains → interned stacks, those of many samples together.
//!
//! A look-up of a frame or stack mostly waits for memory, and those of one chain for each other. So
//! chains wait until there are some hundreds of frames, and rows of samples for their stacks: then what
//! can be read is read for all of them. Frames and stacks get the numbers that they would have had one
//! after the other.
//!
//! What is done for each word is inlined by force, here and in what it calls: the page is compiled so that
//! hardly anything is (`xtask/src/wasm.rs`).
//!
//! Words of a chain stand innermost first. Those from [`CONTEXT_MARKER_MIN`] on are markers: they
//! say in which CPU mode the words after them ran. The first word after a marker is an
//! instruction pointer that the CPU saved; all others are return addresses, which point behind
//! the call, so that one less is looked up.

use std::ops::Range;

use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::decode::sample::Words;
use perftab_perfdata::format::record::{
    CONTEXT_GUEST, CONTEXT_GUEST_KERNEL, CONTEXT_GUEST_USER, CONTEXT_HYPERVISOR, CONTEXT_KERNEL,
    CONTEXT_MARKER_MIN, CONTEXT_USER, CONTEXT_USER_DEFERRED, misc,
};

use super::address_space::{AddressSpace, Version};
use super::kernel::{Kernel, Kernels, intern_foreign};
use super::user_part::{UserPart, WalkedTo};
use crate::{DsoKind, Frame, FrameId, MappedFrom, Profile, PseudoFrame, StackId, Stacks};

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

/// What a stack is made of.
pub(super) struct Chain<'a> {
    pub kernels: &'a mut Kernels,
    /// What is mapped in the process.
    pub user: &'a AddressSpace,
    /// Instruction pointer of the sample; 0 if not recorded.
    pub ip: u64,
    /// Its call chain.
    pub words: Words<'a>,
    pub user_part: UserPart<'a>,
    pub cpu_mode: u16,
}

/// What the outermost words of a chain are; where a chain has none, as if they were mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outermost {
    Mapped,
    /// They lie in no mapping.
    Unmapped,
}

/// Makes stacks of chains; keeps what would otherwise be allocated for each.
pub(super) struct CallChains {
    cache: Vec<CacheRow>,
    gaps: [Gap; GAPS],
    /// Of each chain that waits its frames, outermost first, and [`Stacks::END`]. Those that are not
    /// known yet are numbers in `wanted`, as [`wanted_frame`] has them.
    frames: Vec<FrameId>,
    /// Frames that were not in the cache, and where in it they go.
    wanted: Vec<Frame>,
    wanted_for: Vec<usize>,
    /// The rows that wait for the stacks of these chains, one each.
    rows: Vec<usize>,
    found: Vec<FrameId>,
    lookups: Lookups,
}

/// What was looked up for call chains: what reading a recording costs depends on it more than on its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// Call chains.
    pub chains: u64,
    /// Their words, markers included.
    pub words: u64,
    /// Frames of them: words in a mapping, and runs of others.
    pub frames: u64,
    /// Those among them that the cache of addresses did not have.
    pub missed: u64,
}

/// Addresses of a process where nothing is mapped: those that were met last of some. Code without frame
/// pointers leaves data in the chains, and data that follow each other mostly lie together; a
/// search among the mappings for each such word was a tenth of the time of reading. With one for all
/// addresses twice as many words were searched for, and the page took 3 % longer.
struct Gap {
    version: Version,
    addresses: Range<u64>,
}

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
            gaps: [const { Gap { version: Version(0), addresses: 0..0 } }; GAPS],
            frames: Vec::new(),
            wanted: Vec::new(),
            wanted_for: Vec::new(),
            rows: Vec::new(),
            found: Vec::new(),
            lookups: Lookups::default(),
        }
    }
}

/// So many frames are looked up together.
const AT_ONCE: usize = 512;

/// What stands for the frame that was wanted as number `number` of those that wait. Frames count from
/// below, and fewer than [`AT_ONCE`] chains, each of a record, have no more than some millions.
fn wanted_frame(number: usize) -> FrameId {
    FrameId(Stacks::END.0 - 1 - number as u32)
}

impl CallChains {
    /// The stack of a sample, at once: its call chain, or its instruction pointer if it has none.
    pub(super) fn intern(
        &mut self,
        profile: &mut Profile,
        chain: Chain<'_>,
    ) -> (StackId, Outermost) {
        let outermost = self.walk(profile, chain);
        (self.intern_waiting(profile), outermost)
    }

    /// The same for the next row of the profile, which gets it later.
    pub(super) fn intern_later(&mut self, profile: &mut Profile, chain: Chain<'_>) -> Outermost {
        if self.frames.len() >= AT_ONCE {
            self.intern_waiting(profile);
        }
        self.rows.push(profile.samples.len());
        self.walk(profile, chain)
    }

    /// Gives the rows that wait their stacks; the answer is the last one that was found.
    pub(super) fn intern_waiting(&mut self, profile: &mut Profile) -> StackId {
        self.find_wanted(profile);
        let Profile { stacks, samples, .. } = profile;
        let (mut rows, mut last) = (self.rows.iter(), Stacks::EMPTY);
        stacks.intern_chains(&self.frames, |stack| {
            last = stack;
            if let Some(&row) = rows.next() {
                samples.set_stack(row, stack);
            }
        });
        self.rows.clear();
        self.frames.clear();
        last
    }

    /// What was looked up.
    pub(super) fn lookups(&self) -> Lookups {
        self.lookups
    }

    /// Looks up the frames that were not in the cache.
    fn find_wanted(&mut self, profile: &mut Profile) {
        let Self { cache, frames, wanted, wanted_for, found, .. } = self;
        found.clear();
        self.lookups.missed += wanted.len() as u64;
        profile.frames.intern_all(wanted, found);
        for (number, (&row, &frame)) in wanted_for.iter().zip(&*found).enumerate() {
            // Another address may have taken the place meanwhile.
            if cache[row].frame == wanted_frame(number) {
                cache[row].frame = frame;
            }
        }
        for frame in frames {
            let number = wanted_frame(0).0.wrapping_sub(frame.0);
            if let Some(&known) = found.get(number as usize) {
                *frame = known;
            }
        }
        wanted.clear();
        wanted_for.clear();
    }

    /// Adds the frames of a chain to those that wait.
    fn walk(&mut self, profile: &mut Profile, chain: Chain<'_>) -> Outermost {
        let Chain { kernels, user, ip, words, user_part, cpu_mode } = chain;
        let start = self.frames.len();
        self.lookups.words += words.len() as u64;
        let mut walk = Walk::new(context_of_cpu_mode(cpu_mode));
        let mut words = words.iter();
        let mut next = words.next();
        while let Some(word) = next {
            if word < CONTEXT_MARKER_MIN {
                next = self.words(profile, (&mut *kernels, user), word, &mut words, &mut walk);
                continue;
            }
            self.end_unmapped_run(profile, &mut walk);
            if word == CONTEXT_USER_DEFERRED {
                // The cookie of a record that this version does not read.
                words.next();
            }
            walk.context = context_of_marker(word).unwrap_or(walk.context);
            walk.exact = true;
            let is_walked = matches!(user_part, UserPart::Walked(_));
            walk.behind_call = u64::from(!(is_walked && word == CONTEXT_USER));
            next = words.next();
            if let (CONTEXT_USER, UserPart::Calls(calls), Some(first)) = (word, user_part, next)
                && first < CONTEXT_MARKER_MIN
            {
                self.word(profile, (&mut *kernels, user), first, &mut walk);
                for call in calls.iter().filter(|call| call.from != 0) {
                    // Where it calls, not where it returns to.
                    walk.exact = true;
                    self.word(profile, (&mut *kernels, user), call.from, &mut walk);
                }
                break;
            }
        }
        if let UserPart::Called(pointer) = user_part {
            self.end_unmapped_run(profile, &mut walk);
            walk = Walk { context: Context::User, exact: true, ..walk };
            self.word(profile, (&mut *kernels, user), pointer, &mut walk);
        }
        self.end_unmapped_run(profile, &mut walk);
        if let UserPart::Walked(WalkedTo::EndOfCopy(copied)) = user_part {
            let dso = PseudoFrame::unwinding_in(&mut profile.dsos);
            let address = PseudoFrame::Truncated { copied }.number();
            self.frames.push(wanted_frame(self.wanted.len()));
            self.wanted.push(Frame { dso, address });
            // No row of the cache has this number, so none changes.
            self.wanted_for.push(0);
        }
        if self.frames.len() == start && ip != 0 {
            walk = Walk::new(context_of_cpu_mode(cpu_mode));
            self.word(profile, (kernels, user), ip, &mut walk);
            self.end_unmapped_run(profile, &mut walk);
        }
        self.frames[start..].reverse();
        self.lookups.chains += 1;
        self.lookups.frames += (self.frames.len() - start) as u64;
        self.frames.push(Stacks::END);
        walk.outermost
    }

    fn word(
        &mut self,
        profile: &mut Profile,
        spaces: (&mut Kernels, &AddressSpace),
        word: u64,
        walk: &mut Walk,
    ) {
        self.words(profile, spaces, word, &mut Words::new(&[], ByteOrder::Little).iter(), walk);
    }

    /// A word and those behind it, up to the next marker, which is the answer. What they point into is
    /// asked once, not for each.
    fn words(
        &mut self,
        profile: &mut Profile,
        (kernels, user): (&mut Kernels, &AddressSpace),
        first: u64,
        rest: &mut impl Iterator<Item = u64>,
        walk: &mut Walk,
    ) -> Option<u64> {
        let words = (first, rest);
        match walk.context {
            Context::User => self.each_word(profile, words, walk, |chains, profile, address| {
                chains.user_frame(profile, user, address)
            }),
            Context::Kernel => self.each_word(profile, words, walk, |chains, profile, address| {
                chains.kernel_frame(profile, &mut kernels.host, address)
            }),
            context => self.each_word(profile, words, walk, |chains, profile, address| {
                let guests = &mut kernels.guests;
                match context {
                    Context::GuestKernel => chains.kernel_frame(profile, guests, address),
                    Context::GuestUser => {
                        chains.foreign_frame(profile, "[guest]", Version::GUEST_USERS, address)
                    }
                    Context::Hypervisor => {
                        chains.foreign_frame(profile, "[hypervisor]", Version::HYPERVISOR, address)
                    }
                    Context::Unknown | Context::User | Context::Kernel => None,
                }
            }),
        }
    }

    #[inline(always)]
    fn each_word(
        &mut self,
        profile: &mut Profile,
        (first, rest): (u64, &mut impl Iterator<Item = u64>),
        walk: &mut Walk,
        mut frame: impl FnMut(&mut Self, &mut Profile, u64) -> Option<FrameId>,
    ) -> Option<u64> {
        let mut address = if walk.exact { first } else { first.wrapping_sub(1) };
        walk.exact = false;
        loop {
            match frame(self, profile, address) {
                Some(frame) => {
                    self.end_unmapped_run(profile, walk);
                    self.frames.push(frame);
                    walk.outermost = Outermost::Mapped;
                }
                None => walk.unmapped += 1,
            }
            match rest.next() {
                Some(word) if word < CONTEXT_MARKER_MIN => {
                    address = word.wrapping_sub(walk.behind_call);
                }
                end => return end,
            }
        }
    }

    #[inline(always)]
    fn user_frame(
        &mut self,
        profile: &mut Profile,
        space: &AddressSpace,
        address: u64,
    ) -> Option<FrameId> {
        let version = space.version();
        let known = &self.gaps[gap_of(address)];
        if known.version == version && known.addresses.contains(&address) {
            return None;
        }
        let mut gap = None;
        let frame =
            self.cached(address, version, || match space.locate(&profile.mappings, address) {
                Ok(mapping) => Some(mapping.frame(address)),
                Err(addresses) => {
                    gap = Some(addresses);
                    None
                }
            });
        if let Some(addresses) = gap {
            self.gaps[gap_of(address)] = Gap { version, addresses };
        }
        frame
    }

    #[inline(always)]
    fn cached(
        &mut self,
        address: u64,
        version: Version,
        find: impl FnOnce() -> Option<Frame>,
    ) -> Option<FrameId> {
        let row = cache_row(address, version);
        let cached = self.cache[row];
        if cached.address == address && cached.version == version {
            return Some(cached.frame);
        }
        let frame = wanted_frame(self.wanted.len());
        self.wanted.push(find()?);
        self.wanted_for.push(row);
        self.cache[row] = CacheRow { address, version, frame };
        Some(frame)
    }

    #[inline(always)]
    fn kernel_frame(
        &mut self,
        profile: &mut Profile,
        kernel: &mut Kernel,
        address: u64,
    ) -> Option<FrameId> {
        self.cached(address, kernel.address_space().version(), || {
            let Profile { dsos, mappings: all, .. } = profile;
            Some(match kernel.address_space().find(all, address) {
                Some(mapping) => mapping.frame(address),
                None => Frame { dso: kernel.dso_outside_maps(dsos, all, address)?, address },
            })
        })
    }

    /// A run of words in no mapping is one frame that counts them: two thirds of the words of a
    /// whole-system recording by frame pointers are such (code without frame pointers), and each
    /// as a frame of its own cost three times the time and four times the memory.
    #[inline(always)]
    fn end_unmapped_run(&mut self, profile: &mut Profile, walk: &mut Walk) {
        let count = std::mem::take(&mut walk.unmapped);
        if count > 0 {
            let run = self.cached(count, Version::UNMAPPED_RUNS, || {
                let (path, kind) = ("[no mapping]", DsoKind::Unmapped);
                let dso = profile.dsos.intern(path, kind, MappedFrom::Nothing, None);
                Some(Frame { dso, address: count })
            });
            self.frames.extend(run);
            walk.outermost = Outermost::Unmapped;
        }
    }

    /// Code that nothing is known of but its address.
    fn foreign_frame(
        &mut self,
        profile: &mut Profile,
        name: &str,
        version: Version,
        address: u64,
    ) -> Option<FrameId> {
        self.cached(address, version, || {
            Some(Frame { dso: intern_foreign(&mut profile.dsos, name), address })
        })
    }
}

/// Where a walk along a chain has come to.
struct Walk {
    context: Context,
    /// The next word is an instruction pointer, not a return address.
    exact: bool,
    /// By how much the words of callers are behind the calls.
    behind_call: u64,
    /// Words in no mapping since the last frame.
    unmapped: u64,
    outermost: Outermost,
}

impl Walk {
    fn new(context: Context) -> Self {
        Self { context, exact: true, behind_call: 1, unmapped: 0, outermost: Outermost::Mapped }
    }
}

/// So many gaps are remembered, each of other addresses.
const GAPS: usize = 16;

/// By bits that tell small numbers, heaps, libraries and stacks apart, of which such data are: each has its own.
#[inline(always)]
fn gap_of(address: u64) -> usize {
    (address >> 32) as usize % GAPS
}

fn cache_row(address: u64, version: Version) -> usize {
    let mixed = (address ^ (u64::from(version.0) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - CACHE_ROWS.trailing_zeros())) as usize
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
