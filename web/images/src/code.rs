//! The code of functions, for whoever shows it as instructions. Another module decodes it (`web/listing`): this one says
//! what its bytes are, what they were made of and what ended in them.

use std::rc::Rc;

use js_sys::{Array, Object, Uint8Array};
use perftab_core::session::DecodedCode;
use perftab_core::{DataReference, DsoId, ReferenceWay, Svma};
use perftab_crossing::code::{heat_of, object_of};
use perftab_crossing::columns::{add_texts, object};
use wasm_bindgen::prelude::*;

use crate::Images;

/// In a column of targets: an instruction leads nowhere.
const NO_TARGET: u64 = u64::MAX;

#[wasm_bindgen]
impl Images {
    /// The code of the function at an address of a DSO; null if no file with the recorded build-id has it.
    #[wasm_bindgen(js_name = functionCode, unchecked_return_type = "FunctionCode | null")]
    pub fn function_code(&self, dso: u32, address: u64) -> JsValue {
        let dso = DsoId(dso);
        let in_memory = self.0.code_in_memory(dso, address).map(|code| (code, "memory"));
        let in_file = || Some((self.0.function_code(dso, address)?, "file"));
        let Some((code, from)) = in_memory.or_else(in_file) else { return JsValue::NULL };
        object(&[
            ("machine", code.machine.name().into()),
            ("start", code.start.into()),
            ("startInFile", code.start_in_file.0.into()),
            ("bytes", Uint8Array::from(code.bytes.as_slice()).into()),
            ("from", from.into()),
        ])
        .into()
    }

    /// Says what code was made of, whose instructions begin at `starts`, and sums heat: rows from the first on that is in it.
    #[wasm_bindgen(unchecked_return_type = "AnnotatedCode")]
    #[allow(clippy::too_many_arguments)]
    pub fn annotated(
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
        ways: &[u8],
    ) -> Object {
        let dso = DsoId(dso);
        let code = DecodedCode { dso, start, length: length.into(), starts };
        let annotated = code.annotated(&self.0, &heat_of(addresses, samples, weights));
        let md5 = |(file, address): &(Rc<str>, u64)| match self.0.source_md5(dso, *address, file) {
            Some(md5) => Uint8Array::from(md5.as_slice()).into(),
            None => JsValue::NULL,
        };
        let columns = object_of(&annotated, md5);
        let name = |&target: &u64| match target {
            NO_TARGET => None,
            target => self.0.name_in_file(dso, Svma(target)),
        };
        let names: Vec<Option<String>> = targets.iter().map(name).collect();
        add_texts(&columns, "targets", names.iter().map(|name| name.as_deref().unwrap_or("")));
        let referred = |(&at, &way): (&u64, &u8)| {
            let way = ReferenceWay::from_number(way)?;
            self.0.referred(dso, DataReference { at: Svma(at), way })
        };
        let referred: Vec<Option<String>> = references.iter().zip(ways).map(referred).collect();
        add_texts(&columns, "references", referred.iter().map(|it| it.as_deref().unwrap_or("")));
        columns
    }
}

/// What is read of single places.
#[wasm_bindgen]
impl Images {
    /// What covers an address in the file's own addresses, as disassemblies write it.
    #[wasm_bindgen(js_name = nameInFile)]
    pub fn name_in_file(&self, dso: u32, address: u64) -> Option<String> {
        self.0.name_in_file(DsoId(dso), Svma(address))
    }

    /// An address of a DSO in the file's own addresses.
    #[wasm_bindgen(js_name = addressInFile)]
    pub fn address_in_file(&self, dso: u32, address: u64) -> Option<u64> {
        let place = self.0.function_place(DsoId(dso), address)?;
        place.start_in_file.0.checked_add(address.checked_sub(place.start)?)
    }

    /// What the compiler noted as MD5 of a source file for code at these addresses: each sum once, and null if it noted
    /// none for some.
    #[wasm_bindgen(js_name = sourceSums, unchecked_return_type = "(Uint8Array | null)[]")]
    pub fn source_sums(&self, dso: u32, path: &str, addresses: &[u64]) -> Array {
        let mut sums: Vec<Option<[u8; 16]>> = Vec::new();
        for &address in addresses {
            let sum = self.0.source_md5(DsoId(dso), address, path);
            if !sums.contains(&sum) {
                sums.push(sum);
            }
        }
        let sum = |sum: &Option<[u8; 16]>| match sum {
            Some(sum) => Uint8Array::from(sum.as_slice()).into(),
            None => JsValue::NULL,
        };
        sums.iter().map(sum).collect()
    }

    /// The text of the source file of this path for code at an address, where the compiler put it into debug information.
    #[wasm_bindgen(js_name = embeddedSource)]
    pub fn embedded_source(&self, dso: u32, path: &str, address: u64) -> Option<Vec<u8>> {
        self.0.embedded_source(DsoId(dso), address, path)
    }
}
