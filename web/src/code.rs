//! The code of functions, for whoever shows it as instructions. Another module decodes it (`web/listing`): this one says
//! what its bytes are, what they were made of and what ended in them.

use std::num::NonZeroU32;
use std::rc::Rc;

use js_sys::{Array, BigUint64Array, Float64Array, Object, Uint8Array, Uint32Array};
use perftab_core::session::{Amount, AnnotatedCode, DecodedCode};
use perftab_core::{DataReference, DsoId, ReferenceWay, Svma, TextCheck};
use perftab_perfdata::map::Map;
use wasm_bindgen::prelude::*;

use crate::Session;
use crate::columns::{NONE, add, add_texts, object};
use crate::images::Images;

/// In a column of targets: an instruction leads nowhere.
const NO_TARGET: u64 = u64::MAX;

#[wasm_bindgen(typescript_custom_section)]
const CODE: &str = "
/** The code of a function: where it begins as frames have it, and in the file's own addresses. */
export interface FunctionCode {
  machine: string;
  start: bigint;
  startInFile: bigint;
  bytes: Uint8Array;
}

/** Code in a jitdump: from where to where, and where it began when it was made. */
export interface MadeCode {
  file: string;
  machine: string;
  start: bigint;
  end: bigint;
  madeAt: bigint;
}

/** Texts behind each other in UTF-8, and where each ends. */
export interface TextColumn {
  texts: Uint8Array;
  ends: Uint32Array;
}

/** Code with what ended in it. What is of a file or a function has its number, 0xffffffff for none. */
export interface AnnotatedCode {
  /** How many rows of the heat were of this code. */
  taken: number;
  samples: number;
  weight: number;
  files: TextColumn;
  /** By file: MD5 of what was compiled, 16 bytes, where debug information has it; and where code begins that is of it. */
  md5s: (Uint8Array | null)[];
  /** The one that the function itself stands in. */
  ownFile: number;
  fileAddresses: BigUint64Array;
  /** Functions that are inlined. */
  functions: TextColumn;
  /** By instruction; line 0 for none. */
  inlined: Uint32Array;
  file: Uint32Array;
  line: Uint32Array;
  instructionSamples: Float64Array;
  instructionWeight: Float64Array;
  /** By line that there is code of, by file and number. */
  lineFile: Uint32Array;
  lineNumber: Uint32Array;
  lineSamples: Float64Array;
  lineWeight: Float64Array;
  /** By target that was asked for: what is there; empty for what has no name. */
  targets: TextColumn;
  /** The same of what instructions refer to: a name, a text in quotes, or both. */
  references: TextColumn;
}
";

#[wasm_bindgen]
impl Images {
    /// The code of the function at an address of a DSO; null if no file with the recorded build-id has it.
    #[wasm_bindgen(js_name = functionCode, unchecked_return_type = "FunctionCode | null")]
    pub fn function_code(&self, dso: u32, address: u64) -> JsValue {
        let Some(code) = self.0.function_code(DsoId(dso), address) else { return JsValue::NULL };
        object(&[
            ("machine", code.machine.name().into()),
            ("start", code.start.into()),
            ("startInFile", code.start_in_file.0.into()),
            ("bytes", Uint8Array::from(code.bytes.as_slice()).into()),
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
            ("machine", place.machine.name().into()),
            ("start", place.bytes.start.into()),
            ("end", place.bytes.end.into()),
            ("madeAt", place.made_at.0.into()),
        ])
        .into()
    }

    /// As [`Images::annotated`], by what the jitdump says. Nothing tells what is at targets and in data.
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
        let annotated = self.0.annotated(code, &heat_of(addresses, samples, weights));
        let columns = object_of(&annotated, |_| JsValue::NULL);
        add_texts(&columns, "targets", targets.iter().map(|_| ""));
        add_texts(&columns, "references", references.iter().map(|_| ""));
        columns
    }
}

fn heat_of(addresses: &[u64], samples: &[f64], weights: &[f64]) -> Vec<(u64, Amount)> {
    let heat = addresses.iter().zip(samples).zip(weights);
    heat.map(|((&address, &samples), &weight)| {
        (address, Amount { samples: samples as u64, weight: weight as u64 })
    })
    .collect()
}

fn object_of(code: &AnnotatedCode, md5: impl Fn(&(Rc<str>, u64)) -> JsValue) -> Object {
    let own = code.own_file();
    let AnnotatedCode { all, taken, instructions, lines, files } = code;
    let columns = object(&[
        ("taken", (*taken as f64).into()),
        ("samples", (all.samples as f64).into()),
        ("weight", (all.weight as f64).into()),
    ]);
    add_texts(&columns, "files", files.iter().map(|(file, _)| &**file));
    let md5s: Array = files.iter().map(md5).collect();
    add(&columns, "md5s", md5s);
    let places: Vec<u64> = files.iter().map(|(_, address)| *address).collect();
    add(&columns, "fileAddresses", BigUint64Array::from(places.as_slice()));
    let number = |file: &Rc<str>| {
        files.binary_search_by(|(known, _)| known.cmp(file)).map_or(NONE, |at| at as u32)
    };
    add(&columns, "ownFile", own.map_or(NONE, number));
    let mut functions: Map<&str, u32> = Map::new();
    let inlined: Vec<u32> = instructions
        .iter()
        .map(|(origin, _)| match &origin.inlined {
            Some(name) => {
                let next = functions.len() as u32;
                *functions.entry(&**name).or_insert(next)
            }
            None => NONE,
        })
        .collect();
    add_texts(&columns, "functions", functions.keys().copied());
    let lines_of = || instructions.iter().map(|(origin, _)| origin.line.as_ref());
    let file: Vec<u32> =
        lines_of().map(|line| line.map_or(NONE, |line| number(&line.file))).collect();
    let line: Vec<u32> = lines_of().map(|line| line.map_or(0, |line| line.line.get())).collect();
    let line_file: Vec<u32> = lines.iter().map(|(line, _)| number(&line.file)).collect();
    let whole = [
        ("inlined", inlined),
        ("file", file),
        ("line", line),
        ("lineFile", line_file),
        ("lineNumber", lines.iter().map(|(line, _)| line.line.get()).collect()),
    ];
    for (name, column) in whole {
        add(&columns, name, Uint32Array::from(column.as_slice()));
    }
    let (of_code, of_lines): (Vec<Amount>, Vec<Amount>) = (
        instructions.iter().map(|(_, amount)| *amount).collect(),
        lines.iter().map(|(_, amount)| *amount).collect(),
    );
    let amounts = [
        ("instructionSamples", "instructionWeight", of_code),
        ("lineSamples", "lineWeight", of_lines),
    ];
    for (samples, weight, rows) in amounts {
        let column = |of: fn(&Amount) -> u64| {
            let numbers: Vec<f64> = rows.iter().map(|amount| of(amount) as f64).collect();
            Float64Array::from(numbers.as_slice())
        };
        add(&columns, samples, column(|amount| amount.samples));
        add(&columns, weight, column(|amount| amount.weight));
    }
    columns
}
