//! Records that carry what a file has in its header: events and features. In pipe mode there is
//! no other place for them; `perf inject` copies them into the data section of files too.

use crate::decode::attr::Attr;
use crate::decode::header::EventAttr;
use crate::decode::records::RecordHeader;
use crate::decode::{ByteOrder, Cursor};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::format::attr::ATTR_SIZE_VER0;
use crate::format::feature::Feature;
use crate::format::record::RECORD_HEADER_SIZE;

/// `struct { header; struct perf_event_attr attr; u64 id[]; }`, the attr as long as it says
/// (`struct perf_record_header_attr` in `tools/lib/perf/include/perf/event.h`).
pub fn decode_header_attr(
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<EventAttr, DecodeError> {
    let mut cursor = Cursor::new(bytes, offset, order, "a HEADER_ATTR record");
    cursor.take(RECORD_HEADER_SIZE)?;
    let start = cursor.offset();
    let mut size = cursor.clone();
    size.u32()?;
    let size = match size.u32()? {
        0 => ATTR_SIZE_VER0,
        size => size,
    };
    let attr = Attr::read(cursor.take_u64(u64::from(size))?, start, order)?;
    let ids = cursor.rest().chunks_exact(8);
    Ok(EventAttr {
        attr,
        ids: ids.map(|id| order.u64(id.try_into().unwrap_or_default())).collect(),
    })
}

/// `struct { header; u64 feat_id; char data[]; }`: which feature, and what its section would hold.
pub fn decode_feature(
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<(Feature, &[u8]), DecodeError> {
    let mut cursor = Cursor::new(bytes, offset, order, "a HEADER_FEATURE record");
    cursor.take(RECORD_HEADER_SIZE)?;
    let start = cursor.offset();
    let number = cursor.u64()?;
    let what = "the number of a feature";
    let feature = u8::try_from(number)
        .map_err(|_| DecodeErrorKind::Invalid { what, value: number }.at(start))?;
    Ok((Feature(feature), cursor.rest()))
}

/// The content of HEADER_TRACING_DATA. perf writes `u32 size` and that many bytes behind the
/// record, which `bytes` go on with; simpleperf has them inside of it.
pub fn tracing_data(
    header: RecordHeader,
    bytes: &[u8],
    offset: u64,
    order: ByteOrder,
) -> Result<&[u8], DecodeError> {
    let mut cursor = Cursor::new(bytes, offset, order, "a HEADER_TRACING_DATA record");
    cursor.take(RECORD_HEADER_SIZE)?;
    let size = cursor.u32()?;
    match bytes.get(header.size..) {
        Some(behind) if !behind.is_empty() => Ok(behind),
        _ => cursor.take_u64(u64::from(size)),
    }
}
