//! Interned strings.

use super::StringId;
use super::id_table::IdTable;

/// Every string once, in one allocation.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    text: String,
    /// End of each string in `text`.
    ends: Vec<u32>,
    index: IdTable,
}

impl Strings {
    /// The id of `string`, new or known.
    ///
    /// Texts beyond 4 GiB in sum are not kept: the id of the empty string is returned.
    pub fn intern(&mut self, string: &str) -> StringId {
        if self.text.len() + string.len() > u32::MAX as usize {
            return self.intern("");
        }
        let Self { text, ends, index } = self;
        let id = index.find_or_insert(
            ends.len(),
            hash_text(string) as u32,
            |row| slice(text, ends, row) == string,
            |row| hash_text(slice(text, ends, row)) as u32,
        );
        if id as usize == ends.len() {
            text.push_str(string);
            ends.push(text.len() as u32);
        }
        StringId(id)
    }

    /// The id of a string that is there.
    pub fn find(&self, string: &str) -> Option<StringId> {
        let is_it = |row: u32| slice(&self.text, &self.ends, row) == string;
        self.index.find(hash_text(string) as u32, is_it).map(StringId)
    }

    /// The string; empty for an id of another table.
    pub fn get(&self, id: StringId) -> &str {
        if id.index() < self.ends.len() { slice(&self.text, &self.ends, id.0) } else { "" }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn slice<'a>(text: &'a str, ends: &[u32], row: u32) -> &'a str {
    let row = row as usize;
    let start = if row == 0 { 0 } else { ends[row - 1] as usize };
    &text[start..ends[row] as usize]
}

/// Hash of a text; also decides the shade of a flame graph box.
pub fn hash_text(text: &str) -> u64 {
    let mut chunks = text.as_bytes().chunks_exact(8);
    let mut hash = text.len() as u64;
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        hash = super::id_table::hash_pair(hash, word);
    }
    let mut last = [0; 8];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    super::id_table::hash_pair(hash, u64::from_le_bytes(last))
}
