//! Files of other tools, a step at a time.

use js_sys::Uint8Array;
use perftab_core::session::{self, ExportStep};
use perftab_crossing::failure::Failure;
use perftab_crossing::{columns, from_js};
use wasm_bindgen::prelude::*;

use crate::Session;

/// A file of another tool that is being written.
#[wasm_bindgen]
pub struct Export(session::Export);

#[wasm_bindgen]
impl Export {
    /// Does about so many pieces of work more; the bytes follow those of the step before. Throws a
    /// `Failure` if names have changed since the first one.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; bytes: Uint8Array<ArrayBuffer>; isLast: boolean }"
    )]
    pub fn step(&mut self, session: &Session, pieces: usize) -> Result<JsValue, JsValue> {
        let mut bytes = Vec::new();
        let (done, total, is_last) = match self.0.step(&session.0, pieces, &mut bytes) {
            ExportStep::More { done, total } => (done, total, false),
            ExportStep::Done => (0, 0, true),
            ExportStep::TooLarge => {
                let message = "it would have more than 1 GB; perftab export --no-limit writes it";
                return Err(Failure::thrown("too-large", message.to_owned()));
            }
            ExportStep::Stale => {
                let message = "names changed while it was written; run it again; save it again";
                return Err(Failure::thrown("stale-export", message.to_owned()));
            }
        };
        Ok(JsValue::from(columns::object(&[
            ("done", JsValue::from(done as f64)),
            ("total", JsValue::from(total as f64)),
            ("bytes", JsValue::from(Uint8Array::from(bytes.as_slice()))),
            ("isLast", JsValue::from(is_last)),
        ])))
    }
}

#[wasm_bindgen]
impl Session {
    /// Begins to write what a query takes as a file of another tool.
    pub fn export(
        &self,
        #[wasm_bindgen(unchecked_param_type = "ExportRequest")] request: JsValue,
    ) -> Result<Export, JsValue> {
        Ok(Export(self.0.export(from_js(request)?)))
    }
}
