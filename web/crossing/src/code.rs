//! Code with what ended in it, as columns.

use std::rc::Rc;

use js_sys::{Array, BigUint64Array, Float64Array, Object, Uint32Array};
use perftab_core::session::{Amount, AnnotatedCode};
use perftab_perfdata::map::Map;
use wasm_bindgen::prelude::*;

use crate::columns::{NONE, add, add_texts, object};

#[wasm_bindgen(typescript_custom_section)]
const CODE: &str = r#"
/** The code of a function: where it begins as frames have it, and in the file's own addresses. */
export interface FunctionCode {
  machine: string;
  start: bigint;
  startInFile: bigint;
  bytes: Uint8Array;
  from: CodeFrom;
}

/** What has its bytes: a file, or a copy of a kernel's memory, which says what ran. */
export type CodeFrom = "file" | "memory";

/** Code in a jitdump: from where to where, and where it began when it was made. */
export interface MadeCode {
  file: string;
  /** Of the process that made it, as it was recorded. */
  pid: number | undefined;
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
"#;

/// Rows of heat, each of an address.
pub fn heat_of(addresses: &[u64], samples: &[f64], weights: &[f64]) -> Vec<(u64, Amount)> {
    let heat = addresses.iter().zip(samples).zip(weights);
    heat.map(|((&address, &samples), &weight)| {
        (address, Amount { samples: samples as u64, weight: weight as u64 })
    })
    .collect()
}

/// As an object; `md5` says what was noted for a file, given a place in the code that is of it.
pub fn object_of(code: &AnnotatedCode, md5: impl Fn(&(Rc<str>, u64)) -> JsValue) -> Object {
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
