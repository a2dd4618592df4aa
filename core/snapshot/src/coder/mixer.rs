//! How likely the next bit is 1, by what came after each of several contexts.
//!
//! Each context has a counter for what the next bit was whenever it stood before: how likely a 1
//! was, and how often it was met. A mixer weighs what the counters say by how right they were
//! before; counters met seldom have weights of their own. A last table corrects what the mixer says
//! by what came of it. All of it in integers, so that every machine computes the same.

use super::arithmetic::{Line, Probability};

/// Most contexts that a bit has.
pub(super) const MAX_CONTEXTS: usize = 9;
/// Counters of a group: as many as four bits in a row need.
const GROUP: usize = 16;
/// Kinds of counters by how often they were met.
const TRUSTS: usize = 8;
/// Sets of weights, for each of two choosers.
pub(super) const SETS: usize = 512;
/// Rows of the last table.
const CORRECTIONS: usize = 1 << 12;
/// Points of a row of the last table.
const POINTS: usize = 33;
/// A counter adapts no slower than this many meetings would make it.
const MAX_MET: u32 = 127;

/// 65,536 / (1 + e^−x) for x from −8 to 0 in halves; the other side mirrors it.
const LOGISTIC: [u16; 17] =
    [22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768];

/// Weight of a counter at the beginning, in 65,536ths, by how far it is trusted. One that was
/// never met has no say.
const FIRST_WEIGHTS: [i32; TRUSTS] = [0, 14_000, 17_000, 19_000, 21_000, 23_000, 24_000, 24_000];

/// No weight goes beyond 16.
const MAX_WEIGHT: i32 = 1 << 20;
/// How much weights learn of an error.
const LEARNING: i64 = 45;

/// Which weights and which correction are used.
#[derive(Clone, Copy)]
pub(super) struct MixerSelection {
    /// Of the first mixer, below [`SETS`].
    pub first: usize,
    /// Of the second mixer, below [`SETS`].
    pub second: usize,
    /// Any number.
    pub correction: u32,
}

/// Groups of counters, one for each context.
#[derive(Clone, Copy, Default)]
pub(super) struct Groups {
    starts: [usize; MAX_CONTEXTS],
    count: usize,
}

pub(super) struct Mixer {
    /// Upper 22 bits: how likely 1 is; lower 10: how often met.
    counters: Vec<u32>,
    weights: [Vec<[[i32; TRUSTS]; MAX_CONTEXTS]>; 2],
    corrections: Vec<[u16; POINTS]>,
    tables: Tables,
}

impl Clone for Mixer {
    fn clone(&self) -> Self {
        Self {
            counters: self.counters.clone(),
            weights: self.weights.clone(),
            corrections: self.corrections.clone(),
            tables: self.tables.clone(),
        }
    }

    /// Into the memory that is there: fresh pages of a large table take as long as the copy.
    fn clone_from(&mut self, source: &Self) {
        self.counters.clone_from(&source.counters);
        self.weights.clone_from(&source.weights);
        self.corrections.clone_from(&source.corrections);
    }
}

/// What a context's counter says of a bit.
#[derive(Clone, Copy, Default)]
struct Prediction {
    /// Of the counter.
    place: usize,
    by: i64,
    trust: usize,
}

/// Functions as tables.
#[derive(Clone)]
struct Tables {
    /// Of −2,047 to 2,047, in 256ths: 65,536 / (1 + e^−x).
    squash: Box<[u16; 4096]>,
    /// The inverse, of 4,096ths.
    stretch: Box<[i16; 4096]>,
    /// By how often a counter was met, the part of an error that it takes on, in 65,536ths.
    rate: [i64; 1 + MAX_MET as usize],
    /// By how often a counter was met, [`trust`].
    trust: [u8; 1 + MAX_MET as usize],
}

impl Tables {
    fn new() -> Self {
        let point = |index: usize| match index {
            0..=16 => u32::from(LOGISTIC[index]),
            _ => 65_536 - u32::from(LOGISTIC[32 - index.min(32)]),
        };
        let squash = std::array::from_fn(|x: usize| {
            let (index, part) = (x / 128, (x % 128) as u32);
            ((point(index) * (128 - part) + point(index + 1) * part) / 128) as u16
        });
        // The first that comes to each; above the last one the end.
        let mut stretch = [2047; 4096];
        let mut next = 0;
        for (x, &probability) in squash.iter().enumerate() {
            while next <= usize::from(probability >> 4) {
                stretch[next] = x as i16 - 2048;
                next += 1;
            }
        }
        let rate = std::array::from_fn(|met| 655_360 / (10 * met as i64 + 16));
        let trust = std::array::from_fn(|met| trust(met as u32) as u8);
        Self { squash: Box::new(squash), stretch: Box::new(stretch), rate, trust }
    }

    fn squash(&self, x: i32) -> i32 {
        i32::from(self.squash[(x.clamp(-2047, 2047) + 2048) as usize])
    }
}

/// How far a counter is trusted that was met so often.
fn trust(met: u32) -> usize {
    match met {
        0..=3 => met as usize,
        4..=5 => 4,
        6..=10 => 5,
        11..=30 => 6,
        _ => 7,
    }
}

/// Mixes two numbers into one.
pub(super) fn hash(a: u32, b: u32) -> u32 {
    let mixed = (a ^ 0x9e37_79b9).wrapping_mul(0x2c1b_3c6d) ^ b.wrapping_mul(0x85eb_ca6b);
    (mixed ^ (mixed >> 15)).wrapping_mul(0x297a_2d39) ^ (mixed >> 13)
}

impl Mixer {
    /// With 2^`size` groups of counters.
    pub fn new(size: u32) -> Self {
        let tables = Tables::new();
        let mut row = [0; POINTS];
        for (point, value) in row.iter_mut().enumerate() {
            *value = tables.squash((point as i32 - 16) * 128) as u16;
        }
        Self {
            counters: vec![1 << 31; GROUP << size],
            weights: [
                vec![[FIRST_WEIGHTS; MAX_CONTEXTS]; SETS],
                vec![[FIRST_WEIGHTS; MAX_CONTEXTS]; SETS],
            ],
            corrections: vec![row; CORRECTIONS],
            tables,
        }
    }

    /// The groups of some contexts, at most [`MAX_CONTEXTS`].
    pub fn groups(&self, contexts: &[u32], salt: u32) -> Groups {
        let size = (self.counters.len() / GROUP).trailing_zeros();
        let mut groups = Groups { count: contexts.len().min(MAX_CONTEXTS), ..Groups::default() };
        for (start, &context) in groups.starts.iter_mut().zip(contexts) {
            *start = (hash(context, salt) >> (32 - size)) as usize * GROUP;
        }
        groups
    }

    /// How often each context's counter at `place` of its group was met.
    pub fn met(&self, groups: &Groups, place: usize) -> impl Iterator<Item = u32> {
        groups.starts[..groups.count]
            .iter()
            .map(move |start| self.counters[start + place % GROUP] & 1023)
    }

    /// Carries a bit, whose counters stand at `place` of each group.
    pub fn carry(
        &mut self,
        line: &mut impl Line,
        bit: u32,
        groups: &Groups,
        place: usize,
        selection: MixerSelection,
    ) -> u32 {
        let Self { counters, weights, corrections, tables } = self;
        let [first, second] = weights;
        let first = &mut first[selection.first % SETS];
        let second = &mut second[selection.second % SETS];
        let starts = &groups.starts[..groups.count.min(MAX_CONTEXTS)];
        let mut said = [Prediction::default(); MAX_CONTEXTS];
        let said = &mut said[..starts.len()];
        let mut sums = [0i64; 2];
        let weights = first.iter().zip(second.iter());
        for ((said, start), (first, second)) in said.iter_mut().zip(starts).zip(weights) {
            let place = start + place % GROUP;
            let counter = counters[place];
            let by = i64::from(tables.stretch[(counter >> 20) as usize]);
            let trust = usize::from(tables.trust[(counter & MAX_MET) as usize]) % TRUSTS;
            sums[0] += by * i64::from(first[trust]);
            sums[1] += by * i64::from(second[trust]);
            *said = Prediction { place, by, trust };
        }
        let mixed = sums.map(|sum| (sum >> 16).clamp(-2047, 2047) as i32);
        let both = (mixed[0] + mixed[1]) >> 1;

        let row = &mut corrections[(selection.correction as usize) % CORRECTIONS];
        let (point, part) = ((both + 2048) as usize / 128, (both + 2048) % 128);
        let (left, right) = (i32::from(row[point]), i32::from(row[point + 1]));
        let corrected = (left * (128 - part) + right * part) / 128;
        let one = ((tables.squash(both) + corrected) / 2).clamp(24, 65_512);

        let bit = line.carry(bit, one as Probability);

        let truth = if bit == 1 { 65_535 } else { 0 };
        let likely_truth = if bit == 1 { (1 << 22) - 1 } else { 0 };
        let errors = mixed.map(|mixed| i64::from(truth - tables.squash(mixed)) * LEARNING);
        let weights = first.iter_mut().zip(second);
        for (&Prediction { place, by, trust }, (first, second)) in said.iter().zip(weights) {
            for (weight, error) in [(&mut first[trust], errors[0]), (&mut second[trust], errors[1])]
            {
                *weight = (*weight + ((by * error) >> 18) as i32).clamp(-MAX_WEIGHT, MAX_WEIGHT);
            }
            let counter = &mut counters[place];
            let (likely, met) = (i64::from(*counter >> 10), *counter & MAX_MET);
            let likely = likely + (((likely_truth - likely) * tables.rate[met as usize]) >> 16);
            *counter = (likely as u32) << 10 | (met + 1).min(MAX_MET);
        }
        let nearest = &mut row[point + usize::from(part >= 64)];
        *nearest = (i32::from(*nearest) + ((truth - i32::from(*nearest)) >> 6)) as u16;
        bit
    }
}
