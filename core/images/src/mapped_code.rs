//! Whether the code that was mapped is that of a file, and where the file has it.
//!
//! Two files of one build need not have their code at the same offsets: patchelf moves it in the
//! file that runs and not in its debug file, and `objcopy --only-keep-debug` takes it out. So a file
//! is taken to be the one that was mapped only if a recorded mapping is one that the kernel or the
//! dynamic linker makes of its code. Any other is placed by the length of the mapping: that tells
//! which mapping is the code where all segments were mapped to be executed (READ_IMPLIES_EXEC).
//!
//! A file that patchelf changed and the one that it was made of have one build-id. Where both ran under
//! one path, the recording has them as one DSO, and its frames have offsets of either.
//!
//! Mappings are made of a segment in two ways (`elf_load` in fs/binfmt_elf.c, Linux 6.12;
//! `_dl_map_segments` in elf/dl-map-segments.h, glibc 2.40): of the pages that it is in, or, of the
//! first one, of all pages up to the end of the last.

use object::elf;
use perftab_dsos::ExecutableMapping;
use perftab_perfdata::sorting::sort;

use super::elf::{Elf, Segment};
use super::same_code::has_code;

/// What recorded mappings say of a file of the right build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MappedCode {
    /// It is what was mapped, or nothing speaks against it: its offsets are those of the frames.
    SameOffsets,
    /// It has the same code at other offsets: this much is subtracted from an offset.
    Moved { slide: u64 },
    /// Nothing tells where it has what was mapped.
    Unknown,
    /// Two files of this build were mapped, with the code at different offsets: an offset may be of
    /// either.
    Several,
}

/// Compares what was mapped with the code of a file.
pub(super) fn place(elf: &Elf, mapped: &[ExecutableMapping]) -> MappedCode {
    let code = Code::of(elf);
    let has_code = has_code(elf);
    // `eu-strip -f` leaves the segments of a debug file as they were; `objcopy --only-keep-debug`
    // does not, so nothing of what was mapped can be told from its offsets.
    let is_left = |segment: &&Segment| segment.file_size == segment.memory_size;
    let has_offsets = has_code || code.segments.iter().all(is_left);
    if has_offsets && code.was_mapped_elsewhere_too(mapped) {
        return MappedCode::Several;
    }
    let is_same = match has_code {
        true => mapped.is_empty() || code.segments.is_empty() || code.was_mapped(mapped),
        false => has_offsets && mapped.iter().any(|it| it.length.is_some() && code.is_segment(it)),
    };
    match (is_same, code.slide(mapped)) {
        (true, _) => MappedCode::SameOffsets,
        (false, Some(slide)) => MappedCode::Moved { slide },
        (false, None) => MappedCode::Unknown,
    }
}

/// What a file says of its code.
struct Code<'a> {
    /// Executable ones.
    segments: Vec<&'a Segment>,
    /// Those of data.
    others: Vec<&'a Segment>,
    /// The one with the lowest address, whether it is executable or not.
    first: Option<&'a Segment>,
    /// Where the last one ends in memory.
    end: u64,
    /// Sizes that a page may have.
    pages: &'static [u64],
}

impl<'a> Code<'a> {
    fn of(elf: &'a Elf) -> Self {
        let loads = || elf.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD);
        let end = loads().map(|it| it.address.saturating_add(it.memory_size)).max();
        let pages: &[u64] = match elf.machine {
            elf::EM_386 | elf::EM_X86_64 | elf::EM_S390 | elf::EM_RISCV => &[4096],
            _ => &[4096, 8192, 16384, 65536],
        };
        let (segments, others) = loads().partition(|segment| segment.is_executable_load());
        Self {
            segments,
            others,
            first: loads().min_by_key(|segment| segment.address),
            end: end.unwrap_or(0),
            pages,
        }
    }

    /// True if the mappings are such as are made of this file. Where none is whole (parts of it were
    /// mapped anew, as other memory), all must be parts of its code.
    fn was_mapped(&self, mapped: &[ExecutableMapping]) -> bool {
        mapped.iter().any(|mapping| self.is_segment(mapping) || self.is_all(mapping))
            || mapped.iter().all(|mapping| self.is_part(mapping))
    }

    /// True if one of several mappings is as long as one that is made of the file's code, and begins
    /// at another offset: it is the code of another file.
    fn was_mapped_elsewhere_too(&self, mapped: &[ExecutableMapping]) -> bool {
        let all_are_executed = mapped.iter().any(|mapping| self.is_all(mapping));
        let is_of_this_file = |mapping: &ExecutableMapping| {
            self.is_segment(mapping)
                || self.is_all(mapping)
                || all_are_executed && self.is_of(&self.others, mapping)
        };
        let is_as_long = |mapping: &ExecutableMapping, segment: &Segment, page: u64| {
            let of_bytes = |size: u64| pages(segment, size, page);
            let lengths = [of_bytes(segment.file_size), of_bytes(segment.memory_size)];
            let length = mapping.length;
            length.is_some_and(|it| lengths.contains(&it) || it == self.span(segment, page))
        };
        let is_elsewhere = |mapping: &&ExecutableMapping| {
            self.segments.iter().any(|segment| {
                self.pages.iter().any(|&page| {
                    mapping.offset != floor(segment.offset, page)
                        && is_as_long(mapping, segment, page)
                })
            }) && !is_of_this_file(mapping)
        };
        let is_here =
            |mapping: &ExecutableMapping| self.is_segment(mapping) || self.is_all(mapping);
        mapped.iter().any(is_here) && mapped.iter().any(|it| is_elsewhere(&it))
    }

    /// True for the pages that the file has a segment of code in.
    fn is_segment(&self, mapping: &ExecutableMapping) -> bool {
        self.is_of(&self.segments, mapping)
    }

    /// True for the pages that one of these segments is in.
    fn is_of(&self, segments: &[&Segment], mapping: &ExecutableMapping) -> bool {
        self.pages.iter().any(|&page| {
            segments.iter().any(|segment| {
                mapping.offset == floor(segment.offset, page)
                    && mapping.length.is_none_or(|it| it == pages(segment, segment.file_size, page))
            })
        })
    }

    /// True for all pages from the first segment to the end of the last, if they have the code where
    /// the file has it. Where all segments may be executed, the kernel makes one mapping of them.
    fn is_all(&self, mapping: &ExecutableMapping) -> bool {
        let Some(first) = self.first else { return false };
        let distance = |it: &Segment| it.address.wrapping_sub(it.offset);
        self.segments.iter().any(|segment| distance(segment) == distance(first))
            && self.pages.iter().any(|&page| {
                mapping.offset == floor(first.offset, page)
                    && mapping.length == Some(self.span(first, page))
            })
    }

    /// Length of a mapping of all segments from this one on.
    fn span(&self, from: &Segment, page: u64) -> u64 {
        ceiling(self.end, page).wrapping_sub(floor(from.address, page))
    }

    /// True for some of the pages that the file has code in. Where segments adjoin, a mapping may be
    /// of both.
    fn is_part(&self, mapping: &ExecutableMapping) -> bool {
        let end = mapping.offset.saturating_add(mapping.length.unwrap_or(1));
        self.pages.iter().any(|&page| {
            let range = |segment: &&Segment| {
                let end = segment.offset.saturating_add(segment.file_size);
                (floor(segment.offset, page), ceiling(end, page))
            };
            let mut ranges: Vec<(u64, u64)> = self.segments.iter().map(range).collect();
            sort(&mut ranges);
            ranges.dedup_by(|next, before| {
                let adjoins = next.0 <= before.1;
                if adjoins {
                    before.1 = before.1.max(next.1);
                }
                adjoins
            });
            ranges.into_iter().any(|(first, last)| first <= mapping.offset && end <= last)
        })
    }

    /// Segments that a mapping is of by its length, each with the size of a page.
    fn by_length(&self, mapping: &ExecutableMapping) -> impl Iterator<Item = (&'a Segment, u64)> {
        let length = mapping.length;
        self.segments.iter().flat_map(move |&segment| {
            let is_of = move |page: u64| {
                let sizes = [segment.file_size, segment.memory_size];
                let is_first = self.first.is_some_and(|first| first.address == segment.address);
                length.is_none_or(|length| {
                    sizes.iter().any(|&size| pages(segment, size, page) == length)
                        || is_first && self.span(segment, page) == length
                })
            };
            self.pages.iter().copied().filter(move |&page| is_of(page)).map(move |it| (segment, it))
        })
    }

    /// File offset − address in the file, if all that the mappings can be of says the same.
    ///
    /// A mapping begins at the offset of its segment, rounded down to a page. The difference to
    /// the segment's address, rounded down to the segment's alignment, is what the linker used:
    /// addresses and offsets are congruent modulo the alignment. Where that is less than a page
    /// (`ld -N`), they are congruent modulo a page all the same, or it could not be mapped.
    fn slide(&self, mapped: &[ExecutableMapping]) -> Option<u64> {
        // Segments differ in it.
        if self.segments.len() != 1 {
            return None;
        }
        let slides = mapped.iter().flat_map(|mapping| {
            let is_aligned = |&(_, page): &(&Segment, u64)| mapping.offset.is_multiple_of(page);
            self.by_length(mapping).filter(is_aligned).filter_map(|(segment, page)| {
                let align = segment.align.max(page);
                let ahead = match segment.align >= page {
                    true => floor(segment.address.wrapping_sub(mapping.offset), align),
                    false => floor(segment.address, page).wrapping_sub(mapping.offset),
                };
                align.is_power_of_two().then_some(ahead.wrapping_neg())
            })
        });
        let mut slides: Vec<u64> = slides.collect();
        sort(&mut slides);
        slides.dedup();
        match slides[..] {
            [slide] => Some(slide),
            _ => None,
        }
    }
}

/// Length of a mapping of so many bytes of a segment.
fn pages(segment: &Segment, size: u64, page: u64) -> u64 {
    let end = ceiling(segment.address.saturating_add(size), page);
    end.wrapping_sub(floor(segment.address, page))
}

/// Down to a multiple of a power of two.
fn floor(value: u64, step: u64) -> u64 {
    value & !(step - 1)
}

fn ceiling(value: u64, step: u64) -> u64 {
    floor(value.saturating_add(step - 1), step)
}
