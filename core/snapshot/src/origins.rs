//! What the code of a place was made of, as a number: 0 is what the places before let expect, as most are.

/// What is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nothing, or the function is inlined there itself.
    Untold,
    /// The place's own line.
    Own,
    /// The line of a function that is inlined there, by its number; 0 where that is not told.
    Inlined(u64),
}

const EXPECTED: u64 = 0;
const UNTOLD: u64 = 1;
const OWN: u64 = 2;
const INLINED: u64 = 3;

/// What is expected of the next place.
pub(super) struct Origins {
    /// That of the function's last place.
    last: Origin,
    /// What was inlined last, in any function.
    inlined: u64,
}

impl Default for Origins {
    fn default() -> Self {
        Self { last: Origin::Own, inlined: 0 }
    }
}

impl Origins {
    /// Places of another function follow.
    pub fn begin_function(&mut self) {
        self.last = Origin::Own;
    }

    /// Of the next place, and whether samples ended in what is inlined there.
    pub fn number(&mut self, origin: Origin, is_inlined: bool) -> u64 {
        let expected = self.expected(is_inlined);
        self.note(origin);
        match origin {
            origin if origin == expected => EXPECTED,
            Origin::Untold => UNTOLD,
            Origin::Own => OWN,
            Origin::Inlined(code) => code.saturating_add(INLINED),
        }
    }

    /// The same back.
    pub fn origin(&mut self, number: u64, is_inlined: bool) -> Origin {
        let origin = match number {
            EXPECTED => self.expected(is_inlined),
            UNTOLD => Origin::Untold,
            OWN => Origin::Own,
            code => Origin::Inlined(code - INLINED),
        };
        self.note(origin);
        origin
    }

    fn expected(&self, is_inlined: bool) -> Origin {
        match self.last {
            Origin::Untold => Origin::Untold,
            _ if is_inlined => Origin::Inlined(self.inlined),
            _ => Origin::Own,
        }
    }

    fn note(&mut self, origin: Origin) {
        self.last = origin;
        if let Origin::Inlined(code) = origin {
            self.inlined = code;
        }
    }
}
