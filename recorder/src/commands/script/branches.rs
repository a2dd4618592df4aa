//! The branches of a sample as `perf script -F brstack`, `brstacksym` and `brstackinsn` print them.
//!
//! ```text
//! brstack 0x401133/0x401106/M/-/-/1/COND …                       newest first
//! brstacksym walk+0x14/walk+0x5/M/-/-/1/COND …                   newest first
//! brstackinsn
//!         walk+5:
//!                   40110b dec ecx
//!                   40110d jne 0x40110b <walk+0x5>  # PRED 4 cycles [4] 0.50 IPC
//! ```
//!
//! Instructions are those of files with the recorded build-id, from the oldest branch on to the address of the
//! sample. They end where nothing tells what ran, and a line says why. perf prints bytes of instructions, and reads
//! whatever file has the recorded path.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;

use perftab_core::DsoId;
use perftab_core::session::{BranchPlaces, Session, WatchedSample};
use perftab_core::write_flags;
use perftab_perfdata::decode::sample_tail::{Branch, BranchFlags, BranchStack, BranchesAsked};
use perftab_perfdata::text::printable;

use crate::cli::BranchField;
use crate::output::counted;
use crate::place_texts::assembly::Instructions;

/// Instructions of what ran in a line that are printed.
const MOST_INSTRUCTIONS: usize = 1024;
/// Instructions of a sample that are printed.
const MOST_OF_SAMPLE: usize = 8192;
/// Names that are kept.
const KEPT_NAMES: usize = 1 << 16;
/// Bytes of functions that are kept.
const KEPT_CODE: usize = 64 << 20;
/// What has no name.
const UNKNOWN: &str = "[unknown]";

/// Where an address is.
type Place = (DsoId, u64);
/// A function, and how far behind its start something is.
type Symbol = (Rc<str>, u64);

/// Makes the lines.
pub struct BranchLines {
    fields: Vec<BranchField>,
    places: BranchPlaces,
    symbols: HashMap<Place, Option<Symbol>>,
    /// Functions that were met, by where they begin.
    functions: BTreeMap<Place, Rc<Instructions>>,
    /// Where there is no code.
    without_code: HashSet<Place>,
    kept_code: usize,
    text: String,
}

impl BranchLines {
    /// Of the samples of a recording.
    pub fn new(session: &Session, fields: Vec<BranchField>) -> Self {
        Self {
            fields,
            places: BranchPlaces::new(session),
            symbols: HashMap::new(),
            functions: BTreeMap::new(),
            without_code: HashSet::new(),
            kept_code: 0,
            text: String::new(),
        }
    }

    /// Those of a sample; empty if it has no branches.
    pub fn of(&mut self, session: &Session, sample: &WatchedSample<'_>) -> &str {
        self.text.clear();
        if let Some(branches) = sample.tail.branches.filter(|branches| !branches.is_empty()) {
            for field in self.fields.clone() {
                match field {
                    BranchField::Brstack => self.brstack(&branches),
                    BranchField::Brstacksym => self.brstacksym(session, sample, &branches),
                    BranchField::Brstackinsn => self.brstackinsn(session, sample, &branches),
                }
            }
        }
        &self.text
    }

    fn brstack(&mut self, branches: &BranchStack<'_>) {
        self.text.push_str("\tbrstack");
        for Branch { from, to, flags } in branches.iter() {
            // A String takes everything that is written.
            let _ = write!(self.text, " {from:#x}/{to:#x}/");
            self.push_flags(flags);
        }
        self.text.push('\n');
    }

    fn push_flags(&mut self, flags: BranchFlags) {
        write_flags(flags, &mut self.text);
        let _ = write!(self.text, "/{}", flags.branch_type_name());
    }

    fn brstacksym(
        &mut self,
        session: &Session,
        sample: &WatchedSample<'_>,
        branches: &BranchStack<'_>,
    ) {
        self.text.push_str("\tbrstacksym");
        for Branch { from, to, flags } in branches.iter() {
            self.text.push(' ');
            for address in [from, to] {
                let symbol = self.symbol(session, sample, address);
                let _ = match symbol {
                    Some((name, within)) => write!(self.text, "{name}+{within:#x}/"),
                    None => write!(self.text, "{UNKNOWN}/"),
                };
            }
            self.push_flags(flags);
        }
        self.text.push('\n');
    }

    /// What covers an address.
    fn symbol(
        &mut self,
        session: &Session,
        sample: &WatchedSample<'_>,
        address: u64,
    ) -> Option<Symbol> {
        let frame = self.places.frame(session, sample, address)?;
        if self.symbols.len() >= KEPT_NAMES {
            self.symbols.clear();
        }
        let find = || {
            let (name, within) = session.symbol_at(frame)?;
            Some((printable(&name).into(), within))
        };
        self.symbols.entry((frame.dso, frame.address)).or_insert_with(find).clone()
    }

    /// From the oldest branch to the address of the sample.
    fn brstackinsn(
        &mut self,
        session: &Session,
        sample: &WatchedSample<'_>,
        branches: &BranchStack<'_>,
    ) {
        self.text.push_str("\tbrstackinsn\n");
        if branches.asked == BranchesAsked::Some {
            self.text.push_str("\t\tnot all branches were recorded: what ran is not known\n");
            return;
        }
        let mut oldest_first: Vec<Branch> = branches.iter().collect();
        oldest_first.reverse();
        let mut listing = Listing { left: MOST_OF_SAMPLE, ..Listing::default() };
        let mut start = None;
        for branch in oldest_first {
            let first = start.replace(branch.to).unwrap_or(branch.from);
            self.run(session, sample, &mut listing, (first, branch.from), Some(branch.flags));
        }
        if let Some(start) = start {
            self.run(session, sample, &mut listing, (start, sample.ip), None);
        }
    }

    /// What ran in a line from an address to another one, which is a branch if there are flags.
    fn run(
        &mut self,
        session: &Session,
        sample: &WatchedSample<'_>,
        listing: &mut Listing,
        (first, last): (u64, u64),
        flags: Option<BranchFlags>,
    ) {
        let Some(distance) = last.checked_sub(first) else {
            return self
                .stop(first, "the next branch lies before this: something was not recorded");
        };
        let frame = self.places.frame(session, sample, first);
        let function = frame.and_then(|it| self.function(session, (it.dso, it.address)));
        let (Some(frame), Some(function)) = (frame, function) else {
            listing.function = None;
            return self.stop(first, "no code here: no file with the recorded build-id has it");
        };
        let (name, within) =
            self.symbol(session, sample, first).unwrap_or_else(|| (UNKNOWN.into(), 0));
        if listing.function.as_ref() != Some(&name) {
            let _ = match within {
                0 => writeln!(self.text, "\t\t{name}:"),
                _ => writeln!(self.text, "\t\t{name}+{within}:"),
            };
            listing.function = Some(name);
        }
        let end = frame.address.saturating_add(distance);
        let numbers = function.number(frame.address)..function.number(end.saturating_add(1));
        if !function.has(frame.dso, end) {
            return self
                .stop(first, "it leads on into another function: something was not recorded");
        }
        let shown = numbers.len().min(MOST_INSTRUCTIONS).min(listing.left);
        listing.left -= shown;
        let hidden = numbers.len() - shown;
        if hidden > 0 {
            let hidden = counted(hidden as u64, "instruction is", "instructions are");
            self.stop(first, &format!("{hidden} left out here"));
        }
        let count = numbers.len();
        for number in numbers.skip(hidden) {
            let at = function.address(number).unwrap_or(end);
            let address = first.wrapping_add(at.wrapping_sub(frame.address));
            let text = function.text(session, number).unwrap_or_else(|| "(bad)".to_owned());
            let _ = write!(self.text, "\t\t{address:16x} {}", printable(&text));
            if let Some(flags) = flags.filter(|_| at == end) {
                listing.mark(flags, count, &mut self.text);
            }
            self.text.push('\n');
        }
    }

    fn stop(&mut self, address: u64, why: &str) {
        let _ = writeln!(self.text, "\t\t{address:16x} … {why}");
    }

    /// The function at a place.
    fn function(&mut self, session: &Session, place: Place) -> Option<Rc<Instructions>> {
        let known = self.functions.range(..=place).next_back().map(|(_, known)| known);
        if let Some(known) = known.filter(|it| it.has(place.0, place.1)) {
            return Some(Rc::clone(known));
        }
        if self.without_code.contains(&place) {
            return None;
        }
        let Some(function) = Instructions::at(session, place.0, place.1) else {
            if self.without_code.len() >= KEPT_NAMES {
                self.without_code.clear();
            }
            self.without_code.insert(place);
            return None;
        };
        self.kept_code += function.size();
        if self.kept_code > KEPT_CODE {
            self.functions.clear();
            self.kept_code = function.size();
        }
        let function = Rc::new(function);
        let start = function.address(0).unwrap_or(place.1);
        self.functions.insert((place.0, start), Rc::clone(&function));
        Some(function)
    }
}

/// What has been listed of a sample.
#[derive(Default)]
struct Listing {
    /// The function that the last line is of.
    function: Option<Rc<str>>,
    cycles: u64,
    runs: usize,
    /// Instructions that may still be printed.
    left: usize,
}

impl Listing {
    /// What is known of a branch at the end of so many instructions, as perf prints it.
    fn mark(&mut self, flags: BranchFlags, instructions: usize, text: &mut String) {
        text.push_str("  #");
        let marks = [
            (flags.is_predicted(), " PRED"),
            (flags.is_mispredicted(), " MISPRED"),
            (flags.is_in_transaction(), " INTX"),
            (flags.is_abort(), " ABORT"),
        ];
        text.extend(marks.into_iter().filter(|(is, _)| *is).map(|(_, mark)| mark));
        let cycles = u64::from(flags.cycles());
        if cycles > 0 {
            self.cycles += cycles;
            let _ = write!(text, " {cycles} cycles [{}]", self.cycles);
            // Of the oldest branch it is not known what ran before it.
            if self.runs > 0 {
                let _ = write!(text, " {:.2} IPC", instructions as f64 / cycles as f64);
            }
        }
        self.runs += 1;
    }
}
