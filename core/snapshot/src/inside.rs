//! What stands behind the characters of a link, for tools that look into links, and for fuzzing.

use super::SnapshotError;
use super::container::{self, Method};
use super::fields::{Field, Streams};

/// The streams of a payload, in the order of `docs/snapshot-v1.md`.
pub fn streams_of(payload: &str) -> Result<Vec<Vec<u8>>, SnapshotError> {
    let streams = container::unpack(payload)?;
    Ok(streams.iter().map(|(_, stream)| stream.to_vec()).collect())
}

/// The payload of these streams, deflated, whatever is in them. Those that lack are empty; those
/// that this version does not know are left out.
pub fn payload_of(streams: &[Vec<u8>]) -> String {
    let mut known = Streams::default();
    for (&field, stream) in Field::ALL.iter().zip(streams) {
        known.get_mut(field).clone_from(stream);
    }
    container::pack(&known, Method::Deflated)
}

/// The payload of streams that are packed, whatever is in them: length and checksum are right.
pub fn seal(packed: &[u8]) -> String {
    container::seal(packed)
}
