//! Code in links, and code that processes made.

use std::num::NonZeroU32;

use js_sys::Object;
use perftab_core::session::DecodedCode;
use perftab_core::{DsoId, TextCheck};
use perftab_crossing::code::{heat_of, object_of};
use perftab_crossing::columns::{add_texts, object};
use wasm_bindgen::prelude::*;

use crate::Session;

/// What stands at hot places, for links.
#[wasm_bindgen]
impl Session {
    /// Forgets what was read, before it is read anew: what a link brought stays.
    #[wasm_bindgen(js_name = beginPlaceTexts)]
    pub fn begin_place_texts(&mut self) {
        self.0.begin_place_texts();
    }

    /// Takes in lines of a source file, by its path as debug information has it; `check` is a `TextCheck`.
    #[wasm_bindgen(js_name = tellLines)]
    pub fn tell_lines(
        &mut self,
        path: &str,
        #[wasm_bindgen(unchecked_param_type = "TextCheck")] check: &str,
        lines: &[u32],
        texts: Vec<String>,
    ) {
        let check = TextCheck::from_name(check).unwrap_or_default();
        let lines = lines.iter().zip(&texts);
        let known = lines.filter_map(|(&line, text)| Some((NonZeroU32::new(line)?, &**text)));
        self.0.tell_lines(path, check, known);
    }

    /// Takes in instructions at addresses of a DSO, as frames have them; empty ones are not known.
    #[wasm_bindgen(js_name = tellInstructions)]
    pub fn tell_instructions(&mut self, dso: u32, addresses: &[u64], texts: Vec<String>) {
        let texts = texts.iter().map(|text| &**text);
        self.0.tell_instructions(DsoId(dso), addresses.iter().copied().zip(texts));
    }
}

/// Code that a process made and wrote into its jitdump, which the host has.
#[wasm_bindgen]
impl Session {
    /// Where it is in that file; null for any other code.
    #[wasm_bindgen(js_name = madeCode, unchecked_return_type = "MadeCode | null")]
    pub fn made_code(&self, dso: u32, address: u64) -> JsValue {
        let Some(place) = self.0.made_code(DsoId(dso), address) else { return JsValue::NULL };
        object(&[
            ("file", place.file.into()),
            ("pid", place.pid.into()),
            ("machine", place.machine.name().into()),
            ("start", place.bytes.start.into()),
            ("end", place.bytes.end.into()),
            ("madeAt", place.made_at.0.into()),
        ])
        .into()
    }

    /// As `annotated` of images, by what the jitdump says. Nothing tells what is at targets and in data.
    #[wasm_bindgen(js_name = annotatedMade, unchecked_return_type = "AnnotatedCode")]
    #[allow(clippy::too_many_arguments)]
    pub fn annotated_made(
        &self,
        dso: u32,
        start: u64,
        length: u32,
        starts: &[u32],
        addresses: &[u64],
        samples: &[f64],
        weights: &[f64],
        targets: &[u64],
        references: &[u64],
        _ways: &[u8],
    ) -> Object {
        let code = DecodedCode { dso: DsoId(dso), start, length: length.into(), starts };
        let annotated =
            self.0.annotated_made(code, &heat_of(addresses, samples, weights)).unwrap_or_default();
        let columns = object_of(&annotated, |_| JsValue::NULL);
        add_texts(&columns, "targets", targets.iter().map(|_| ""));
        add_texts(&columns, "references", references.iter().map(|_| ""));
        columns
    }
}
