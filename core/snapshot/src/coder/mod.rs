//! Streams into as few bytes as a model of them allows, and back.
//!
//! What is written is what a reader could not have guessed: `mixer` guesses each bit from what
//! stood before it, `arithmetic` writes what remains. `symbols` makes bits of numbers and texts,
//! `calls` knows what call nodes tell of each other. The model begins with common names
//! (`words.txt`), because a short link has little to learn from.
//!
//! Both directions are one code: carrying streams over a [`Line`](arithmetic::Line) that sends
//! makes bytes, carrying nothing over one that receives makes the streams.

mod arithmetic;
mod calls;
mod mixer;
mod symbols;

use perftab_perfdata::map::Map;
use std::cell::RefCell;

use perftab_perfdata::slice::{Slice, at_once};

use self::arithmetic::{Line, Receiver, Sender};
use self::calls::Call;
use self::mixer::{Mixer, hash};
use self::symbols::{PrecedingText, Symbols};
use super::SnapshotError;
use super::fields::{Field, Kind, Streams, Table, put_varint, take_varint};

/// Bytes of all streams together, before: they take half a microsecond each, and several times that
/// in a browser.
pub(super) const MAX_SYMBOLS: usize = 16 << 20;
/// The same of what is modelled without being asked to be short.
pub(super) const FEW_SYMBOLS: usize = 512 << 10;
/// The same for each byte that they were encoded to, if they are more than [`FEW_SYMBOLS`]: a few
/// bytes that are made of many zeros are not worth the time. Of recordings it is 3 to 6.
const SYMBOLS_PER_BYTE: usize = 16;

/// Bytes of all streams that may have been encoded to so many.
pub(super) fn most_symbols(encoded: usize) -> usize {
    encoded.saturating_mul(SYMBOLS_PER_BYTE).clamp(FEW_SYMBOLS, MAX_SYMBOLS)
}

/// Groups of counters for each symbol, as a power of two.
const GROUPS_PER_SYMBOL: u32 = 5;

/// In place of a stream: how many numbers or texts one has. It is no stream's number, and stays
/// so when there are more.
const OF_COUNTS: u32 = 63;

/// Common names, one a line.
const WORDS: &str = include_str!("words.txt");

/// A model that has read the common names.
#[derive(Clone)]
struct PrimedModel {
    mixer: Mixer,
    size: u32,
}

impl PrimedModel {
    fn new(size: u32) -> Self {
        let mut symbols = Symbols::new(Sender::new(), Mixer::new(size), usize::MAX);
        let none = PrecedingText { text: b"", shared: 0 };
        for word in WORDS.lines() {
            // A sender has no errors.
            let _ = symbols.text(Field::Names as u32, word.as_bytes(), none);
        }
        Self { mixer: symbols.into_parts().1, size }
    }
}

/// Binary logarithm of the groups of counters for streams of so many numbers and bytes.
fn size_of(symbols: usize) -> u32 {
    (symbols.max(1).ilog2() + GROUPS_PER_SYMBOL).clamp(14, 19)
}

/// Encodes one after the other.
#[derive(Default)]
pub(super) struct Encoder {
    /// For streams as large as those before; the one that was used last comes last.
    primed: Vec<PrimedModel>,
    /// One that has served, whose memory serves the next.
    spare: Option<Mixer>,
}

impl Encoder {
    /// A model for so many symbols.
    fn begin(&mut self, symbols: usize) -> Mixer {
        let size = size_of(symbols);
        let known = self.primed.iter().position(|primed| primed.size == size);
        let primed = match known {
            Some(known) => self.primed.remove(known),
            None => {
                // A link's attempts are of two sizes mostly: nothing but the root, and what fits.
                self.primed.drain(..self.primed.len().saturating_sub(1));
                PrimedModel::new(size)
            }
        };
        let mixer = match self.spare.take() {
            Some(mut spare) => {
                spare.clone_from(&primed.mixer);
                spare
            }
            None => primed.mixer.clone(),
        };
        self.primed.push(primed);
        mixer
    }
}

/// The bytes of streams. In slices of symbols.
pub(super) async fn encode(streams: &Streams, encoder: &RefCell<Encoder>, slice: Slice) -> Vec<u8> {
    slice.expect(streams.len());
    let mut bytes = Vec::new();
    put_varint(&mut bytes, streams.len() as u64);
    let mixer = encoder.borrow_mut().begin(streams.len());
    let mut carrier = Symbols::new(Sender::new(), mixer, usize::MAX).in_slices(slice);
    // A sender has no errors but those of streams that are none.
    let _ = carry(&mut carrier, streams).await;
    let (line, mixer) = carrier.into_parts();
    bytes.extend(line.finish());
    encoder.borrow_mut().spare = Some(mixer);
    bytes
}

/// The streams that were encoded.
pub(super) fn decode(mut bytes: &[u8]) -> Result<Streams, SnapshotError> {
    let most = most_symbols(bytes.len());
    let symbols = usize::try_from(take_varint(&mut bytes)?).unwrap_or(usize::MAX);
    if symbols > most {
        return Err(SnapshotError::Invalid { what: "compressed data" });
    }
    let mixer = PrimedModel::new(size_of(symbols)).mixer;
    let most = symbols + 2 * Field::COUNT;
    let mut carrier = Symbols::new(Receiver::new(bytes), mixer, most);
    at_once(async |_| carry(&mut carrier, &Streams::default()).await)
}

/// Carries all streams; returns them.
async fn carry<L: Line>(
    symbols: &mut Symbols<L>,
    given: &Streams,
) -> Result<Streams, SnapshotError> {
    let mut carried = Streams::default();
    let mut nodes: Vec<Call> = Vec::new();
    let streams = symbols.number(OF_COUNTS, Field::COUNT as u64, &[0])?;
    let streams = usize::try_from(streams).unwrap_or(usize::MAX);
    for &field in Field::ALL.iter().take(streams) {
        let bytes = given.get(field);
        match field.kind() {
            Kind::Numbers => {
                let numbers = numbers(symbols, field, &varints(bytes)).await?;
                set_numbers(&mut carried, field, &numbers);
            }
            Kind::Texts => *carried.get_mut(field) = texts(symbols, field, bytes).await?,
            Kind::Noise => *carried.get_mut(field) = noise(symbols, field, bytes).await?,
            Kind::Shared => {
                let Some(&of) = Field::ALL.get(field as usize + 1) else { continue };
                let shared = varints(bytes);
                let (shared, texts) = table(symbols, [field, of], &shared, given.get(of)).await?;
                set_numbers(&mut carried, field, &shared);
                *carried.get_mut(of) = texts;
            }
            Kind::Tree => {
                let tree = [Field::NodeChildren, Field::NodePairs, Field::NodeFunctions];
                let numbers = tree.map(|field| varints(given.get(field)));
                let dsos = dsos_of_codes(&carried);
                let calls =
                    calls::carry(symbols, [&numbers[0], &numbers[1], &numbers[2]], &dsos).await?;
                set_numbers(&mut carried, Field::NodeChildren, &calls.children);
                set_numbers(&mut carried, Field::NodePairs, &calls.pairs);
                set_numbers(&mut carried, Field::NodeFunctions, &calls.functions);
                nodes = calls.nodes;
            }
            Kind::Lines => {
                let lines = lines(symbols, field, &varints(bytes), &nodes, &carried).await?;
                set_numbers(&mut carried, field, &lines);
            }
            Kind::Sums => {
                let sums = sums(symbols, field, &varints(bytes), &nodes).await?;
                set_numbers(&mut carried, field, &sums);
            }
            // With the stream before.
            Kind::Sorted | Kind::InTree => {}
        }
    }
    Ok(carried)
}

/// How many numbers or texts a stream has.
fn count<L: Line>(
    symbols: &mut Symbols<L>,
    field: Field,
    count: usize,
) -> Result<usize, SnapshotError> {
    let count = symbols.number(OF_COUNTS, count as u64, &[0, field as u32 + 1])?;
    usize::try_from(count).map_err(|_| SnapshotError::Invalid { what: "a stream" })
}

async fn numbers<L: Line>(
    symbols: &mut Symbols<L>,
    field: Field,
    given: &[u64],
) -> Result<Vec<u64>, SnapshotError> {
    let count = count(symbols, field, given.len())?;
    let mut carried = Vec::new();
    let mut before = [0u64; 3];
    for index in 0..count {
        let [last, second, third] = before.map(|number| number as u32);
        let length = |number: u64| 64 - number.leading_zeros();
        let contexts = [
            0,
            last,
            hash(last, second),
            hash(hash(last, second), third),
            second,
            hash(length(before[0]), length(before[1])),
            index.min(64) as u32,
        ];
        let number = given.get(index).copied().unwrap_or(0);
        let number = symbols.number(field as u32, number, &contexts)?;
        symbols.rest().await;
        carried.push(number);
        before = [number, before[0], before[1]];
    }
    Ok(carried)
}

async fn texts<L: Line>(
    symbols: &mut Symbols<L>,
    field: Field,
    given: &[u8],
) -> Result<Vec<u8>, SnapshotError> {
    let mut given = texts_of(given);
    let count = count(symbols, field, given.clone().count())?;
    let mut carried = Vec::new();
    let none = PrecedingText { text: b"", shared: 0 };
    for _ in 0..count {
        carried.extend(symbols.text(field as u32, given.next().unwrap_or(b""), none)?);
        carried.push(0);
        symbols.rest().await;
    }
    Ok(carried)
}

async fn noise<L: Line>(
    symbols: &mut Symbols<L>,
    field: Field,
    given: &[u8],
) -> Result<Vec<u8>, SnapshotError> {
    let count = count(symbols, field, given.len())?;
    let mut carried = Vec::new();
    for index in 0..count {
        carried.push(symbols.noise(given.get(index).copied().unwrap_or(0))?);
        symbols.rest().await;
    }
    Ok(carried)
}

/// A table of sorted texts: what each shares with the one before, and the rest of it.
async fn table<L: Line>(
    symbols: &mut Symbols<L>,
    fields: Table,
    shared: &[u64],
    texts: &[u8],
) -> Result<(Vec<u64>, Vec<u8>), SnapshotError> {
    let count = count(symbols, fields[0], shared.len())?;
    let mut given = shared.iter().copied().zip(texts_of(texts));
    let (mut all_shared, mut all_texts) = (Vec::new(), Vec::new());
    let mut before: Vec<u8> = Vec::new();
    let mut shared_before = 0;
    for _ in 0..count {
        let (shared, rest) = given.next().unwrap_or((0, b""));
        let first = before.first().copied().map_or(0, u32::from);
        let contexts = [
            0,
            (shared_before as u32).min(40),
            hash(before.len() as u32, 1),
            hash(shared_before as u32, first),
        ];
        let shared = symbols.number(fields[0] as u32, shared, &contexts)?;
        let known = usize::try_from(shared).unwrap_or(usize::MAX).min(before.len());
        let text = [&before[..known], rest].concat();
        let after = PrecedingText { text: &before, shared: known };
        let text = symbols.text(fields[1] as u32, &text, after)?;
        all_shared.push(shared);
        all_texts.extend(&text[known..]);
        all_texts.push(0);
        (before, shared_before) = (text, shared);
        symbols.rest().await;
    }
    Ok((all_shared, all_texts))
}

async fn lines<L: Line>(
    symbols: &mut Symbols<L>,
    field: Field,
    given: &[u64],
    nodes: &[Call],
    carried: &Streams,
) -> Result<Vec<u64>, SnapshotError> {
    let files = files_of_codes(carried);
    let has_file = |code: u64| usize::try_from(code).ok().and_then(|code| files.get(code).copied());
    let mut given = given.iter().copied();
    let mut before: Map<u64, u64> = Map::new();
    let mut lines = Vec::new();
    for node in nodes.iter().filter(|node| has_file(node.code).unwrap_or(false)) {
        let last = before.get(&node.code).copied().unwrap_or(0);
        let line = given.next().unwrap_or(0);
        let line = symbols.number(field as u32, line, &node.of_line(last))?;
        before.insert(node.code, line);
        lines.push(line);
        symbols.rest().await;
    }
    Ok(lines)
}

/// Numbers that all call nodes have, for one event after the other.
async fn sums<L: Line>(
    symbols: &mut Symbols<L>,
    field: Field,
    given: &[u64],
    nodes: &[Call],
) -> Result<Vec<u64>, SnapshotError> {
    let count = count(symbols, field, given.len())?;
    let mut carried = Vec::new();
    let mut before = 0;
    for (index, node) in (0..count).zip(nodes.iter().cycle()) {
        let number = given.get(index).copied().unwrap_or(0);
        before = symbols.number(field as u32, number, &node.of_sum(before))?;
        carried.push(before);
        symbols.rest().await;
    }
    Ok(carried)
}

/// For each code of a function, the DSO and whether it has a name.
fn dsos_of_codes(carried: &Streams) -> Vec<u32> {
    let functions = varints(carried.get(Field::DsoFunctions));
    let mut left = [Field::NameFiles, Field::Addresses].map(|of| varints(carried.get(of)).len());
    let mut dsos = vec![0; super::codes::CODE_FUNCTIONS as usize];
    for (index, &count) in functions.iter().enumerate() {
        let left = &mut left[index % 2];
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(*left);
        *left -= count;
        dsos.extend(std::iter::repeat_n(index as u32, count));
    }
    dsos
}

/// For each code of a function, whether its source file is known.
fn files_of_codes(carried: &Streams) -> Vec<bool> {
    let files = varints(carried.get(Field::NameFiles));
    let mut files = files.iter().map(|&file| file != 0);
    let dsos = dsos_of_codes(carried);
    let functions = super::codes::CODE_FUNCTIONS as usize;
    let is_named = |(code, dso): (usize, &u32)| code >= functions && dso % 2 == 0;
    dsos.iter().enumerate().map(|at| is_named(at) && files.next().unwrap_or(false)).collect()
}

/// The numbers of a stream. Our own streams hold nothing else.
fn varints(mut bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Ok(number) = take_varint(&mut bytes) {
        numbers.push(number);
    }
    numbers
}

fn set_numbers(streams: &mut Streams, field: Field, numbers: &[u64]) {
    numbers.iter().for_each(|&number| streams.push_number(field, number));
}

/// The texts of a stream, each of which a 0 ends.
fn texts_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    bytes.split_inclusive(|&byte| byte == 0).map(|text| text.strip_suffix(&[0]).unwrap_or(text))
}
