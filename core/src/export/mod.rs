//! A profile in the formats of other tools.

pub mod collapsed;
pub mod script;
