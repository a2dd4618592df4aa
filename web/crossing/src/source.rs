//! Bytes that JavaScript holds: a `File` behind `FileReaderSync` in the worker, a file descriptor
//! in tests under Node.

use js_sys::Uint8Array;
use perftab_perfdata::decode::{ByteSource, ReadError};
use perftab_perfdata::identity::ContentHash;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const SOURCE: &str = "
/** Random access to bytes; `read` answers at once and throws if it cannot. */
export interface Source {
  readonly size: number;
  /** SHA-256 of all of it, where whoever made the source has had it hashed. */
  readonly sha256?: Uint8Array | undefined;
  read(offset: number, length: number): Uint8Array;
}

/** Bytes to be pushed next: of which part, from where in it, and how many at most. */
export interface WantedBytes {
  part: number;
  offset: number;
  length: number;
}
";

#[wasm_bindgen]
extern "C" {
    /// What implements the interface.
    #[wasm_bindgen(typescript_type = "Source")]
    pub type Source;

    #[wasm_bindgen(method, getter)]
    fn size(this: &Source) -> f64;

    #[wasm_bindgen(method, getter)]
    fn sha256(this: &Source) -> Option<Uint8Array>;

    #[wasm_bindgen(method, catch)]
    fn read(this: &Source, offset: f64, length: f64) -> Result<Uint8Array, JsValue>;
}

/// A [`Source`] as core reads it.
pub struct JsSource {
    source: Source,
    length: u64,
}

impl JsSource {
    /// The size is asked once: a file that shrinks under the reader fails to read.
    pub fn new(source: Source) -> Self {
        let length = source.size().max(0.0) as u64;
        Self { source, length }
    }
}

impl ByteSource for JsSource {
    fn len(&self) -> u64 {
        self.length
    }

    fn content_hash(&self) -> Option<ContentHash> {
        self.source.sha256()?.to_vec().try_into().ok().map(ContentHash::of_sha256)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let bytes = self
            .source
            .read(offset as f64, buffer.len() as f64)
            .map_err(|error| ReadError::new(describe(&error)))?;
        if bytes.length() as usize != buffer.len() {
            return Err(ReadError::new("fewer bytes came than were asked for"));
        }
        bytes.copy_to(buffer);
        Ok(())
    }
}

fn describe(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => "the browser could not read the file".to_owned(),
    }
}
