//! Objects that are made property by property.

use js_sys::{Object, Reflect, Uint8Array, Uint32Array};
use perftab_core::ForceError;
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;

/// What became of a file that the user insisted on.
#[derive(Serialize, Tsify)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ForceOutcome {
    /// It names the DSO, and every name is marked.
    Forced {
        /// Frames that got a name.
        frames: usize,
    },
    /// It is the file that ran: nothing had to be forced.
    Matched {
        /// Numbers in the ledger of the DSOs that it names.
        dsos: Vec<u32>,
        /// What it holds, in words.
        gives: &'static str,
    },
    /// It is of no use.
    Refused {
        /// Why.
        reason: ForceError,
        /// The same in words.
        message: String,
    },
}

/// An object with these properties.
pub fn object(properties: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in properties {
        add(&object, name, value.clone());
    }
    object
}

/// Adds a property to an object that has just been made.
pub fn add(object: &Object, name: &str, value: impl Into<JsValue>) {
    // Setting a property of a plain object cannot fail.
    let _ = Reflect::set(object, &name.into(), &value.into());
}

/// How far something is.
pub fn progress(done: usize, total: usize) -> Object {
    object(&[("done", (done as f64).into()), ("total", (total as f64).into())])
}

/// In a column of numbers: none.
pub const NONE: u32 = u32::MAX;

/// Texts behind each other, and where each ends.
pub fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> (Uint8Array, Uint32Array) {
    let mut all = String::new();
    let ends = texts.map(|text| {
        all.push_str(text);
        all.len() as u32
    });
    let ends: Vec<u32> = ends.collect();
    (Uint8Array::from(all.as_bytes()), Uint32Array::from(ends.as_slice()))
}

/// Adds a `TextColumn`.
pub fn add_texts<'a>(object: &Object, name: &str, texts: impl Iterator<Item = &'a str>) {
    let (texts, ends) = joined(texts);
    add(object, name, self::object(&[("texts", texts.into()), ("ends", ends.into())]));
}
