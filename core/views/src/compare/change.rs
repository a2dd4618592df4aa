//! How weights of two sides are held beside each other.

use serde::{Deserialize, Serialize};

use super::Sums;
use crate::weights::Sum;

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum ComparedSide {
    /// The one that counts as earlier.
    Before,
    /// The other.
    After,
}

impl ComparedSide {
    /// Both, in the order in which they are shown.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// The one that it is not.
    pub fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}

/// What makes weights of sides of different length comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Percent of all that its side shows.
    #[default]
    Share,
    /// Weight in a second of its side's time.
    PerSecond,
    /// Weights as they are.
    Raw,
}

/// Which side's weights are the widths of a flame graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// Those before; what is only after has none.
    Before,
    /// Those after; what is only before has none.
    #[default]
    After,
    /// The mean of both.
    Both,
}

/// What each side has in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All that is shown.
    pub sums: Sums,
    /// How long that took, before and after; 0 where it was not recorded.
    pub nanoseconds: [u64; 2],
}

/// A weight of both sides on one basis, and how they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// Before: percent, weight in a second, or weight.
    pub before: f64,
    /// After, in the same unit.
    pub after: f64,
    /// How much more it is after, in the same unit: for shares, points.
    pub change: f64,
    /// −3 to 3: how strongly a screen shows it.
    pub step: i8,
    /// True if the difference exceeds what sampling twice makes of equal sides: twice the standard
    /// deviation.
    pub is_certain: bool,
    /// The side that has no names for it where the other has: no change is known, and the above say none.
    pub without_names: Option<ComparedSide>,
}

/// Where the steps of a change in points begin.
const POINTS: [f64; 3] = [0.25, 0.8, 2.0];
/// Where the steps of a change that is no share begin: so many times as much.
const FACTORS: [f64; 3] = [1.1, 1.3, 2.0];
/// Standard deviations that a change exceeds if it is certain.
const DEVIATIONS: f64 = 2.0;
const NANOS: f64 = 1e9;

/// Turns sums into changes on one basis.
#[derive(Clone, Copy, Debug)]
pub struct Measures {
    basis: Basis,
    /// What a weight of 1 is on the basis, before and after.
    of_weight: [f64; 2],
    /// What a sample is on the basis, in any unit that is the same for both sides.
    of_sample: [f64; 2],
}

impl Measures {
    /// For sides that have so much in all.
    pub fn new(basis: Basis, totals: &Totals) -> Self {
        let inverse = |number: f64| if number > 0.0 { 1.0 / number } else { 0.0 };
        let sums = ComparedSide::BOTH.map(|side| totals.sums.of(side));
        let seconds = totals.nanoseconds.map(|nanos| nanos as f64 / NANOS);
        let (of_weight, of_sample) = match basis {
            Basis::Share => (
                sums.map(|sum| 100.0 * inverse(sum.weight as f64)),
                sums.map(|sum| inverse(sum.samples as f64)),
            ),
            Basis::PerSecond => (seconds.map(inverse), seconds.map(inverse)),
            Basis::Raw => ([1.0; 2], [1.0; 2]),
        };
        Self { basis, of_weight, of_sample }
    }

    /// Both sides of a sum, and how they differ.
    pub fn change(&self, sums: Sums) -> Change {
        let [before, after] = self.values(sums);
        let change = after - before;
        let step = match self.basis {
            Basis::Share => step_of(change.abs(), &POINTS),
            Basis::PerSecond | Basis::Raw => step_of(factor(before, after), &FACTORS),
        };
        let step = if change < 0.0 { -step } else { step };
        let is_certain = self.exceeds_noise(sums, sums);
        Change { before, after, change, step, is_certain, without_names: None }
    }

    /// Both sides of what cannot be compared, as one of them has no names for it.
    pub fn unknown_change(&self, sums: Sums, without_names: ComparedSide) -> Change {
        let [before, after] = self.values(sums);
        Change { before, after, without_names: Some(without_names), ..Change::default() }
    }

    /// Both sides of a sum on the basis.
    pub fn values(&self, sums: Sums) -> [f64; 2] {
        [
            sums.before.weight as f64 * self.of_weight[0],
            sums.after.weight as f64 * self.of_weight[1],
        ]
    }

    /// What is as wide as these sums are.
    pub fn width(&self, width: Width, sums: Sums) -> f64 {
        let [before, after] = self.values(sums);
        match width {
            Width::Before => before,
            Width::After => after,
            Width::Both => (before + after) / 2.0,
        }
    }

    /// Whether the difference between the sides of `part` exceeds what chance makes of sums like `of`.
    ///
    /// Counts of samples scatter by their square root. With sides of equal size this is
    /// |difference| > 2 × √(before + after); else each count is scaled as its weight is.
    pub(super) fn exceeds_noise(&self, part: Sums, of: Sums) -> bool {
        let count = |sum: Sum| sum.samples as f64;
        let [before, after] = self.of_sample;
        let difference = count(part.after) * after - count(part.before) * before;
        let variance = count(of.before) * before * before + count(of.after) * after * after;
        difference.abs() > DEVIATIONS * variance.sqrt()
    }
}

/// How many times the smaller the larger is; infinite if the smaller is nothing.
fn factor(before: f64, after: f64) -> f64 {
    let (less, more) = if before < after { (before, after) } else { (after, before) };
    if more > 0.0 { more / less } else { 1.0 }
}

/// A size that is a limit but for rounding has reached it.
fn step_of(size: f64, limits: &[f64; 3]) -> i8 {
    limits.iter().filter(|&&limit| size >= limit - 1e-9).count() as i8
}
