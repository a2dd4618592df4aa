//! EVENT_UPDATE: what a recorder learned of an event after it had described it.

use std::borrow::Cow;

use super::body;
use crate::decode::ByteOrder;
use crate::error::DecodeError;

/// A change of an event's description.
///
/// ```c
/// struct { u64 type, id; union { char unit[], name[]; f64 scale; … }; };
/// // struct perf_record_event_update in tools/lib/perf/include/perf/event.h
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EventUpdate<'a> {
    /// One of the ids of the event's records.
    pub id: u64,
    /// What is changed.
    pub kind: EventUpdateKind<'a>,
}

/// What EVENT_UPDATE changes.
#[derive(Clone, Debug, PartialEq)]
pub enum EventUpdateKind<'a> {
    /// The unit of its values.
    Unit(Cow<'a, str>),
    /// What its values are to be multiplied with.
    Scale(f64),
    /// Its name.
    Name(Cow<'a, str>),
    /// Anything else: the CPUs it is counted on.
    Other,
}

impl<'a> EventUpdate<'a> {
    /// Decodes EVENT_UPDATE.
    pub fn decode(bytes: &'a [u8], offset: u64, order: ByteOrder) -> Result<Self, DecodeError> {
        let mut cursor = body(bytes, offset, order, "an EVENT_UPDATE record")?;
        let kind = cursor.u64()?;
        let id = cursor.u64()?;
        let kind = match kind {
            0 => EventUpdateKind::Unit(String::from_utf8_lossy(cursor.c_string())),
            1 => EventUpdateKind::Scale(f64::from_bits(cursor.u64()?)),
            2 => EventUpdateKind::Name(String::from_utf8_lossy(cursor.c_string())),
            _ => EventUpdateKind::Other,
        };
        Ok(Self { id, kind })
    }
}
