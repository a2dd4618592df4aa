//! What links are held against: the call tree of any session, merged here, and an encoding of the
//! same content that does nothing clever.

pub mod calls;
pub mod crowd;
pub mod plain;
pub mod sizes;
pub mod vectors;

pub use calls::Calls;
