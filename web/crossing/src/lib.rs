//! What crosses between the page's workers and the WebAssembly in them: plain objects whose TypeScript types are generated
//! from the Rust ones, columns in typed arrays, errors as [`failure::Failure`], and bytes that JavaScript holds.
#![forbid(unsafe_code)]

pub mod code;
pub mod columns;
pub mod failure;
pub mod names;
pub mod source;

use failure::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

/// For every module, before anything else. Leaves what a panic says where the worker finds it: WebAssembly itself only
/// stops. And gives maps a secret, of which WebAssembly has none of its own.
pub fn begin() {
    perftab_perfdata::map::seed(js_sys::Math::random().to_bits());
    std::panic::set_hook(Box::new(|panic| {
        let words = panic.to_string();
        columns::add(&js_sys::global(), "perftabPanic", words);
    }));
}

/// As JSON has it: absent values are null, maps are objects.
pub fn to_js(value: &impl Serialize) -> Result<JsValue, JsValue> {
    value
        .serialize(&serde_wasm_bindgen::Serializer::json_compatible())
        .map_err(|error| Failure::internal(error.to_string()))
}

/// What an object says.
pub fn from_js<T: DeserializeOwned>(value: JsValue) -> Result<T, JsValue> {
    serde_wasm_bindgen::from_value(value).map_err(|error| Failure::internal(error.to_string()))
}
