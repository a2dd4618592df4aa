//! Where in a function its weight lies, as the page and commands ask for it.

use perftab_perfdata::map::Map;
use perftab_perfdata::sorting::{sort_by, sort_by_key};
use std::cmp::Reverse;
use std::num::NonZeroU32;

use perftab_perfdata::text::printable;
use perftab_profile::DsoId;
use perftab_views::column::{BigUint64Array, Float64Array};
use perftab_views::function_ref::{FunctionRef, HexAddress};
use perftab_views::hot_lines::{self, Heat, Instruction, SourceLine};
use perftab_views::place_texts::TextCheck;
use perftab_views::weights::Sum;
use perftab_views::{Direction, Inlines, Query, serialize_weight};
use serde::Serialize;

use crate::session::Session;

/// Rows of each kind that are told: the heaviest. A function has far fewer, unless a file was made
/// to have more.
const MOST_ROWS: usize = 1 << 16;

/// Where in a function's own code its samples ended. The lines and what they leave out add up to
/// all of it, and so do the instructions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct HotLines {
    /// What ended in the function or in what is inlined into it.
    #[serde(rename = "self")]
    pub own_code: Amount,
    /// By file and line; what has none comes last.
    pub lines: Vec<HotLine>,
    /// By address.
    pub instructions: Vec<HotInstruction>,
    /// What no line has, because a link does not hold it or because there are too many.
    pub left_out: Amount,
    /// The same of instructions.
    pub instructions_left_out: Amount,
}

/// Samples and what they weigh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// How many.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// In the event's unit.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct HotLine {
    /// Its file; null if that is not known.
    pub file: Option<String>,
    /// Counted from 1; null if it is not known.
    pub line: Option<u32>,
    /// Samples that ended there.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// What they weigh.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// The part of it that ended in what is inlined there.
    pub inlined: Amount,
    /// What stands there, if that is known.
    pub text: Option<String>,
    /// What speaks for that.
    pub check: TextCheck,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), tsify(missing_as_null))]
#[serde(rename_all = "camelCase")]
pub struct HotInstruction {
    /// Where it is: file offset of user code, address at run time of the kernel and of code without
    /// a file. A step may show calls here; theirs is one less than what they return to.
    pub address: HexAddress,
    /// The line of the function that it is of; where inlining is merged, the one that it was made of. Null if it is not known.
    pub line: Option<u32>,
    /// Its place among the lines; null if it is left out there.
    pub line_row: Option<u32>,
    /// What the function is called that is inlined there, where inlining is merged; null for none.
    pub inlined_function: Option<String>,
    /// Samples that ended there.
    #[serde(serialize_with = "serialize_weight")]
    pub samples: u64,
    /// What they weigh.
    #[serde(serialize_with = "serialize_weight")]
    pub weight: u64,
    /// The part of it that ended in what is inlined there.
    pub inlined: Amount,
    /// What stands there, if that is known.
    pub text: Option<String>,
}

/// Where in the code of a function samples ended, whatever of it is inlined.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeHeat {
    /// Whose code it is.
    pub dso: DsoId,
    /// By address, as frames have it, ascending.
    pub addresses: Vec<(u64, Amount)>,
}

/// The same in columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct CodeHeatRows {
    /// Number of the DSO.
    pub dso: u32,
    /// Ascending.
    pub addresses: BigUint64Array,
    /// Samples that ended there.
    pub samples: Float64Array,
    /// What they weigh.
    pub weights: Float64Array,
}

impl From<&CodeHeat> for CodeHeatRows {
    fn from(CodeHeat { dso, addresses }: &CodeHeat) -> Self {
        Self {
            dso: dso.0,
            addresses: addresses.iter().map(|(address, _)| *address).collect(),
            samples: addresses.iter().map(|(_, amount)| amount.samples as f64).collect(),
            weights: addresses.iter().map(|(_, amount)| amount.weight as f64).collect(),
        }
    }
}

impl Amount {
    fn of(sum: Sum) -> Self {
        Self { samples: sum.samples, weight: sum.weight }
    }

    /// Adds what is told of another place.
    pub fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.weight = self.weight.saturating_add(other.weight);
    }
}

impl Session {
    /// Where in a function the samples of a query ended; `None` if none of them has it. Inverting
    /// changes nothing here, nor does the tree around a function.
    pub fn hot_lines(&mut self, query: &Query, function: &FunctionRef) -> Option<HotLines> {
        let query = Query { direction: Direction::Callees, around: None, ..query.clone() };
        self.parts_and_ends(&query);
        let (tree, ends) = self.trees.with_ends(&query)?;
        let (profile, symbols, known) = (&self.profile, &self.symbols, &self.facts.heat);
        let found =
            hot_lines::hot_lines(profile, symbols, known, &query, (&tree, &ends), function)?;
        Some(self.told(found))
    }

    /// The line in which most of these samples ended, the first of equals; `None` where no line is known.
    pub fn hottest_line(&mut self, query: &Query, function: u32) -> Option<HotLine> {
        let function = self.function_ref(function)?;
        let HotLines { lines, .. } = self.hot_lines(query, &function)?;
        let known = lines.into_iter().filter(|row| row.file.is_some() && row.line.is_some());
        known.rev().max_by_key(|row| row.weight)
    }

    /// Where in the code of a function, as the linker knows it, the samples of a query ended, in each DSO that has it.
    pub fn code_heat(&mut self, query: &Query, function: &FunctionRef) -> Vec<CodeHeat> {
        let (direction, inlines) = (Direction::Callees, Inlines::Merged);
        let query = Query { direction, inlines, around: None, ..query.clone() };
        self.parts_and_ends(&query);
        let Some((tree, ends)) = self.trees.with_ends(&query) else { return Vec::new() };
        let (profile, symbols, known) = (&self.profile, &self.symbols, &self.facts.heat);
        let found = hot_lines::hot_lines(profile, symbols, known, &query, (&tree, &ends), function);
        let mut instructions = found.map_or_else(Vec::new, |found| found.instructions);
        sort_by_key(&mut instructions, |row| (row.dso, row.address));
        let mut heat: Vec<CodeHeat> = Vec::new();
        for Instruction { dso, address, heat: Heat { all, .. }, .. } in instructions {
            if heat.last().is_none_or(|last| last.dso != dso) {
                heat.push(CodeHeat { dso, addresses: Vec::new() });
            }
            let Some(CodeHeat { addresses, .. }) = heat.last_mut() else { continue };
            let mut sum = Amount::of(all);
            if let Some((_, before)) = addresses.pop_if(|(last, _)| *last == address) {
                sum.add(before);
            }
            addresses.push((address, sum));
        }
        heat
    }

    fn told(&self, found: hot_lines::HotLines) -> HotLines {
        let hot_lines::HotLines { own_code, mut lines, mut instructions, .. } = found;
        let (mut lines_left, mut instructions_left) = (found.left_out, found.instructions_left_out);
        let number = |line: Option<NonZeroU32>| u64::from(line.map_or(0, NonZeroU32::get));
        lines_left.add(cut(&mut lines, |(at, heat)| (*heat, number(at.line))));
        instructions_left.add(cut(&mut instructions, |row| (row.heat, row.address)));
        // Most lines of a function are of one file, so that paths are compared seldom.
        sort_by(&mut lines, |(a, _), (b, _)| self.key(*a).cmp(&self.key(*b)));
        sort_by_key(&mut instructions, |row| (row.address, row.line));
        let texts = &self.facts.texts;
        let row_of: Map<SourceLine, u32> =
            lines.iter().zip(0..).map(|(row, place)| (row.0, place)).collect();
        let instruction = |row: &Instruction| HotInstruction {
            address: HexAddress(row.address),
            line: row.line.line.map(NonZeroU32::get),
            line_row: row_of.get(&row.line).copied(),
            inlined_function: row.inlined.and_then(|id| self.symbols.function(id).name).map(shown),
            samples: row.heat.all.samples,
            weight: row.heat.all.weight,
            inlined: Amount::of(row.heat.inlined),
            text: texts.instruction(row.dso, row.address).map(shown),
        };
        HotLines {
            own_code: Amount::of(own_code),
            instructions: instructions.iter().map(instruction).collect(),
            lines: lines.into_iter().map(|(at, heat)| self.line(at, heat)).collect(),
            left_out: Amount::of(lines_left),
            instructions_left_out: Amount::of(instructions_left),
        }
    }

    /// By what lines stand in order: what is not known comes last.
    fn key(&self, at: SourceLine) -> (bool, Option<&str>, bool, Option<NonZeroU32>) {
        let file = at.file.map(|file| self.symbols.file(file));
        (file.is_none(), file, at.line.is_none(), at.line)
    }

    fn line(&self, at: SourceLine, heat: Heat) -> HotLine {
        HotLine {
            file: at.file.map(|file| printable(self.symbols.file(file)).into_owned()),
            line: at.line.map(NonZeroU32::get),
            samples: heat.all.samples,
            weight: heat.all.weight,
            inlined: Amount::of(heat.inlined),
            text: self.facts.texts.line(at).map(shown),
            check: at.file.map_or(TextCheck::Unknown, |file| self.facts.texts.check(file)),
        }
    }
}

fn shown(text: &str) -> String {
    printable(text).into_owned()
}

/// Takes away all rows but the heaviest and says what these had; `key` breaks ties.
fn cut<T>(rows: &mut Vec<T>, key: impl Fn(&T) -> (Heat, u64)) -> Sum {
    let mut left_out = Sum::default();
    if rows.len() > MOST_ROWS {
        sort_by_key(rows, |row| {
            let (heat, tie) = key(row);
            (Reverse((heat.all.weight, heat.all.samples)), tie)
        });
        rows.drain(MOST_ROWS..).for_each(|row| left_out.add(key(&row).0.all));
    }
    left_out
}
