//! perftab's own section: what travels with the recording beyond perf.data. `footer.rs` says where
//! it stands in the file.
//!
//! A kernel's symbols are only to be had on the machine that runs it, so the recorder writes down
//! the functions that the samples hit; and which distribution the machine runs, which tells where
//! its debug files are. Its version and the length of every entry let future readers and writers
//! pass over what they do not know.
//!
//! All integers are little-endian, whatever the byte order of the file around them.
//!
//! ```text
//! section                          entry
//!  0  u8[8]  "perftab\0"            0  u32  kind
//!  8  u32    version: 1             4  u32  bytes that follow
//! 12  u32    compression:           8  the body
//!            0 none, 1 raw deflate
//! 16  u64    bytes once inflated   body of kind 1, kernel symbols
//! 24  entries, compressed as said   0  u8      image: 1 kernel, 2 kernel module
//!                                   1  u8      identity: 1 GNU build-id
//!                                   2  u8      length of the identity, at most 20
//!                                   3  u8      length of the name
//!                                   4  u8[20]  identity, zero-padded
//!                                  24  name of the image, not terminated
//!                                   .  u32     count of symbols
//!                                   .  count times { u64 address (AVMA), u32 size in bytes,
//!                                                    u16 length of the name, name }
//!
//!                                  body of kind 2, os-release of the machine
//!                                   0  lines KEY=VALUE of UTF-8, values without quotes;
//!                                      keys as in os-release(5), unknown ones passed over
//!
//!                                  body of kind 3, what mapped files are
//!                                   .  to the end, times { u32 device major, u32 minor,
//!                                      u64 inode, u64 generation: all as in MMAP2 records,
//!                                      u8 identity: 1 GNU build-id, 3 content hash,
//!                                      u8 its length, u8[20] identity, zero-padded, u8[2] zero }
//!
//!                                  body of kind 4, the recorder is at work: empty
//!
//!                                  body of kind 5, counters of sideband
//!                                   .  to the end, u64 ids
//!
//!                                  body of kind 6, the perf map of a process
//!                                   0  u32     pid, as recorded
//!                                   4  to the end, lines of the file
//!
//!                                  body of kind 7, an embedded file
//!                                   0  u16     length of the name
//!                                   2  name of the file, not terminated
//!                                   .  to the end, its bytes
//! ```
//!
//! Files of kind 3 are those whose MMAP2 records have no build-id: the kernel could not read it, or
//! there is none. They were looked at when they were mapped, at the path recorded, and are listed if
//! that led to the same inode and nothing was written to it from then until the recording ended.
//! Identity 2, of the first recordings, is a hash of 4 KiB at each end of a file, which rebuilds may
//! share. It is passed over.
//!
//! Kind 5 are the ids of the counters that reported mappings and threads: they had rings of their
//! own, so that a LOST record of another id lost no mapping. In the attrs and in EVENT_DESC these
//! ids are the first event's.
//!
//! Kind 6 is what a process says of the code that it made, as it was when the recording ended: one entry
//! for each process that was sampled and has such a file, with at most 64 MB in all.
//!
//! Kind 7 are files that a reader treats as if somebody had given them beside the recording: their build-ids decide. One is
//! the jitdump of a process, with the pid in its header as recorded; or a part of an ELF file, which has the headers of the
//! whole, so that sections that are left out are of type NOBITS, as in a debug file. If the file has no build-id, a last section
//! without a name is a note with the owner `perftab` and type 1: `u8[16]`, the content hash of the whole.
//!
//! An entry of kind 4 says that the recorder had not ended when this was written: it was killed.
//!
//! Symbols are ascending by address. Where the kernel lists several names for one address, the
//! last listed is written: perf makes the same choice, so both tools show the same name.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

use super::build_id::BuildId;
use crate::text::printable;

/// First bytes of the section.
pub const MAGIC: [u8; 8] = *b"perftab\0";
/// The version written, and the newest that is read.
pub const VERSION: u32 = 1;

const COMPRESSION_NONE: u32 = 0;
const COMPRESSION_DEFLATE: u32 = 1;
const KIND_KERNEL_SYMBOLS: u32 = 1;
const KIND_OS_RELEASE: u32 = 2;
const KIND_MAPPED_FILES: u32 = 3;
const KIND_AT_WORK: u32 = 4;
const KIND_SIDEBAND: u32 = 5;
const KIND_PERF_MAP: u32 = 6;
const KIND_FILE: u32 = 7;
/// Processes in a recording that say something of their code.
const PERF_MAPS_MAX: usize = 1 << 16;
/// Embedded files in a recording.
const FILES_MAX: usize = 1 << 16;
const IDENTITY_CONTENT: u8 = 3;
/// Bytes of an entry of kind 3.
const MAPPED_FILE_SIZE: usize = 48;
const IDENTITY_GNU: u8 = 1;
/// Names of functions compress about fourfold; a section that claims more than this is not ours.
const INFLATED_MAX: u64 = 256 << 20;

/// Which part of the kernel symbols belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelImage {
    /// vmlinux.
    Kernel,
    /// A loadable kernel module.
    Module,
}

/// Symbols of the kernel or of one kernel module, as they were at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbols {
    /// Kernel or kernel module.
    pub image: KernelImage,
    /// Of the running image.
    pub build_id: BuildId,
    /// `[kernel.kallsyms]`, or the kernel module's name as in /proc/modules.
    pub name: String,
    /// Ascending by address.
    pub symbols: Vec<KernelSymbol>,
}

/// A function of the running kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSymbol {
    /// Runtime address (AVMA); with KASLR it differs from the one in vmlinux.
    pub address: u64,
    /// Bytes up to the next symbol.
    pub size: u32,
    /// As in /proc/kallsyms, not demangled.
    pub name: String,
}

/// What the section holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerftabSection {
    /// Symbols, by image.
    pub kernel: Vec<KernelSymbols>,
    /// Which distribution was recorded on.
    pub os_release: Option<OsRelease>,
    /// Files that were mapped without a build-id.
    pub files: Vec<MappedFile>,
    /// Ids of the counters that reported mappings and threads through rings of their own.
    pub sideband: Vec<u64>,
    /// What processes say of the code that they made.
    pub perf_maps: Vec<PerfMap>,
    /// Files that travel with the recording.
    pub embedded: Vec<EmbeddedFile>,
    /// Whether the recorder had ended.
    pub recorder: RecorderState,
}

/// What a process says of the code that it made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfMap {
    /// The process, as it was recorded.
    pub pid: u32,
    /// Whole lines of its `perf-PID.map`.
    pub text: Vec<u8>,
}

/// A file that travels with the recording. Nothing says that it is of a DSO but what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedFile {
    /// For humans.
    pub name: String,
    /// What is in it.
    pub bytes: Arc<[u8]>,
}

impl EmbeddedFile {
    fn encode(&self) -> Vec<u8> {
        let name = cut(&self.name, usize::from(u16::MAX));
        let length = (name.len() as u16).to_le_bytes();
        [&length, name.as_bytes(), &self.bytes].concat()
    }

    fn decode(mut body: Bytes<'_>) -> Option<Self> {
        let length = body.u16()?;
        let name = text(body.take(usize::from(length))?);
        Some(Self { name, bytes: body.0.into() })
    }

    /// What it is called where files from elsewhere are, too.
    pub fn shown_name(&self) -> String {
        format!("{} in the recording", printable(&self.name))
    }
}

/// Whether the recorder had ended when it wrote the section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecorderState {
    /// It wrote everything.
    #[default]
    Ended,
    /// It went on. If this is the last it wrote, it was killed.
    AtWork,
}

/// A file that was mapped without a build-id, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedFile {
    /// Which file, as MMAP2 records have it.
    pub inode: InodeKey,
    /// What was read of it when the recording ended.
    pub identity: FileIdentity,
}

/// What an MMAP2 record says of a file instead of a build-id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeKey {
    /// Device, major.
    pub major: u32,
    /// Device, minor.
    pub minor: u32,
    /// Inode number.
    pub inode: u64,
    /// Generation of the inode; 0 where the recorder described what ran already.
    pub generation: u64,
}

/// What a file is, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileIdentity {
    /// The GNU note's bytes.
    Gnu(BuildId),
    /// Of a file without such a note, the first 16 bytes of its SHA-256.
    Content([u8; 16]),
}

impl MappedFile {
    fn encode(&self, out: &mut Vec<u8>) {
        let InodeKey { major, minor, inode, generation } = self.inode;
        for word in [major, minor] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for word in [inode, generation] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        let (kind, bytes) = match &self.identity {
            FileIdentity::Gnu(id) => (IDENTITY_GNU, id.as_bytes()),
            FileIdentity::Content(hash) => (IDENTITY_CONTENT, &hash[..]),
        };
        let end = out.len() + 2 + BuildId::MAX_LENGTH + 2;
        out.extend_from_slice(&[kind, bytes.len() as u8]);
        out.extend_from_slice(bytes);
        out.resize(end, 0);
    }

    /// `None`: an identity of a kind that is not known here, or one that is none.
    fn decode(mut entry: Bytes<'_>) -> Option<Self> {
        let (major, minor) = (entry.u32()?, entry.u32()?);
        let (inode, generation) = (entry.u64()?, entry.u64()?);
        let [kind, length] = entry.array()?;
        let bytes = entry.take(usize::from(length))?;
        let identity = match kind {
            IDENTITY_GNU => FileIdentity::Gnu(BuildId::new(bytes)?),
            IDENTITY_CONTENT => FileIdentity::Content(bytes.try_into().ok()?),
            _ => return None,
        };
        Some(Self { inode: InodeKey { major, minor, inode, generation }, identity })
    }
}

/// Fields of os-release(5); empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsRelease {
    /// `ID`: "debian".
    pub id: String,
    /// `ID_LIKE`: what it derives from, closest first, parted by spaces.
    pub id_like: String,
    /// `VERSION_ID`: "12".
    pub version_id: String,
    /// `NAME`: "Debian GNU/Linux".
    pub name: String,
}

impl OsRelease {
    fn fields(&self) -> [(&'static str, &str); 4] {
        [
            ("ID", &self.id),
            ("ID_LIKE", &self.id_like),
            ("VERSION_ID", &self.version_id),
            ("NAME", &self.name),
        ]
    }

    /// Where the value of a key belongs; `None` for a key that is not kept.
    pub fn field_mut(&mut self, key: &str) -> Option<&mut String> {
        Some(match key {
            "ID" => &mut self.id,
            "ID_LIKE" => &mut self.id_like,
            "VERSION_ID" => &mut self.version_id,
            "NAME" => &mut self.name,
            _ => return None,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let fields = self.fields().into_iter().filter(|(_, value)| !value.is_empty());
        let line = |(key, value): (&str, &str)| format!("{key}={}\n", value.replace('\n', " "));
        fields.map(line).collect::<String>().into_bytes()
    }

    fn decode(body: &[u8]) -> Self {
        let mut release = Self::default();
        for line in String::from_utf8_lossy(body).lines() {
            if let Some((key, value)) = line.split_once('=')
                && let Some(field) = release.field_mut(key)
            {
                value.clone_into(field);
            }
        }
        release
    }
}

/// Why a section cannot be used. The file around it is not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionError {
    /// It does not begin with [`MAGIC`]: somebody else uses feature 200.
    NotOurs,
    /// A newer perftab wrote it.
    Version(u32),
    /// An unknown compression.
    Compression(u32),
    /// It ends early, or contradicts itself.
    Damaged,
}

impl fmt::Display for SectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectionError::NotOurs => write!(f, "feature section 200 is not perftab's"),
            SectionError::Version(version) => {
                write!(f, "perftab's section has version {version}; use a newer perftab")
            }
            SectionError::Compression(number) => {
                write!(f, "perftab's section has the unknown compression {number}")
            }
            SectionError::Damaged => write!(f, "perftab's section is damaged"),
        }
    }
}

impl std::error::Error for SectionError {}

/// Payload of the section. Names beyond their length field are cut.
pub fn encode(section: &PerftabSection) -> Vec<u8> {
    let mut entries = Vec::new();
    for image in &section.kernel {
        add_entry(&mut entries, KIND_KERNEL_SYMBOLS, &kernel_symbols_body(image));
    }
    if let Some(release) = &section.os_release {
        add_entry(&mut entries, KIND_OS_RELEASE, &release.encode());
    }
    if !section.files.is_empty() {
        let mut body = Vec::with_capacity(MAPPED_FILE_SIZE * section.files.len());
        section.files.iter().for_each(|file| file.encode(&mut body));
        add_entry(&mut entries, KIND_MAPPED_FILES, &body);
    }
    if !section.sideband.is_empty() {
        let body: Vec<u8> = section.sideband.iter().flat_map(|id| id.to_le_bytes()).collect();
        add_entry(&mut entries, KIND_SIDEBAND, &body);
    }
    for map in &section.perf_maps {
        add_entry(&mut entries, KIND_PERF_MAP, &[&map.pid.to_le_bytes(), &map.text[..]].concat());
    }
    for file in &section.embedded {
        add_entry(&mut entries, KIND_FILE, &file.encode());
    }
    if section.recorder == RecorderState::AtWork {
        add_entry(&mut entries, KIND_AT_WORK, &[]);
    }
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    // What is written each second is soon written over: to deflate it took a fifteenth of a recorder's time.
    let deflated = match section.recorder {
        RecorderState::AtWork => None,
        RecorderState::Ended => deflate(&entries),
    };
    let (compression, payload) = match &deflated {
        Some(deflated) => (COMPRESSION_DEFLATE, deflated),
        None => (COMPRESSION_NONE, &entries),
    };
    out.extend_from_slice(&compression.to_le_bytes());
    out.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    out.extend_from_slice(payload);
    out
}

fn add_entry(entries: &mut Vec<u8>, kind: u32, body: &[u8]) {
    entries.extend_from_slice(&kind.to_le_bytes());
    entries.extend_from_slice(&(body.len() as u32).to_le_bytes());
    entries.extend_from_slice(body);
}

fn kernel_symbols_body(image: &KernelSymbols) -> Vec<u8> {
    let id = image.build_id.as_bytes();
    let name = cut(&image.name, usize::from(u8::MAX));
    let kind = match image.image {
        KernelImage::Kernel => 1,
        KernelImage::Module => 2,
    };
    let mut body = vec![kind, IDENTITY_GNU, id.len() as u8, name.len() as u8];
    body.extend_from_slice(id);
    body.resize(4 + BuildId::MAX_LENGTH, 0);
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(&(image.symbols.len() as u32).to_le_bytes());
    for symbol in &image.symbols {
        let name = cut(&symbol.name, usize::from(u16::MAX));
        body.extend_from_slice(&symbol.address.to_le_bytes());
        body.extend_from_slice(&symbol.size.to_le_bytes());
        body.extend_from_slice(&(name.len() as u16).to_le_bytes());
        body.extend_from_slice(name.as_bytes());
    }
    body
}

/// The longest prefix of at most `max` bytes that does not split a character.
fn cut(text: &str, max: usize) -> &str {
    let end = (0..=max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// `None` if the encoder fails, which writing into memory cannot; then bytes go uncompressed.
fn deflate(bytes: &[u8]) -> Option<Vec<u8>> {
    let level = flate2::Compression::default();
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// Reads the section's payload. Entries of unknown kinds are passed over.
pub fn decode(section: &[u8]) -> Result<PerftabSection, SectionError> {
    let mut header = Bytes(section);
    if header.take(MAGIC.len()) != Some(&MAGIC) {
        return Err(SectionError::NotOurs);
    }
    let version = header.u32().ok_or(SectionError::Damaged)?;
    if version != VERSION {
        return Err(SectionError::Version(version));
    }
    let compression = header.u32().ok_or(SectionError::Damaged)?;
    let size = header.u64().ok_or(SectionError::Damaged)?;
    let inflated;
    let entries = match compression {
        COMPRESSION_NONE if header.0.len() as u64 != size => return Err(SectionError::Damaged),
        COMPRESSION_NONE => header.0,
        COMPRESSION_DEFLATE => {
            inflated = inflate(header.0, size)?;
            &inflated
        }
        other => return Err(SectionError::Compression(other)),
    };
    decode_entries(Bytes(entries)).ok_or(SectionError::Damaged)
}

/// Grows with what is really there: a false size costs nothing.
fn inflate(bytes: &[u8], size: u64) -> Result<Vec<u8>, SectionError> {
    if size > INFLATED_MAX {
        return Err(SectionError::Damaged);
    }
    let mut out = Vec::new();
    let read = flate2::read::DeflateDecoder::new(bytes).take(size + 1).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() as u64 == size => Ok(out),
        _ => Err(SectionError::Damaged),
    }
}

fn decode_entries(mut bytes: Bytes<'_>) -> Option<PerftabSection> {
    let mut section = PerftabSection::default();
    while !bytes.0.is_empty() {
        let kind = bytes.u32()?;
        let size = bytes.u32()?;
        let body = bytes.take(usize::try_from(size).ok()?)?;
        match kind {
            KIND_KERNEL_SYMBOLS => section.kernel.extend(decode_kernel_symbols(Bytes(body))?),
            KIND_OS_RELEASE => section.os_release = Some(OsRelease::decode(body)),
            KIND_MAPPED_FILES => {
                let files = body.chunks_exact(MAPPED_FILE_SIZE);
                section.files.extend(files.filter_map(|file| MappedFile::decode(Bytes(file))));
            }
            KIND_SIDEBAND => {
                let ids = body.chunks_exact(8).filter_map(|id| Bytes(id).u64());
                section.sideband.extend(ids);
            }
            KIND_PERF_MAP if section.perf_maps.len() < PERF_MAPS_MAX => {
                let mut map = Bytes(body);
                section.perf_maps.push(PerfMap { pid: map.u32()?, text: map.0.to_vec() });
            }
            KIND_FILE if section.embedded.len() < FILES_MAX => {
                section.embedded.push(EmbeddedFile::decode(Bytes(body))?);
            }
            KIND_AT_WORK => section.recorder = RecorderState::AtWork,
            _ => {}
        }
    }
    Some(section)
}

/// `Some(None)`: an image or identity of a kind that is not known here, or an id that is none.
fn decode_kernel_symbols(mut body: Bytes<'_>) -> Option<Option<KernelSymbols>> {
    let [image, identity, id_length, name_length] = body.array()?;
    let id = body.take(BuildId::MAX_LENGTH)?;
    let name = text(body.take(usize::from(name_length))?);
    let build_id = BuildId::new(id.get(..usize::from(id_length))?);
    let (image, build_id) = match (image, identity, build_id) {
        (1, IDENTITY_GNU, Some(id)) => (KernelImage::Kernel, id),
        (2, IDENTITY_GNU, Some(id)) => (KernelImage::Module, id),
        _ => return Some(None),
    };
    let count = body.u32()?;
    let mut symbols = Vec::new();
    for _ in 0..count {
        let address = body.u64()?;
        let size = body.u32()?;
        let name_length = body.u16()?;
        let name = text(body.take(usize::from(name_length))?);
        symbols.push(KernelSymbol { address, size, name });
    }
    Some(Some(KernelSymbols { image, build_id, name, symbols }))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checked reads from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cfg(test)]
mod tests;
