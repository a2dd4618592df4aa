//! A link or a saved page that was packed to be sent (gzip, xz, zstd or bzip2 around it): unpacked as its
//! bytes come, and given up as soon as it is neither.

use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};

use super::carrier::{find, is_page, may_be_text};

/// So much of a text is looked at to tell whether it is one.
const HEAD: usize = 4096;
/// A link begins within so much of the text around it. Of other texts no more is unpacked.
const BEGINS_WITHIN: usize = 1 << 20;
/// No page and no link is larger: what a snapshot inflates to has a cap.
const MOST: usize = 256 << 20;

/// A packed file that may hold a link or a page.
pub struct PackedText {
    unwrap: Unwrap,
    text: Vec<u8>,
    is_shared: bool,
}

impl PackedText {
    /// Of a file that begins with these bytes, all of which are to be pushed; `None` if it is not packed.
    pub fn begin(first_bytes: &[u8]) -> Option<Self> {
        let unwrap = Unwrap::new(Wrapper::detect(first_bytes)?);
        Some(Self { unwrap, text: Vec::new(), is_shared: false })
    }

    /// Takes the next packed bytes. False as soon as it is known that neither link nor page is in the
    /// file; then nothing more of it is wanted.
    pub fn push(&mut self, mut block: &[u8]) -> bool {
        loop {
            match self.unwrap.next(&mut block) {
                Ok(Some(piece)) => self.text.extend_from_slice(piece),
                Ok(None) => return true,
                Err(_) => return false,
            }
            if !self.goes_on() {
                return false;
            }
        }
    }

    /// What is there is a text still, and short enough.
    fn goes_on(&mut self) -> bool {
        let head = &self.text[..self.text.len().min(HEAD)];
        if !self.is_shared && self.text.len() >= BEGINS_WITHIN {
            self.is_shared = is_page(&self.text) || find(&self.text).is_some();
            return self.is_shared;
        }
        may_be_text(head) && self.text.len() <= MOST
    }

    /// The text, when all was pushed: of a file that was cut off, as much as it gives.
    pub fn finish(mut self) -> Vec<u8> {
        let text = &mut self.text;
        // What is missing is said of the link in it.
        let _ = self.unwrap.finish(&mut |piece| {
            text.extend_from_slice(&piece[..piece.len().min(MOST.saturating_sub(text.len()))]);
        });
        self.text
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    }

    /// What comes out, and how many packed bytes were looked at.
    fn unpacked(packed: &[u8]) -> (Option<Vec<u8>>, usize) {
        let mut text = PackedText::begin(packed).expect("it is packed");
        for (number, block) in packed.chunks(512).enumerate() {
            if !text.push(block) {
                return (None, number * 512 + block.len());
            }
        }
        (Some(text.finish()), packed.len())
    }

    #[test]
    fn a_link_or_page_comes_out_whole() {
        let link = format!("see https://host/#p1.{}\n", "A1-_".repeat(5000));
        let page = format!("<!doctype html>{}", "<p>text</p>".repeat(200_000));
        for text in [&link, &page] {
            assert_eq!(unpacked(&packed(text.as_bytes())).0.as_deref(), Some(text.as_bytes()));
        }
        let cut = packed(link.as_bytes());
        let (text, _) = unpacked(&cut[..cut.len() - 12]);
        assert!(text.is_some_and(|text| link.as_bytes().starts_with(&text)));
        assert!(PackedText::begin(link.as_bytes()).is_none());
    }

    #[test]
    fn what_is_neither_is_not_unpacked_to_its_end() {
        let zeros = packed(&vec![0; 64 << 20]);
        let letters = packed(&vec![b'a'; 64 << 20]);
        for bomb in [zeros, letters] {
            let (text, seen) = unpacked(&bomb);
            assert_eq!(text, None);
            assert!(seen < bomb.len() / 8, "{seen} of {}", bomb.len());
        }
        let recording = [&b"PERFILE2\x68\0\0\0\0\0\0\0"[..], &[0; 5000]].concat();
        assert_eq!(unpacked(&packed(&recording)).0, None);
    }
}
