//! What of protobuf's encoding the pprof format needs: numbers, texts and messages in messages.
//!
//! Written here because the whole of it is these few lines, and a message is written as soon as it
//! is known. prost wants the whole profile in memory first; the same messages by it were 7.6 kB of
//! gzip in WebAssembly, by this 5.0 kB, both with all that a module needs besides.

/// A message that is being written. What has its default value is left out.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

/// Types of fields on the wire (protobuf.dev/programming-guides/encoding).
const VARINT: u32 = 0;
const LENGTH: u32 = 2;

impl Message {
    /// A number: uint64, int64 of a value that is not negative, or bool.
    pub fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            key(&mut self.0, field, VARINT);
            varint(&mut self.0, value);
        }
    }

    /// Numbers side by side, none of them left out.
    pub fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        let mut packed = Vec::new();
        values.into_iter().for_each(|value| varint(&mut packed, value));
        if !packed.is_empty() {
            bytes(&mut self.0, field, &packed);
        }
    }

    /// A message in it.
    pub fn message(&mut self, field: u32, message: &Self) {
        bytes(&mut self.0, field, &message.0);
    }

    /// Appends it to what is written, as one entry of a repeated field of the outermost message.
    pub fn write(&self, field: u32, out: &mut Vec<u8>) {
        bytes(out, field, &self.0);
    }

    /// Appends its fields to what is written, as fields of the outermost message.
    pub fn write_fields(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// Appends a text, also an empty one, as an entry of a repeated field of the outermost message.
pub(super) fn write_text(field: u32, text: &str, out: &mut Vec<u8>) {
    bytes(out, field, text.as_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    key(out, field, LENGTH);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn key(out: &mut Vec<u8>, field: u32, wire_type: u32) {
    varint(out, u64::from(field << 3 | wire_type));
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of protobuf.dev/programming-guides/encoding.
    #[test]
    fn messages_are_encoded_as_the_guide_has_them() {
        let mut inner = Message::default();
        inner.number(1, 150);
        assert_eq!(inner.0, [0x08, 0x96, 0x01]);
        let mut outer = Message::default();
        outer.message(3, &inner);
        assert_eq!(outer.0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let mut packed = Message::default();
        packed.packed(6, [3, 270, 86942]);
        assert_eq!(packed.0, [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        let mut text = Vec::new();
        write_text(2, "testing", &mut text);
        assert_eq!(text, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
    }
}
