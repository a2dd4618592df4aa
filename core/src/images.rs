//! Images that a host keeps elsewhere than the session: what both are asked and what they answer.
//!
//! ```text
//! Session::profile().dsos ─▶ Images, Offer ─▶ findings ─▶ Session::take_findings
//!     Session::ask_names  ─▶ Images::name  ─▶ answers  ─▶ Session::take_names
//!      Session::unwindable ─▶ Images::unwind_tables    ─▶ Session::take_unwind_tables
//! ```

pub use perftab_dsos::{Dso, Dsos};
pub use perftab_images::{
    AddressNames, AdmittedFile, CodeTable, CompiledSource, FileNumber, FileRules, Finding,
    ForcedAddresses, ForcedFile, FunctionNumber, Images, InsistedFile, LostInlines, MatchedFile,
    MatchedNames, MatchedObjects, NameAnswer, NameRequest, NamedLevel, Offer, OfferStep, Outcome,
    Registers, Row, RowMemory, RuleFound, StackCopy, Ticket, UnwindTables, UnwoundMachine, Walk,
    WalkEnd, WalkedCode,
};
