//! How many call nodes fit: each attempt costs a whole packing, so there should be few.

use std::borrow::Cow;

use crate::selection::Order;

/// Use of the budget that is aimed at, and that is enough.
const AIM: f64 = 0.992;
const ENOUGH: f64 = 0.98;
/// Attempts by interpolation; then the distance is halved.
const INTERPOLATED: usize = 8;
/// Call nodes that are given up for others.
const MOST_GIVEN_UP: usize = 6;
/// Budgets that densities are known of.
const DENSITIES_KEPT: usize = 8;

/// How much of [`Order::cost`] a character of a link holds, by the budgets of the links before: the
/// next one differs little, so that its first attempt nearly always fits, where without this it takes
/// three or four. The same choices may so give another link than a while ago, as large.
#[derive(Default)]
pub(super) struct Densities(Vec<(usize, f64)>);

impl Densities {
    /// That of a link before, or about that of any.
    fn of(&self, budget: usize) -> f64 {
        /// Eighths of a byte, if nothing were guessed by the model and everything by the cost.
        const UNKNOWN: f64 = 6.0;
        self.0.iter().find(|&&(known, _)| known == budget).map_or(UNKNOWN, |&(_, density)| density)
    }

    /// Notes what a search has found.
    pub fn keep(&mut self, search: &Search) {
        let (cost, characters) = search.below;
        if search.fits == 0 {
            return;
        }
        self.0.retain(|&(known, _)| known != search.characters);
        if self.0.len() == DENSITIES_KEPT {
            self.0.remove(0);
        }
        self.0.push((search.characters, cost / (characters - search.needed).max(1.0)));
    }
}

/// Whether an attempt fits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Fits,
    TooLarge,
}

/// The search for the largest number of call nodes that fits.
pub(super) struct Search {
    characters: usize,
    budget: f64,
    /// What the first attempt is guessed by.
    density: f64,
    /// Characters of nothing but the root.
    needed: f64,
    /// The largest number that fits.
    pub fits: usize,
    /// Its cost and characters.
    below: (f64, f64),
    /// The smallest number that does not.
    too_many: usize,
    /// Its cost and characters, if it was tried.
    above: Option<(f64, f64)>,
    attempts: usize,
    given_up: usize,
}

impl Search {
    /// For what takes `needed` characters without any call node.
    pub fn new(characters: usize, needed: usize, order: &Order, densities: &Densities) -> Self {
        Self {
            characters,
            budget: characters as f64,
            density: densities.of(characters),
            needed: needed as f64,
            fits: 0,
            below: (0.0, needed as f64),
            too_many: order.len() + 1,
            above: None,
            attempts: 0,
            given_up: 0,
        }
    }

    /// The next number to try.
    pub fn next(&mut self, order: &mut Cow<'_, Order>) -> Option<usize> {
        let is_enough = self.below.1 >= self.budget * ENOUGH && self.fits > 0;
        if is_enough || self.fits == order.len() {
            return None;
        }
        if self.fits + 1 == self.too_many {
            // The next one is too large, as one with a long name may be: the others may fit.
            if self.given_up == MOST_GIVEN_UP {
                return None;
            }
            self.given_up += 1;
            order.to_mut().give_up(self.fits);
            (self.too_many, self.above, self.attempts) = (order.len() + 1, None, 0);
            if self.fits == order.len() {
                return None;
            }
        }
        self.attempts += 1;
        let (cost, characters) = self.below;
        let missing = self.budget * AIM - characters;
        let next = match self.above {
            _ if self.attempts > INTERPOLATED => self.fits + (self.too_many - self.fits) / 2,
            Some((cost_above, characters_above)) => {
                let each = (cost_above - cost) / (characters_above - characters).max(1.0);
                order.count(cost + missing * each)
            }
            None if cost > 0.0 => {
                let each = cost / (characters - self.needed).max(1.0);
                order.count(cost + missing * each)
            }
            None => order.count(missing * self.density),
        };
        // Where nearly all may fit, all may; if not, it is known what is too much.
        let next = match self.above {
            None if next > order.len() / 4 * 3 => order.len(),
            _ => next,
        };
        Some(next.clamp(self.fits + 1, self.too_many - 1))
    }

    /// Notes how many characters an attempt took.
    pub fn tried(&mut self, order: &Order, count: usize, characters: usize) -> Fit {
        let point = (order.cost(count), characters as f64);
        if characters < usize::MAX && characters as f64 <= self.budget {
            (self.fits, self.below) = (count, point);
            return Fit::Fits;
        }
        (self.too_many, self.above) = (count, Some(point).filter(|_| characters < usize::MAX));
        Fit::TooLarge
    }
}
