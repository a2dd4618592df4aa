//! The WebAssembly host: one façade over core's Session.
#![forbid(unsafe_code)]

use wasm_bindgen::prelude::*;

/// The version of perftab that this WebAssembly was built from.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
