//! Symbols of a kernel as text: `/proc/kallsyms`, and copies of it.
//!
//! ```text
//! # perftab kallsyms build-id=4a5a9b0a… sha256=…        (only in copies that perftab writes)
//! ffffffff81000000 T _text
//! ffffffffc0201000 t ext4_read⇥[ext4]                    (a tab)
//! ```
//!
//! A line is an address, a type as `nm` has it, a name, and after a tab in brackets what it belongs
//! to if that is not the kernel itself (`scripts/kallsyms.c` and `kernel/kallsyms.c`, Linux 6.1).
//! There is no build-id in it. So it is known what it is
//!
//! - by the notes of the kernel that it was read from (`/sys/kernel/notes`), or
//! - by the stamp in its first line, which carries a hash of all that follows; perf passes over
//!   lines that do not begin with a number, so it reads such a copy too, or
//! - by the folder of perf's cache that it lies in. That is a claim and no more, so the addresses
//!   that were recorded must agree with it: see [`Kallsyms::agrees_with`].
//!
//! Only the kernel's own symbols are used. Those of modules are of whatever build of them was
//! loaded when the copy was made, and nothing in it says which.
//!
//! Sizes are not recorded: a symbol reaches to the next one, as perf has it
//! (`symbols__fixup_end` in `tools/perf/util/symbol.c`). Data ends a function, and names only addresses
//! of data.

use perftab_perfdata::sorting::sort_by_numbers;
use std::fmt;
use std::io::Write;

use object::elf::{self, SymbolBind, SymbolType};
use perftab_dsos::KernelPlace;
use perftab_perfdata::decode::{ByteSource, ReadError};
use perftab_perfdata::format::BuildId;
use sha2::{Digest, Sha256};

/// Larger files are not read: with every symbol of the largest configuration it is 20 MB.
const MAX_LENGTH: u64 = 256 << 20;
/// What the first line of a stamped copy begins with.
const STAMP: &[u8] = b"# perftab kallsyms ";
/// So much of a file tells whether it is one.
pub const KALLSYMS_START: u64 = 512;
/// The last symbol reaches to the end of its page, and one further.
const PAGE: u64 = 4096;

/// The kernel's own symbols, at the addresses that they had when the text was read.
pub struct Kallsyms {
    stamp: Option<BuildId>,
    landmarks: Landmarks,
    /// By address; those with one address in the order of the text.
    symbols: Vec<KallsymsSymbol>,
    /// Names, each ended by a zero.
    names: Vec<u8>,
}

/// A symbol at its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct KallsymsSymbol {
    pub start: u64,
    /// Where the next one begins; of data, and of all but the last at one address, where it begins itself.
    pub end: u64,
    /// Where its name begins in [`Kallsyms::names`].
    pub name: u32,
    /// `STT_FUNC`, or `STT_OBJECT` for what names no code.
    pub kind: SymbolType,
    pub bind: SymbolBind,
}

/// Addresses that recorders write down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Landmarks {
    text: Option<u64>,
    stext: Option<u64>,
    etext: Option<u64>,
    edata: Option<u64>,
    /// Where the lowest module begins: the page of its first symbol.
    modules: Option<u64>,
}

/// Why a text is of no use, although it looks like this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KallsymsFault {
    /// All addresses are zero: `kernel.kptr_restrict` hid them from who made the copy.
    AddressesHidden,
    /// It has neither `_text` nor `_stext`, so it cannot be told where its kernel was.
    NoReference,
    /// What follows the stamp is not what it was made for: changed, or cut off.
    StampBroken,
    /// It has more bytes than any kernel's.
    TooLarge {
        /// How many.
        bytes: u64,
    },
    /// Its bytes could not be had.
    Unreadable {
        /// What the host said.
        message: String,
    },
}

impl fmt::Display for KallsymsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressesHidden => f.write_str(
                "all its addresses are zero, hidden by kernel.kptr_restrict: read /proc/kallsyms \
                 as root",
            ),
            Self::NoReference => {
                f.write_str("it has neither _text nor _stext, so its addresses cannot be resolved")
            }
            Self::StampBroken => f.write_str(
                "its content does not match its first line: it was changed or cut off; copy it \
                 again",
            ),
            Self::TooLarge { bytes } => {
                write!(f, "{bytes} bytes are more than any kernel's symbols")
            }
            Self::Unreadable { message } => write!(f, "the file could not be read: {message}"),
        }
    }
}

impl From<ReadError> for KallsymsFault {
    fn from(error: ReadError) -> Self {
        Self::Unreadable { message: error.to_string() }
    }
}

/// What a text says, and what was recorded instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// Where the kernel began.
    Reference {
        /// The symbol.
        symbol: String,
        /// Its address in the text; `None` if it is not there.
        found: Option<u64>,
        /// Its address when recorded.
        recorded: u64,
    },
    /// Where the kernel ended.
    End {
        /// The end of the mapping when recorded.
        recorded: u64,
    },
    /// The recording does not say where the kernel was, so nothing can be compared.
    NotRecorded,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference { symbol, found: Some(found), recorded } => {
                write!(f, "{symbol} is at {found:x}, but was recorded at {recorded:x}")
            }
            Self::Reference { symbol, found: None, recorded } => {
                write!(f, "it has no {symbol}, which was recorded at {recorded:x}")
            }
            Self::End { recorded } => {
                write!(f, "the recorded kernel ended at {recorded:x}, this one does not")
            }
            Self::NotRecorded => {
                f.write_str("the recording does not say where its kernel began and ended")
            }
        }
    }
}

impl Kallsyms {
    /// True if a file that begins with these bytes ([`KALLSYMS_START`] are enough) is meant to be
    /// one. Addresses have all their digits, which those of a perf map have not.
    pub fn detect(start: &[u8]) -> bool {
        start.starts_with(STAMP)
            || Line::of(start.split(|&byte| byte == b'\n').next().unwrap_or_default()).is_some()
    }

    /// Reads all of it.
    pub fn read(source: &dyn ByteSource) -> Result<Self, KallsymsFault> {
        let bytes = source.len();
        if bytes > MAX_LENGTH {
            return Err(KallsymsFault::TooLarge { bytes });
        }
        Self::parse(&source.read_vec(0, bytes)?)
    }

    fn parse(text: &[u8]) -> Result<Self, KallsymsFault> {
        let (stamp, text) = split_stamp(text)?;
        let mut this = Self {
            stamp,
            landmarks: Landmarks::default(),
            symbols: Vec::new(),
            // Addresses, types and blanks make up half of it.
            names: Vec::with_capacity(text.len() / 2),
        };
        let mut is_hidden = true;
        for line in text.split(|&byte| byte == b'\n').filter_map(Line::of) {
            is_hidden &= line.address == 0;
            this.add(&line);
        }
        let reference = this.landmarks.text.or(this.landmarks.stext);
        match reference {
            _ if is_hidden && !this.symbols.is_empty() => {
                return Err(KallsymsFault::AddressesHidden);
            }
            None | Some(0) => return Err(KallsymsFault::NoReference),
            Some(_) => {}
        }
        this.set_ends();
        Ok(this)
    }

    fn add(&mut self, line: &Line<'_>) {
        let address = line.address;
        if line.owner.is_some() {
            let page = address & !(PAGE - 1);
            let lowest = self.landmarks.modules.get_or_insert(page);
            *lowest = page.min(*lowest);
            return;
        }
        match line.name {
            b"_text" => self.landmarks.text = Some(address),
            b"_stext" => self.landmarks.stext = Some(address),
            b"_etext" => self.landmarks.etext = Some(address),
            b"_edata" => self.landmarks.edata = Some(address),
            _ => {}
        }
        // These mark kinds of data and local labels, and name nothing.
        if line.name.starts_with(b"$") || line.name.starts_with(b".L") {
            return;
        }
        let is_end = matches!(line.name, b"_etext" | b"_einittext");
        let kind = match line.kind {
            b't' | b'T' | b'w' | b'W' if !is_end => elf::STT_FUNC,
            // Absolute values are no addresses.
            b'a' | b'A' | b'U' => return,
            _ => elf::STT_OBJECT,
        };
        let bind = match line.kind {
            b'W' => elf::STB_WEAK,
            kind if kind.is_ascii_uppercase() => elf::STB_GLOBAL,
            _ => elf::STB_LOCAL,
        };
        // The text has at most 256 MB.
        let name = self.names.len() as u32;
        self.names.extend_from_slice(line.name);
        self.names.push(0);
        self.symbols.push(KallsymsSymbol { start: address, end: address, name, kind, bind });
    }

    /// Of several functions at one address the last has it, as in perf, which ends each symbol at
    /// the next before it chooses between them. The others stay empty.
    fn set_ends(&mut self) {
        // Stable: of equals the order in the text decides.
        sort_by_numbers(&mut self.symbols, |symbol| (symbol.start, 0));
        let last = self.symbols.last().map_or(0, |symbol| symbol.start);
        let page_end = last.checked_next_multiple_of(PAGE).and_then(|end| end.checked_add(PAGE));
        let mut next = page_end.unwrap_or(u64::MAX);
        let (mut start, mut is_taken) = (last, false);
        for symbol in self.symbols.iter_mut().rev() {
            if symbol.start != start {
                (next, start, is_taken) = (start, symbol.start, false);
            }
            if symbol.kind == elf::STT_FUNC && !is_taken {
                symbol.end = next;
                is_taken = true;
            }
        }
    }

    /// The build-id that its first line vouches for.
    pub fn stamp(&self) -> Option<BuildId> {
        self.stamp
    }

    /// Whether the kernel that was recorded at `place` may be this one: its reference symbol was
    /// exactly there, and its mapping ended where one of this kernel would.
    ///
    /// This is for a text that only claims to be of the right build. Without KASLR every kernel
    /// begins at one address, so the end is needed too. perf writes `_etext`, since Linux 6.6
    /// `_edata` where that is listed (`machine__get_running_kernel_start` in
    /// tools/perf/util/machine.c); where neither is, the start of the first module. perftab writes
    /// `_etext`.
    pub fn agrees_with(&self, place: &KernelPlace) -> Result<(), Disagreement> {
        let Some(recorded) = place.reference.filter(|_| place.moved_to.is_empty()) else {
            return Err(Disagreement::NotRecorded);
        };
        let symbol = place.symbol.as_deref().unwrap_or("_text");
        let found = self.address_of(symbol);
        if found != Some(recorded) {
            return Err(Disagreement::Reference { symbol: symbol.to_owned(), found, recorded });
        }
        let Landmarks { etext, edata, modules, .. } = self.landmarks;
        match place.range.as_ref().map(|range| range.end) {
            None | Some(0 | u64::MAX) => Err(Disagreement::NotRecorded),
            end if end == etext || end == edata || end == modules => Ok(()),
            Some(recorded) => Err(Disagreement::End { recorded }),
        }
    }

    /// Where the symbol of this name begins.
    pub(super) fn address_of(&self, name: &str) -> Option<u64> {
        match name {
            "_text" => self.landmarks.text,
            "_stext" => self.landmarks.stext,
            "_etext" => self.landmarks.etext,
            _ => None,
        }
    }

    /// Its symbols in ascending order, and their names.
    pub(super) fn symbols(&self) -> (&[KallsymsSymbol], &[u8]) {
        (&self.symbols, &self.names)
    }
}

impl fmt::Debug for Kallsyms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kallsyms({} symbols, {:?})", self.symbols.len(), self.landmarks)
    }
}

/// `text` as a copy that says by itself what it is of.
pub fn stamped_kallsyms(build_id: BuildId, text: &[u8]) -> Vec<u8> {
    let mut copy = Vec::with_capacity(text.len() + 160);
    copy.extend_from_slice(STAMP);
    // Writing to memory does not fail.
    let _ = writeln!(copy, "build-id={build_id} sha256={}", hex(&Sha256::digest(text)));
    copy.extend_from_slice(text);
    copy
}

/// The build-id of a copy made by [`stamped_kallsyms`], if no byte of it has changed.
pub fn stamp_of_kallsyms(copy: &[u8]) -> Option<BuildId> {
    split_stamp(copy).ok()?.0
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The stamp of a text that has one, checked, and the text behind it.
fn split_stamp(text: &[u8]) -> Result<(Option<BuildId>, &[u8]), KallsymsFault> {
    let Some(stamped) = text.strip_prefix(STAMP) else { return Ok((None, text)) };
    let checked = || {
        let end = stamped.iter().position(|&byte| byte == b'\n')?;
        let (line, rest) = stamped.split_at(end);
        let text = &rest[1..];
        let (id, hash) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let id = BuildId::from_hex(id.strip_prefix("build-id=")?)?;
        let hash = hash.strip_prefix("sha256=")?;
        (hash == hex(&Sha256::digest(text))).then_some((Some(id), text))
    };
    checked().ok_or(KallsymsFault::StampBroken)
}

struct Line<'a> {
    address: u64,
    kind: u8,
    name: &'a [u8],
    /// What it belongs to, if not to the kernel.
    owner: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    /// `None` for anything else.
    fn of(line: &'a [u8]) -> Option<Self> {
        let digits = line.iter().position(|&byte| byte == b' ').filter(|n| matches!(n, 8 | 16))?;
        let &[b' ', kind, b' ', ref rest @ ..] = line.get(digits..)? else { return None };
        let mut address = 0;
        for &digit in line.get(..digits)? {
            address = address << 4 | u64::from((digit as char).to_digit(16)?);
        }
        let mut parts = rest.splitn(2, |&byte| byte == b'\t');
        let name = parts.next().filter(|name| !name.is_empty())?;
        // A zero would end the name where it is kept.
        let is_line = (kind.is_ascii_alphabetic() || kind == b'?') && !name.contains(&0);
        is_line.then(|| Self { address, kind, name, owner: parts.next() })
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::decode::SliceSource;

    use super::*;

    const TEXT: &str = "\
0000000000001000 A per_cpu_start
ffffffff81000000 T startup_64
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000100 t do_one
ffffffff81000180 W do_two
ffffffff81000180 t $x
ffffffff81000200 r table
ffffffff81000240 T do_three
ffffffff81001000 T _etext
ffffffff81003000 D _edata
ffffffffc0001040 t ext4_read\t[ext4]
ffffffffc0000800 t ext4_init\t[ext4]
";

    fn read(text: &[u8]) -> Result<Kallsyms, KallsymsFault> {
        Kallsyms::read(&SliceSource::new(text.to_vec()))
    }

    fn id() -> BuildId {
        BuildId::new(&[0xab; 20]).expect("not all zero")
    }

    #[test]
    fn symbols_of_the_kernel_reach_to_the_next() {
        let kallsyms = read(TEXT.as_bytes()).unwrap();
        let (symbols, names) = kallsyms.symbols();
        let function = |symbol: &&KallsymsSymbol| symbol.end > symbol.start;
        let row = |symbol: &KallsymsSymbol| {
            let name = super::super::elf::text_at(names, symbol.name as usize);
            (name.to_owned(), symbol.start & 0xffff, symbol.end & 0xffff)
        };
        let rows: Vec<_> = symbols.iter().filter(function).map(row).collect();
        let expected = [
            ("_text", 0, 0x100),
            ("do_one", 0x100, 0x180),
            ("do_two", 0x180, 0x200),
            ("do_three", 0x240, 0x1000),
        ];
        assert_eq!(rows, expected.map(|(name, start, end)| (name.to_owned(), start, end)));
    }

    #[test]
    fn a_stamp_holds_until_a_byte_changes() {
        let copy = stamped_kallsyms(id(), TEXT.as_bytes());
        assert!(Kallsyms::detect(&copy) && Kallsyms::detect(TEXT.as_bytes()));
        assert_eq!(read(&copy).unwrap().stamp(), Some(id()));
        assert_eq!(read(TEXT.as_bytes()).unwrap().stamp(), None);
        let hash_at = copy.windows(7).position(|at| at == b"sha256=").unwrap();
        for at in (hash_at..copy.len()).step_by(7) {
            let mut changed = copy.clone();
            changed[at] ^= 1;
            assert_eq!(read(&changed).unwrap_err(), KallsymsFault::StampBroken, "{at}");
        }
        assert_eq!(read(&copy[..copy.len() - 1]).unwrap_err(), KallsymsFault::StampBroken);
        assert_eq!(read(&copy[..40]).unwrap_err(), KallsymsFault::StampBroken);
    }

    #[test]
    fn other_texts_are_told_apart() {
        for text in ["", "\n", "7f12345 20 jitted\n", "7f1234567890 a jitted\n", "hello world\n"] {
            assert!(!Kallsyms::detect(text.as_bytes()), "{text}");
            assert_eq!(read(text.as_bytes()).unwrap_err(), KallsymsFault::NoReference, "{text}");
        }
        let zeros: String =
            TEXT.lines().map(|line| format!("0000000000000000{}\n", &line[16..])).collect();
        assert!(Kallsyms::detect(zeros.as_bytes()));
        assert_eq!(read(zeros.as_bytes()).unwrap_err(), KallsymsFault::AddressesHidden);
        let without = TEXT.replace("_text", "_other").replace("_stext", "_other");
        assert_eq!(read(without.as_bytes()).unwrap_err(), KallsymsFault::NoReference);
    }

    #[test]
    fn b32_a_claim_is_believed_only_where_both_ends_agree() {
        let kallsyms = read(TEXT.as_bytes()).unwrap();
        let start = 0xffff_ffff_8100_0000;
        let agrees = |symbol: Option<&str>, reference, end| {
            let mut place =
                KernelPlace { symbol: symbol.map(str::to_owned), ..KernelPlace::default() };
            place.add(reference, start..end);
            kallsyms.agrees_with(&place)
        };
        let (etext, edata, module) = (start + 0x1000, start + 0x3000, 0xffff_ffff_c000_0000);
        for symbol in [Some("_text"), Some("_stext"), None] {
            for end in [etext, edata, module] {
                assert_eq!(agrees(symbol, start, end), Ok(()));
            }
            for end in [etext + 1, etext - 0x1000, 0xffff_ffff_c000_1000] {
                assert_eq!(
                    agrees(symbol, start, end),
                    Err(Disagreement::End { recorded: end }),
                    "{end:x}"
                );
            }
            for (reference, end) in [(start, u64::MAX), (0, etext)] {
                assert_eq!(agrees(symbol, reference, end), Err(Disagreement::NotRecorded));
            }
        }
        let moved = Disagreement::Reference {
            symbol: "_text".to_owned(),
            found: Some(start),
            recorded: start + 0x20_0000,
        };
        assert_eq!(agrees(Some("_text"), start + 0x20_0000, etext), Err(moved));
        let unknown = agrees(Some("_start"), start, etext);
        assert!(matches!(unknown, Err(Disagreement::Reference { found: None, .. })));
    }

    #[test]
    fn no_cut_or_flipped_byte_panics() {
        for cut in 0..TEXT.len() {
            let _ = read(&TEXT.as_bytes()[..cut]);
        }
        for at in 0..TEXT.len() {
            let mut changed = TEXT.as_bytes().to_vec();
            changed[at] ^= 0x10;
            let _ = read(&changed);
            changed[at] = 0;
            let _ = read(&changed);
        }
    }
}
