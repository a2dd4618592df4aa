//! The body of a snapshot: one stream of bytes for each field, because like next to like is
//! guessed better than records of unlike things.
//!
//! Numbers are LEB128 varints; a text ends with a 0.

use super::encode::RedactedText;
use super::{MAX_TEXT, SnapshotError};

/// All texts of a snapshot together; front coding can make much of little.
const MAX_TEXTS: usize = 128 << 20;

macro_rules! fields {
    ($($field:ident $kind:ident,)*) => {
        /// The streams, in the order in which they stand in the body. New ones are appended:
        /// readers leave those that they do not know alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Field {
            $($field,)*
        }

        impl Field {
            pub const ALL: &[Self] = &[$(Self::$field,)*];
        }

        const KINDS: &[Kind] = &[$(Kind::$kind,)*];
    };
}

fields! {
    Facts Numbers,
    Host Texts,
    HostNumbers Numbers,
    Events Texts,
    EventNumbers Numbers,
    Warnings Texts,
    WarningNumbers Numbers,
    SharedOfPaths Shared,
    Paths Sorted,
    DsoKinds Numbers,
    DsoIdentityLengths Numbers,
    DsoIdentities Noise,
    DsoStatuses Numbers,
    DsoTexts Texts,
    DsoPlaces Numbers,
    DsoUses Numbers,
    DsoFunctions Numbers,
    SharedOfFiles Shared,
    Files Sorted,
    SharedOfNames Shared,
    Names Sorted,
    NameProvenances Numbers,
    NameFiles Numbers,
    Addresses Numbers,
    SharedOfGroups Shared,
    Groups Sorted,
    NodeChildren Tree,
    NodePairs InTree,
    NodeFunctions InTree,
    NodeLines Lines,
    NodeCounts Sums,
    NodeWeights Sums,
    EventOrigins Numbers,
    PartOf Numbers,
    View Texts,
    Times Numbers,
    Tasks Numbers,
    SharedOfThreads Shared,
    Threads Sorted,
    SampleKinds Numbers,
    SampleCpus Numbers,
    SampleThreads Numbers,
    SampleNodes Numbers,
    SampleNewNodes Numbers,
    SampleTimes Numbers,
    SampleTimeLows Noise,
    SampleWeights Numbers,
    Bins Numbers,
    Marks Numbers,
    HeatFunctions Numbers,
    HeatPlaces Numbers,
    HeatAddresses Numbers,
    HeatFiles Texts,
    HeatLines Numbers,
    HeatCounts Numbers,
    HeatWeights Numbers,
    HeatSource Texts,
    HeatAssembly Texts,
    DsoMappings Numbers,
    WarningSamples Numbers,
    About Texts,
    HeatChecks Numbers,
    HeatOrigins Numbers,
    HeatOriginFiles Numbers,
    HeatOriginLines Numbers,
    HeatOriginSource Texts,
}

/// What a stream consists of, and what its parts are guessed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers, from those before in the stream.
    Numbers,
    /// Texts, each from what stands before in it.
    Texts,
    /// Numbers: how many bytes each text of the next stream shares with the one before.
    Shared,
    /// The rest of each text.
    Sorted,
    /// Bytes that nothing tells of.
    Noise,
    /// Numbers of all call nodes in depth-first order, together with the next two streams.
    Tree,
    /// A stream of the tree.
    InTree,
    /// Numbers of all call nodes whose function has a file.
    Lines,
    /// Numbers of all call nodes, for one event after the other.
    Sums,
}

/// A table of sorted texts: the stream of kind [`Kind::Shared`], and the one that follows.
pub(super) type Table = [Field; 2];

impl Field {
    pub const COUNT: usize = Self::ALL.len();

    pub const PATHS: Table = [Self::SharedOfPaths, Self::Paths];
    pub const FILES: Table = [Self::SharedOfFiles, Self::Files];
    pub const NAMES: Table = [Self::SharedOfNames, Self::Names];
    pub const GROUPS: Table = [Self::SharedOfGroups, Self::Groups];
    pub const THREADS: Table = [Self::SharedOfThreads, Self::Threads];

    pub fn kind(self) -> Kind {
        KINDS[self as usize]
    }
}

/// The streams' bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Streams {
    fields: Vec<Vec<u8>>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { fields: vec![Vec::new(); Field::COUNT] }
    }
}

impl Streams {
    /// Bytes of all of them.
    pub fn len(&self) -> usize {
        self.fields.iter().map(Vec::len).sum()
    }

    pub fn get(&self, field: Field) -> &[u8] {
        &self.fields[field as usize]
    }

    pub fn get_mut(&mut self, field: Field) -> &mut Vec<u8> {
        &mut self.fields[field as usize]
    }

    pub fn push_number(&mut self, field: Field, number: u64) {
        put_varint(&mut self.fields[field as usize], number);
    }

    pub fn iter(&self) -> impl Iterator<Item = (Field, &[u8])> {
        Field::ALL.iter().map(|&field| (field, self.get(field)))
    }
}

/// Streams being written.
#[derive(Default)]
pub(super) struct Writer<'a> {
    streams: Streams,
    texts: Vec<RedactedText<'a>>,
}

impl<'a> Writer<'a> {
    pub fn bytes(&mut self, field: Field, bytes: &[u8]) {
        self.streams.get_mut(field).extend_from_slice(bytes);
    }

    pub fn number(&mut self, field: Field, number: u64) {
        self.streams.push_number(field, number);
    }

    /// A byte, or a number that is not larger than one.
    pub fn byte(&mut self, field: Field, byte: u8) {
        match field.kind() {
            Kind::Noise => self.bytes(field, &[byte]),
            _ => self.number(field, u64::from(byte)),
        }
    }

    pub fn text(&mut self, field: Field, text: RedactedText<'a>) {
        self.bytes(field, cut(text.text()).as_bytes());
        self.bytes(field, &[0]);
        self.texts.push(text);
    }

    /// No text and an empty one are the same.
    pub fn optional_text(&mut self, field: Field, text: Option<RedactedText<'a>>) {
        match text {
            None => self.bytes(field, &[0]),
            Some(text) => self.text(field, text),
        }
    }

    /// Texts as the length that each shares with the one before, and the rest.
    pub fn texts(&mut self, table: Table, texts: impl Iterator<Item = RedactedText<'a>>) {
        let mut before: &[u8] = &[];
        for redacted in texts {
            let text = cut(redacted.text()).as_bytes();
            let shared = before.iter().zip(text).take_while(|(a, b)| a == b).count();
            self.number(table[0], shared as u64);
            self.bytes(table[1], &text[shared..]);
            self.bytes(table[1], &[0]);
            self.texts.push(redacted);
            before = text;
        }
    }

    /// Adds another's streams to the end of these.
    pub fn append(&mut self, other: Self) {
        for (field, bytes) in self.streams.fields.iter_mut().zip(other.streams.fields) {
            field.extend(bytes);
        }
        self.texts.extend(other.texts);
    }

    /// About as many bytes as all of this is when it is packed, which costs more to find out: the
    /// entropy of the bytes of each stream.
    pub fn packed_about(&self) -> usize {
        let bits = |bytes: &Vec<u8>| {
            let mut counts = Counts::default();
            counts.add(bytes);
            counts.bits()
        };
        (self.streams.fields.iter().map(bits).sum::<f64>() / 8.0) as usize
    }

    /// What stands in a stream from a place on.
    pub fn since(&self, field: Field, place: usize) -> &[u8] {
        self.streams.get(field).get(place..).unwrap_or_default()
    }

    /// All texts written so far, in no order.
    pub fn take_texts(&mut self) -> Vec<RedactedText<'a>> {
        std::mem::take(&mut self.texts)
    }

    pub fn finish(self) -> Streams {
        self.streams
    }
}

/// How often each byte was met.
pub(super) struct Counts([usize; 256]);

impl Default for Counts {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl Counts {
    pub fn add(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0[usize::from(byte)] += 1);
    }

    /// Their entropy. It never gets less when more is added.
    pub fn bits(&self) -> f64 {
        let all = self.0.iter().sum::<usize>() as f64;
        let each = self.0.iter().filter(|&&count| count > 0).map(|&count| count as f64);
        each.map(|count| count * (all / count).log2()).sum()
    }
}

/// The longest start of `text` that is kept: up to a 0, which ends texts.
pub(super) fn cut(text: &str) -> &str {
    let text = text.split('\0').next().unwrap_or_default();
    let end = (0..=MAX_TEXT.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or_default()]
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Small for numbers near zero on both sides.
pub(super) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(super) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Streams being read. Reading beyond the end of one is an error.
pub(super) struct Reader<'a> {
    fields: Vec<&'a [u8]>,
    texts: usize,
}

const INVALID: SnapshotError = SnapshotError::Invalid { what: "a stream" };

impl<'a> Reader<'a> {
    pub fn new(streams: &'a Streams) -> Self {
        Self { fields: streams.iter().map(|(_, bytes)| bytes).collect(), texts: 0 }
    }

    /// Bytes left in a stream.
    pub fn left(&self, field: Field) -> usize {
        self.fields[field as usize].len()
    }

    /// Texts left in a table.
    pub fn texts_left(&self, table: Table) -> usize {
        self.fields[table[1] as usize].iter().filter(|&&byte| byte == 0).count()
    }

    pub fn bytes(&mut self, field: Field, length: usize) -> Result<&'a [u8], SnapshotError> {
        let (bytes, rest) = self.fields[field as usize].split_at_checked(length).ok_or(INVALID)?;
        self.fields[field as usize] = rest;
        Ok(bytes)
    }

    pub fn number(&mut self, field: Field) -> Result<u64, SnapshotError> {
        take_varint(&mut self.fields[field as usize])
    }

    /// A byte, or a number that is not larger than one.
    pub fn byte(&mut self, field: Field) -> Result<u8, SnapshotError> {
        if field.kind() == Kind::Noise {
            return Ok(self.bytes(field, 1)?[0]);
        }
        u8::try_from(self.number(field)?).map_err(|_| INVALID)
    }

    /// A number that counts things which are at least a byte each in `counted`.
    pub fn count(&mut self, field: Field, counted: Field) -> Result<usize, SnapshotError> {
        let count = self.number(field)?;
        if count > self.left(counted) as u64 {
            return Err(INVALID);
        }
        Ok(count as usize)
    }

    pub fn text(&mut self, field: Field) -> Result<String, SnapshotError> {
        let bytes = self.until_zero(field)?;
        self.keep_text(bytes)
    }

    pub fn optional_text(&mut self, field: Field) -> Result<Option<String>, SnapshotError> {
        Ok(Some(self.text(field)?).filter(|text| !text.is_empty()))
    }

    /// The next text of a table, given the one before.
    pub fn next_text(&mut self, table: Table, before: &str) -> Result<String, SnapshotError> {
        let shared = usize::try_from(self.number(table[0])?).map_err(|_| INVALID)?;
        let shared = before.as_bytes().get(..shared).ok_or(INVALID)?;
        let rest = self.until_zero(table[1])?;
        self.keep_text(&[shared, rest].concat())
    }

    fn until_zero(&mut self, field: Field) -> Result<&'a [u8], SnapshotError> {
        let left = self.fields[field as usize];
        let length = left.iter().take(MAX_TEXT + 1).position(|&byte| byte == 0).ok_or(INVALID)?;
        self.fields[field as usize] = &left[length + 1..];
        Ok(&left[..length])
    }

    fn keep_text(&mut self, bytes: &[u8]) -> Result<String, SnapshotError> {
        self.texts += bytes.len();
        match std::str::from_utf8(bytes) {
            Ok(text) if self.texts <= MAX_TEXTS && text.len() <= MAX_TEXT => Ok(text.to_owned()),
            _ => Err(SnapshotError::Invalid { what: "a text" }),
        }
    }
}

pub(super) fn take_varint(bytes: &mut &[u8]) -> Result<u64, SnapshotError> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(INVALID)?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(INVALID);
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(INVALID)
}
