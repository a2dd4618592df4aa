//! Names of the events.

use super::machine::count;
use crate::decode::Cursor;
use crate::decode::attr::Attr;
use crate::error::DecodeError;

/// An event's name, from EVENT_DESC.
#[derive(Clone, Debug, PartialEq)]
pub struct EventName {
    /// Name.
    pub name: String,
    /// Ids under which its records come.
    pub ids: Vec<u64>,
}

/// `u32 n, attr_size`, then n × { attr, `u32 ids`, string name, u64 ids }. What came before an
/// error stays.
pub(super) fn read(names: &mut Vec<EventName>, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    names.clear();
    let count = count(cursor, "the number of events")?;
    let attr_size = cursor.u32()?;
    for _ in 0..count {
        let attr_offset = cursor.offset();
        let attr = cursor.take_u64(u64::from(attr_size))?;
        Attr::read(attr, attr_offset, cursor.order())?;
        let id_count = cursor.u32()?;
        let name = cursor.sized_string()?;
        let mut ids = Vec::new();
        for _ in 0..id_count {
            ids.push(cursor.u64()?);
        }
        names.push(EventName { name, ids });
    }
    Ok(())
}
