//! Errors as the worker passes them on.

use perftab_perfdata::error::{DecodeError, DecodeErrorKind};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::JsValue;

/// What is thrown.
#[derive(Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// A stable word.
    kind: String,
    /// A sentence for humans.
    message: String,
    /// Where in the file.
    #[tsify(optional)]
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<f64>,
    /// What a file that is no recording begins with.
    #[tsify(optional)]
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bytes: Option<Vec<u8>>,
}

impl Failure {
    /// Something between page and WebAssembly that cannot be the user's doing.
    pub fn internal(message: String) -> JsValue {
        Self::thrown("internal", message)
    }

    /// A failure that has no place in a file.
    pub fn thrown(kind: &str, message: String) -> JsValue {
        Self { kind: kind.to_owned(), message, offset: None, first_bytes: None }.throw()
    }

    fn throw(&self) -> JsValue {
        crate::to_js(self).unwrap_or_else(|error| error)
    }
}

/// A recording that cannot be opened.
pub fn to_failure(error: &DecodeError) -> JsValue {
    let first_bytes = match &error.kind {
        DecodeErrorKind::NotPerfData { first_bytes } => Some(first_bytes.clone()),
        _ => None,
    };
    Failure {
        kind: error.kind.name().to_owned(),
        message: error.to_string(),
        offset: Some(error.offset as f64),
        first_bytes,
    }
    .throw()
}
