//! Strings of feature sections. Those that are only shown to people have what cannot be seen escaped
//! as they are read.

use super::machine::count;
use crate::decode::Cursor;
use crate::error::DecodeError;
use crate::text::printable;

/// One string.
pub(super) fn text(cursor: &mut Cursor<'_>) -> Result<String, DecodeError> {
    Ok(printable(&cursor.sized_string()?).into_owned())
}

/// `u32 n`, then n strings, as they are: what others will parse.
pub(super) fn raw_list(cursor: &mut Cursor<'_>) -> Result<Vec<String>, DecodeError> {
    (0..count(cursor, "the length of a list")?).map(|_| cursor.sized_string()).collect()
}

/// `u32 n`, then n strings.
pub(super) fn list(cursor: &mut Cursor<'_>) -> Result<Vec<String>, DecodeError> {
    (0..count(cursor, "the length of a list")?).map(|_| text(cursor)).collect()
}

/// `u32 n`, then n strings { name, value }, as `name=value`.
pub(super) fn text_pairs(cursor: &mut Cursor<'_>) -> Result<Vec<String>, DecodeError> {
    let count = count(cursor, "the length of a list")?;
    (0..count).map(|_| Ok(format!("{}={}", text(cursor)?, text(cursor)?))).collect()
}
