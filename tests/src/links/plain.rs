//! What a link holds, written as anybody would at first: varints, call nodes in depth-first order,
//! texts one a line, build-ids as bytes, all of it in one stream that is deflated at level 9, in
//! base64url. Links are measured against it.
//!
//! What helps this encoding and needs no thought is in it: tables are sorted, weights that follow
//! from counts are left out, and of two orders of the numbers, call node after call node or kind
//! after kind, the one that becomes shorter is taken.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use perftab_names::{FileId, FunctionId};
use perftab_profile::{DsoKind, Identity};
use perftab_snapshot::Snapshot;
use perftab_views::call_tree::Label;
use perftab_views::hot_lines::{Origin, SourceLine};

use super::Calls;

const BASE64URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The encoding of what a link holds; times are left out.
pub fn encode(opened: &Snapshot) -> String {
    let plain = Plain::new(opened);
    let [rows, columns] = [Order::Rows, Order::Columns].map(|order| plain.deflated(order));
    base64url(if rows.len() < columns.len() { &rows } else { &columns })
}

/// In which order the numbers of call nodes stand.
#[derive(Clone, Copy)]
enum Order {
    Rows,
    Columns,
}

/// The content, not packed yet.
#[derive(Default)]
struct Plain {
    numbers: Vec<u8>,
    /// Of each call node, in depth-first order: its numbers. All of a kind stand at one position.
    nodes: Vec<Vec<Option<u64>>>,
    texts: Vec<String>,
    ids: Vec<u8>,
}

impl Plain {
    fn new(opened: &Snapshot) -> Self {
        let mut plain = Self::default();
        plain.add_facts(opened);
        let calls = Calls::new(&opened.profile, &opened.symbols);
        let numbers = plain.add_tables(opened, &calls);
        plain.add_nodes(opened, &calls, &numbers);
        plain.add_places(opened, &numbers);
        plain
    }

    /// Where in functions samples ended, in the order of functions.
    fn add_places(&mut self, opened: &Snapshot, numbers: &HashMap<FunctionId, u64>) {
        let heat = &opened.facts.heat;
        let known: BTreeMap<u64, FunctionId> =
            heat.functions().filter_map(|id| Some((*numbers.get(&id)?, id))).collect();
        for (number, id) in known {
            let places = heat.get(id).map_or(&[][..], |known| &known.places);
            self.number(number);
            self.number(places.len() as u64);
            let mut before = 0u64;
            for place in places {
                let address = place.address.unwrap_or_default();
                self.number(address.wrapping_sub(before));
                before = address;
                let number = |line: SourceLine| line.line.map_or(0, |line| line.get().into());
                self.number(place.line.map_or(0, number));
                match place.origin {
                    Some(Origin { inlined: Some(function), line }) => {
                        self.number(numbers.get(&function).map_or(0, |number| number + 1));
                        self.number(number(line));
                    }
                    Some(_) | None => self.number(0),
                }
                place.sums.iter().for_each(|sum| self.number(sum.samples));
            }
        }
    }

    fn number(&mut self, number: u64) {
        put_varint(&mut self.numbers, number);
    }

    fn text(&mut self, text: &str) {
        self.texts.push(text.to_owned());
    }

    fn add_facts(&mut self, opened: &Snapshot) {
        let Snapshot { profile, facts, fidelity, warnings, .. } = opened;
        let (first, last) = facts.time.unwrap_or_default();
        for number in [
            first,
            last - first,
            facts.processes,
            facts.threads,
            profile.lost.events,
            profile.lost.samples,
            fidelity.kept_nodes,
            fidelity.total_nodes,
            (fidelity.kept_weight_share * 1e9) as u64,
            (fidelity.threshold_share * 1e9) as u64,
            fidelity.folded_weight,
            facts.folded.frames,
            facts.folded.named,
            facts.folded.named_leaves,
            facts.left_out.dsos,
        ] {
            self.number(number);
        }
        facts.left_out.leaf_samples().for_each(|(_, samples)| self.number(samples));
        for event in &profile.events {
            self.text(&event.name);
            self.number(event.samples);
            self.number(event.weight);
        }
        for warning in warnings {
            self.number(warning.kind as u64);
            self.number(warning.offset.unwrap_or_default());
            self.number(warning.count);
            self.text(&warning.message);
        }
    }

    /// DSOs, source files and functions; returns the number of each function.
    fn add_tables(&mut self, opened: &Snapshot, calls: &Calls<'_>) -> HashMap<FunctionId, u64> {
        let Snapshot { profile, symbols, ledger, facts, .. } = opened;
        let mut files: HashMap<FunctionId, FileId> = HashMap::new();
        let mut functions: BTreeMap<(u32, bool, &str, u64), FunctionId> = BTreeMap::new();
        for (index, node) in calls.nodes.iter().enumerate() {
            let Some(id) = node.label.function().filter(|_| !calls.is_folded(index)) else {
                continue;
            };
            let known = symbols.function(id);
            let name = known.name.unwrap_or_default();
            functions.insert((known.dso.0, known.name.is_none(), name, known.address), id);
            if let (Some(file), _) = calls.place(index) {
                files.insert(id, file);
            }
        }
        let paths: BTreeSet<&str> = files.values().map(|&file| symbols.file(file)).collect();
        let file_number = |id: &FunctionId| {
            let path = files.get(id).map(|&file| symbols.file(file));
            path.and_then(|path| paths.iter().position(|&known| known == path)).map(|at| at + 1)
        };
        for (id, dso) in profile.dsos.iter() {
            if matches!(dso.kind, DsoKind::Folded | DsoKind::Unmapped) {
                continue;
            }
            let (row, used) = (ledger.row(id), facts.uses[id.index()]);
            let gives = row.holds();
            let bits = [gives.functions, gives.inlines, gives.unwinding];
            let of_dso = functions.range((id.0, false, "", 0)..(id.0 + 1, false, "", 0));
            let unnamed = of_dso.clone().filter(|((_, unnamed, ..), _)| *unnamed).count();
            for number in [
                dso.kind as u64,
                dso.recorded_by.map_or(0, |by| by as u64 + 1),
                row.status as u64,
                bits.iter().fold(0, |bits, &bit| bits << 1 | u64::from(bit)),
                dso.executable_offset().map_or(0, |at| at + 1),
                dso.kernel_place.reference.map_or(0, |at| at.wrapping_add(1)),
                used.leaf_samples,
                used.samples,
                (of_dso.count() - unnamed) as u64,
                unnamed as u64,
            ] {
                self.number(number);
            }
            self.text(&dso.path);
            for text in [&row.reason, &row.image, &row.found] {
                self.text(text.as_deref().unwrap_or_default());
            }
            match dso.identity {
                None => self.ids.push(0),
                Some(Identity::Gnu(id)) => {
                    self.ids.push(id.as_bytes().len() as u8);
                    self.ids.extend(id.as_bytes());
                }
                Some(Identity::Content(hash)) => {
                    self.ids.push(32);
                    self.ids.extend(hash.0);
                }
            }
        }
        paths.iter().for_each(|path| self.text(path));
        let mut numbers = HashMap::new();
        for (number, (&(_, unnamed, name, address), id)) in (2..).zip(&functions) {
            numbers.insert(*id, number);
            if unnamed {
                self.number(address);
            } else {
                self.text(name);
                self.number(symbols.function(*id).provenance as u64);
                self.number(file_number(id).unwrap_or_default() as u64);
            }
        }
        numbers
    }

    fn add_nodes(
        &mut self,
        opened: &Snapshot,
        calls: &Calls<'_>,
        numbers: &HashMap<FunctionId, u64>,
    ) {
        let mut called: Vec<Vec<usize>> = vec![Vec::new(); calls.nodes.len()];
        for (index, node) in calls.nodes.iter().enumerate().skip(1) {
            called[node.caller].push(index);
        }
        let units = units(calls);
        let mut open = vec![0];
        while let Some(index) = open.pop() {
            let node = &calls.nodes[index];
            let what = match node.label {
                Label::All => None,
                Label::Group(name) | Label::Family(name) => {
                    self.text(opened.profile.strings.get(name));
                    None
                }
                _ if calls.is_folded(index) => Some(0),
                Label::NoMapping => Some(1 << 1),
                Label::Function(id) => Some(numbers[&id] << 1),
                Label::Inlined(id) => Some(numbers[&id] << 1 | 1),
                Label::Dso(dso) => Some((2 + numbers.len() as u64 + u64::from(dso.0)) << 1),
            };
            let (file, line) = calls.place(index);
            let line = file.map(|_| line.map_or(0, |line| u64::from(line.get())));
            let mut row = vec![Some(called[index].len() as u64), what, line];
            for (sum, &(unit, is_regular)) in node.own.iter().zip(&units) {
                row.push(Some(sum.samples));
                row.push(Some(sum.weight / unit).filter(|_| !is_regular));
            }
            self.nodes.push(row);
            open.extend(called[index].iter().rev());
        }
        units.iter().for_each(|&(unit, _)| self.number(unit));
    }

    /// All of it in one stream.
    fn deflated(&self, order: Order) -> Vec<u8> {
        let mut bytes = self.numbers.clone();
        match order {
            Order::Rows => {
                let numbers = self.nodes.iter().flatten().flatten();
                numbers.for_each(|&number| put_varint(&mut bytes, number));
            }
            Order::Columns => {
                for column in 0..self.nodes.first().map_or(0, Vec::len) {
                    let numbers = self.nodes.iter().filter_map(|row| row[column]);
                    numbers.for_each(|number| put_varint(&mut bytes, number));
                }
            }
        }
        for text in &self.texts {
            bytes.extend(text.bytes());
            bytes.push(b'\n');
        }
        bytes.extend(&self.ids);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(9));
        encoder.write_all(&bytes).expect("memory takes any bytes");
        encoder.finish().expect("memory takes any bytes")
    }
}

/// By event: what all weights are multiples of, and whether each sample weighs just that.
fn units(calls: &Calls<'_>) -> Vec<(u64, bool)> {
    let events = calls.nodes[0].own.len();
    (0..events)
        .map(|event| {
            let own = || calls.nodes.iter().map(|node| node.own[event]);
            let unit = own().fold(0, |unit, own| divisor(unit, own.weight)).max(1);
            (unit, own().all(|own| own.samples.checked_mul(unit) == Some(own.weight)))
        })
        .collect()
}

fn divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn base64url(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte));
        let word = word << (8 * (3 - three.len()));
        for place in 0..=three.len() {
            text.push(char::from(BASE64URL[(word >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}
