//! A file that may be anything: an image, one that is packed, or an archive with images in it.
//!
//! [`Offer`] walks through it in slices, so that a host can show how far it is and stop. Images of
//! builds that were not recorded are recognised by their first bytes and not held; of an archive
//! with all modules of a kernel those stay that ran.

use object::elf;
use perftab_perfdata::decode::{ByteSource, ReadError, SliceSource};
use perftab_perfdata::format::BuildId;
use perftab_perfdata::format::elf_note::build_id_of_elf;
use serde::Serialize;

use super::content_identity::ContentHashing;
use super::elf::Elf;
use super::image::{Image, NotAnImage};
use super::images::{AdmittedFile, Images};
use super::jitdump::is_jitdump;
use super::rejection::Rejection;
use crate::containers::{ContainerError, Form, HEAD, Layers, MemberUse, Visitor};

/// Bytes of the file that are read at once.
const BLOCK: u64 = 256 << 10;
/// Most bytes of unpacked images that are held: WebAssembly has 4 GB for all it does.
const HELD_MAX: u64 = if usize::BITS == 32 { 2_000_000_000 } else { 4_000_000_000 };
/// Most bytes of a member that does not show at once that it is of use: a few bytes can be packed
/// zeros without end.
const UNKNOWN_MAX: u64 = 500_000_000;
/// Refused members that are listed; an archive may have any number.
const LISTED_MAX: usize = 200;

const ELF_MAGIC: &[u8] = b"\x7fELF";

/// A file on its way into [`Images`].
pub struct Offer {
    name: String,
    source: Option<Box<dyn ByteSource>>,
    layers: Option<Layers>,
    hashed: Option<HashedImage>,
    read: u64,
    total: u64,
    member: Option<Member>,
    report: OfferReport,
}

/// What a slice of work came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferStep {
    /// There is more to do.
    More {
        /// Bytes of the file read so far.
        done: u64,
        /// All that it has.
        total: u64,
    },
    /// The whole file was looked at.
    Done(OfferReport),
}

/// What became of a file and of those in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct OfferReport {
    /// Files that give something, the one offered or members of it.
    pub used: Vec<UsedFile>,
    /// Files that are refused: the one offered, or members that somebody may wonder about.
    pub not_used: Vec<NotUsed>,
    /// Members that are images of builds that were not recorded, under names that were not either.
    pub unrelated: u32,
    /// Members that are no images.
    pub others: u32,
}

/// A file that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct UsedFile {
    /// The name of the file offered, with that of the member behind it.
    pub name: String,
    /// The DSOs that it names: rows of the ledger.
    pub dsos: Vec<u32>,
    /// What it holds, in words.
    pub gives: &'static str,
}

/// A file that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct NotUsed {
    /// As in [`UsedFile`].
    pub name: String,
    /// Why.
    pub reason: Rejection,
    /// The same in words.
    pub message: String,
}

impl Offer {
    /// Of a file of any kind. `name` is what the host calls it.
    pub fn new(name: &str, source: Box<dyn ByteSource>) -> Self {
        Self {
            name: name.to_owned(),
            total: source.len(),
            source: Some(source),
            layers: None,
            hashed: None,
            read: 0,
            member: None,
            report: OfferReport::default(),
        }
    }

    /// Goes on until about so many bytes were read or came out of what is packed.
    pub fn step(&mut self, images: &mut Images, bytes: usize) -> OfferStep {
        match self.try_step(images, bytes) {
            Ok(None) => OfferStep::More { done: self.read, total: self.total },
            Ok(Some(report)) => OfferStep::Done(report),
            Err(error) => {
                let reason = Rejection::Unreadable { message: error.to_string() };
                self.report.refuse(&self.name, reason);
                OfferStep::Done(std::mem::take(&mut self.report))
            }
        }
    }

    /// Everything at once.
    pub fn finish(mut self, images: &mut Images) -> OfferReport {
        loop {
            if let OfferStep::Done(report) = self.step(images, usize::MAX) {
                return report;
            }
        }
    }

    fn try_step(
        &mut self,
        images: &mut Images,
        bytes: usize,
    ) -> Result<Option<OfferReport>, ReadError> {
        if let Some(HashedImage { image, hashing }) = &mut self.hashed {
            let is_known = image.read_on(hashing, bytes)?;
            self.read = hashing.read();
            if is_known && let Some(HashedImage { image, .. }) = self.hashed.take() {
                let admitted = images.admit(&self.name, Ok(image));
                self.report.take(&self.name, admitted);
                self.report.take_late(images);
            }
            return Ok(None);
        }
        let Some(source) = &self.source else {
            return Ok(Some(std::mem::take(&mut self.report)));
        };
        let Some(layers) = &mut self.layers else {
            let first = source.read_vec(0, self.total.min(Form::DETECTED_IN as u64))?;
            match Form::detect(&first) {
                Some(form) => self.layers = Some(Layers::new(&self.name, form)),
                None => self.offer_itself(images),
            }
            return Ok(None);
        };
        let mut collector =
            Collector { images, report: &mut self.report, member: &mut self.member };
        let mut done = 0_usize;
        while done < bytes && !layers.is_done() {
            if layers.is_hungry() {
                let length = (self.total - self.read).min(BLOCK);
                layers.push(&source.read_vec(self.read, length)?);
                self.read += length;
            }
            done = done.saturating_add(layers.step(&mut collector));
        }
        if !layers.is_done() {
            return Ok(None);
        }
        self.source = None;
        Ok(Some(std::mem::take(&mut self.report)))
    }

    /// The file is no container: it may be an image itself, read only where it is touched. One
    /// without a build-id may have to be read whole.
    fn offer_itself(&mut self, images: &mut Images) {
        let Some(source) = self.source.take() else { return };
        match open_image(&self.name, source) {
            Ok(image) if images.recorded().has_to_read(&image) => {
                self.hashed = Some(HashedImage { image, hashing: ContentHashing::default() });
            }
            image => {
                self.read = self.total;
                let admitted = images.admit(&self.name, image);
                self.report.take(&self.name, admitted);
                self.report.take_late(images);
            }
        }
    }
}

impl OfferReport {
    /// Takes in what was decided on a file that files alone do not decide on.
    pub fn settle(&mut self, name: &str, decided: Result<AdmittedFile, Rejection>) {
        let is_it =
            |it: &NotUsed| it.name == name && matches!(it.reason, Rejection::CodeTable { .. });
        if let Some(at) = self.not_used.iter().position(is_it) {
            self.not_used.remove(at);
            self.take(name, decided);
        }
    }

    /// Takes in what became of a file.
    pub fn take(&mut self, name: &str, admitted: Result<AdmittedFile, Rejection>) {
        match admitted {
            Ok(AdmittedFile { dsos, gives }) => {
                let dsos = dsos.iter().map(|dso| dso.0).collect();
                self.used.push(UsedFile { name: name.to_owned(), dsos, gives });
            }
            Err(reason) => self.refuse(name, reason),
        }
    }

    /// Files that came before, and are of use now.
    fn take_late(&mut self, images: &mut Images) {
        for (name, admitted) in images.take_late() {
            self.not_used.retain(|it| it.name != name || it.reason != Rejection::NotNamedYet);
            self.take(&name, Ok(admitted));
        }
    }

    fn refuse(&mut self, name: &str, reason: Rejection) {
        if self.not_used.len() < LISTED_MAX {
            let message = reason.to_string();
            self.not_used.push(NotUsed { name: name.to_owned(), reason, message });
        }
    }

    /// A member that is refused: most of an archive is of no interest.
    fn refuse_member(&mut self, name: &str, reason: Rejection) {
        match reason {
            Rejection::NothingRecordedHasIt { same_name: None, .. }
            | Rejection::NoIdentityInFile => self.unrelated += 1,
            reason => self.refuse(name, reason),
        }
    }
}

/// A file without a build-id, of which it is being found out what it is.
struct HashedImage {
    image: Image,
    hashing: ContentHashing,
}

/// A member that is being held.
struct Member {
    name: String,
    /// Most bytes that it may have.
    limit: u64,
    bytes: Pieces,
}

/// Holds members that may be of use, and offers them when they are whole.
struct Collector<'a> {
    images: &'a mut Images,
    report: &'a mut OfferReport,
    member: &'a mut Option<Member>,
}

impl Visitor for Collector<'_> {
    fn begin(&mut self, name: &str, head: &[u8]) -> MemberUse {
        // zip has members for folders.
        if name.ends_with('/') {
            return MemberUse::Skip;
        }
        if !may_be_image(head) {
            self.report.others += 1;
            return MemberUse::Skip;
        }
        let found = build_id_of_elf(&SliceSource::new(head));
        // What dwz writes is told by its sections, whose headers come last.
        let refusal = found.filter(|_| !has_no_segments(head));
        if let Some(refusal) = refusal.and_then(|id| self.images.recorded().refusal(name, id)) {
            self.images.refuse(name, &refusal);
            self.report.refuse_member(name, refusal);
            return MemberUse::Skip;
        }
        let limit = if found.is_some() { HELD_MAX } else { UNKNOWN_MAX };
        let limit = limit.min(self.images.room(HELD_MAX));
        *self.member = Some(Member { name: name.to_owned(), limit, bytes: Pieces::default() });
        self.bytes(head)
    }

    fn bytes(&mut self, bytes: &[u8]) -> MemberUse {
        let Some(member) = &mut *self.member else { return MemberUse::Skip };
        if member.bytes.length + bytes.len() as u64 <= member.limit {
            member.bytes.push(bytes);
            return MemberUse::Read;
        }
        let error = ContainerError::TooLarge { bytes: member.limit };
        let reason = Rejection::Unreadable { message: error.to_string() };
        self.report.refuse(&member.name, reason);
        *self.member = None;
        MemberUse::Skip
    }

    fn end(&mut self) {
        let Some(Member { name, bytes, .. }) = self.member.take() else { return };
        let length = bytes.length;
        match self.images.admit(&name, open_image(&name, Box::new(bytes))) {
            Ok(admitted) => {
                self.images.hold(length);
                self.report.take(&name, Ok(admitted));
            }
            Err(reason) => {
                if reason == Rejection::NotNamedYet {
                    self.images.hold(length);
                }
                self.report.refuse_member(&name, reason);
            }
        }
        self.report.take_late(self.images);
    }

    fn failed(&mut self, container: &str, error: &ContainerError) {
        *self.member = None;
        let reason = Rejection::Unreadable { message: error.to_string() };
        self.report.refuse(container, reason);
    }
}

/// Opens a file that is no container.
fn open_image(name: &str, source: Box<dyn ByteSource>) -> Result<Image, NotAnImage> {
    let start = source.read_vec(0, source.len().min(4)).unwrap_or_default();
    match claimed_id(name) {
        Some(id) if !start.starts_with(ELF_MAGIC) => Image::open_cached_kallsyms(name, source, id),
        _ => Image::open(name, source),
    }
}

/// The build-id under which perf's cache keeps a copy of kallsyms: `[kernel.kallsyms]/ID/kallsyms`,
/// and before Linux 4.10 `[kernel.kallsyms]/ID`. Nothing in the copy says it, so it is a claim.
fn claimed_id(name: &str) -> Option<BuildId> {
    let mut parts = name.rsplit(['/', '\\']);
    let last = parts.next()?;
    let id = if last == "kallsyms" { parts.next()? } else { last };
    let is_kernel = parts.next()?.starts_with("[kernel.kallsyms]");
    BuildId::from_hex(id).filter(|_| is_kernel)
}

/// Whether a file that begins so may be an image: ELF, a jitdump, or a list of symbols as text, of which each
/// line begins with an address in hex.
fn may_be_image(head: &[u8]) -> bool {
    if head.starts_with(ELF_MAGIC) || is_jitdump(head) {
        return true;
    }
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let address = line.split(|&byte| byte == b' ').next().unwrap_or_default();
    let is_hex = (1..=16).contains(&address.len()) && address.iter().all(u8::is_ascii_hexdigit);
    line.len() > address.len() && (is_hex || line.starts_with(b"# perftab kallsyms"))
}

/// Whether an ELF file is neither a program nor a debug file of one: a module of a kernel, an object, or what
/// debug files share.
fn has_no_segments(head: &[u8]) -> bool {
    let elf = Elf::read(&SliceSource::new(head));
    elf.is_ok_and(|elf| elf.kind == elf::ET_REL)
}

/// Bytes in pieces, so that they need not be moved as they become more.
#[derive(Default)]
struct Pieces {
    pieces: Vec<Vec<u8>>,
    length: u64,
}

impl Pieces {
    const PIECE: usize = HEAD * 16;

    fn push(&mut self, mut bytes: &[u8]) {
        self.length += bytes.len() as u64;
        while !bytes.is_empty() {
            match self.pieces.last_mut().filter(|piece| piece.len() < Self::PIECE) {
                Some(piece) => {
                    let room = Self::PIECE - piece.len();
                    let (now, rest) = bytes.split_at(room.min(bytes.len()));
                    piece.extend_from_slice(now);
                    bytes = rest;
                }
                None => self.pieces.push(Vec::new()),
            }
        }
    }
}

impl ByteSource for Pieces {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let outside = || ReadError::new(format!("{offset:#x} is outside the file"));
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(outside());
        }
        let mut at = usize::try_from(offset).map_err(|_| outside())?;
        let mut left = buffer;
        while !left.is_empty() {
            // All but the last piece are full.
            let piece = self.pieces.get(at / Self::PIECE).map_or(&[][..], Vec::as_slice);
            let bytes = piece.get(at % Self::PIECE..).unwrap_or_default();
            let now = bytes.len().min(left.len());
            if now == 0 {
                return Err(outside());
            }
            let (filled, rest) = left.split_at_mut(now);
            filled.copy_from_slice(&bytes[..now]);
            left = rest;
            at += now;
        }
        Ok(())
    }
}
