//! Links of one session: how large they are, and what they hold.

use perftab_core::session::{Session, SharedLink};
use perftab_snapshot::{ShareOptions, Snapshot, Times, decode};

use super::plain;

/// Characters of the links that have a name: of a chat, of Slack, of GitHub, and what Chromium
/// takes.
pub const BUDGETS: [usize; 4] = [2_000, 4_000, 65_536, 2_097_152];

/// The shortest address that a page may have.
pub const BASE: &str = "https://perftab.invalid/#";

/// Options for a link of so many characters, the address of the page counted.
pub fn within(budget: usize, times: Times) -> ShareOptions {
    let characters = budget.saturating_sub(BASE.len());
    ShareOptions { characters, times, ..ShareOptions::default() }
}

/// A link beside the plain encoding of what it holds.
pub struct LinkSizes {
    /// Characters of the link, without the address.
    pub link: usize,
    /// Characters of the plain encoding.
    pub plain: usize,
    /// The link.
    pub opened: Snapshot,
}

impl LinkSizes {
    /// Compares a link.
    pub fn new(payload: &str) -> Self {
        let opened = decode(payload).expect("a link opens");
        let plain = plain::encode(&opened).len();
        Self { link: payload.len(), plain, opened }
    }

    /// Characters of the link for each of the plain encoding.
    pub fn ratio(&self) -> f64 {
        self.link as f64 / self.plain as f64
    }
}

/// The shortest link, within a hundredth, that keeps every call node heavier than `threshold`.
pub fn down_to(session: &Session, threshold: f64) -> SharedLink {
    let share = |characters: usize| {
        let options = ShareOptions { characters, times: Times::None, ..ShareOptions::default() };
        session.share(&options)
    };
    let mut best = share(usize::MAX).expect("no limit");
    let mut too_short = share(0).map_or_else(|small| small.needed, |link| link.payload.len());
    while best.payload.len() > too_short + too_short / 100 + 1 {
        // Lengths are of very different sizes: the middle of their logarithms.
        let middle = ((best.payload.len() as f64) * (too_short as f64)).sqrt() as usize;
        match share(middle) {
            Ok(link) if link.fidelity.threshold_share <= threshold => best = link,
            _ => too_short = middle,
        }
    }
    best
}
