//! Names, and what else crosses between a session and its images, as objects that can be posted.
//!
//! What a session is told comes from another worker, so nothing of it is taken for what it should be:
//! columns that cannot be read name nothing.

use std::num::NonZeroU32;
use std::rc::Rc;

use js_sys::{Object, Reflect, Uint8Array, Uint32Array};
use perftab_core::images::{
    AddressNames, FileNumber, FunctionNumber, LostInlines, NamedLevel, Ticket,
};
use perftab_core::{DsoId, ForceError, Identity, NamingDepth};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use crate::columns::{self, ForceOutcome, NONE};

#[wasm_bindgen(typescript_custom_section)]
const CROSSING: &str = "
/** All that images need to know of a profile: only they read it. */
export type DsoTable = { readonly isDsoTable: true };
/** What files turned out to be: only a session reads it. */
export type Findings = { readonly areFindings: true };

/** A slice of the addresses of a DSO. */
export interface NameRequest {
  ticket: number;
  dso: number;
  depth: string;
  first: number;
  rest: number;
  addresses: BigUint64Array<ArrayBuffer>;
}

/** Texts behind each other in UTF-8, and where each ends; then columns: a length for each address, and its levels. */
interface NameColumns {
  functionTexts: Uint8Array;
  functionEnds: Uint32Array;
  fileTexts: Uint8Array;
  fileEnds: Uint32Array;
  lengths: Uint32Array;
  /** 0xffffffff for none. */
  functions: Uint32Array;
  files: Uint32Array;
  /** 0 for none. */
  lines: Uint32Array;
}

/** What is said of a slice. Without an identity nothing is. */
export interface NameAnswer extends Partial<NameColumns> {
  ticket: number;
  first: number;
  identity: unknown;
  lost: unknown;
}

/** How stacks are unwound in a DSO: only a session reads it. */
export interface UnwindTables {
  identity: unknown;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Addresses of the data of a DSO. */
export interface DataRequest {
  dso: number;
  addresses: BigUint64Array<ArrayBuffer>;
}

/** What is said of them: only a session reads it. */
export interface DataAnswer extends NameColumns {
  identity: unknown;
  offsets: BigUint64Array<ArrayBuffer>;
}

/** The names of a file that the user insists on. */
export interface ForcedFile extends NameColumns {
  name: string;
  found: unknown;
}
";

/// What of a request is no column.
#[derive(Serialize, Deserialize)]
pub struct Asked {
    /// Which question it is.
    pub ticket: Ticket,
    /// Of which addresses are asked.
    pub dso: DsoId,
    /// How much is wanted.
    pub depth: NamingDepth,
    /// The first of the slice, by number.
    pub first: u32,
    /// How many come after it.
    pub rest: u32,
}

/// What of an answer is no column.
#[derive(Deserialize)]
pub struct Answered {
    /// The question.
    pub ticket: Ticket,
    /// The first of the slice, by number.
    pub first: u32,
    /// That of the file that says it; without one nothing is said.
    pub identity: Option<Identity>,
    /// What is not known of inlined functions.
    pub lost: Option<LostInlines>,
}

/// What of tables is not their bytes, and of answers no column.
#[derive(Deserialize)]
pub struct Identified {
    /// That of the file that says it.
    pub identity: Identity,
}

/// What of a forced file is no column.
#[derive(Deserialize)]
pub struct Insisted {
    /// Its name.
    pub name: String,
    /// What it is.
    pub found: Option<Identity>,
}

/// A file on which the user insists is of no use.
pub fn refused(reason: ForceError) -> ForceOutcome {
    ForceOutcome::Refused { message: reason.to_string(), reason }
}

/// Of a function: no object is as large.
pub const NO_OFFSET: u64 = u64::MAX;

/// Adds `NameColumns` to an object.
pub fn add_columns(object: &Object, names: &AddressNames) {
    let (texts, ends) = columns::joined(names.functions.iter().map(String::as_str));
    columns::add(object, "functionTexts", texts);
    columns::add(object, "functionEnds", ends);
    let (texts, ends) = columns::joined(names.files.iter().map(Rc::as_ref));
    columns::add(object, "fileTexts", texts);
    columns::add(object, "fileEnds", ends);
    columns::add(object, "lengths", Uint32Array::from(names.lengths.as_slice()));
    let column = |of: fn(&NamedLevel) -> u32| {
        let numbers: Vec<u32> = names.levels.iter().map(of).collect();
        Uint32Array::from(numbers.as_slice())
    };
    columns::add(object, "functions", column(|it| it.function.map_or(NONE, |number| number.0)));
    columns::add(object, "files", column(|it| it.file.map_or(NONE, |number| number.0)));
    columns::add(object, "lines", column(|it| it.line.map_or(0, NonZeroU32::get)));
}

/// `None` if they are not columns of one length, or no texts.
pub fn read_columns(object: &JsValue) -> Option<AddressNames> {
    let numbers = |name: &str| Some(get(object, name).dyn_ref::<Uint32Array>()?.to_vec());
    let texts = |name: &str, ends: &str| {
        let bytes = get(object, name).dyn_ref::<Uint8Array>()?.to_vec();
        split(&String::from_utf8(bytes).ok()?, &numbers(ends)?)
    };
    let some = |number: u32| Some(number).filter(|&number| number != NONE);
    let [functions, files, lines] = [numbers("functions")?, numbers("files")?, numbers("lines")?];
    if functions.len() != files.len() || functions.len() != lines.len() {
        return None;
    }
    let levels =
        functions.iter().zip(files).zip(lines).map(|((&function, file), line)| NamedLevel {
            function: some(function).map(FunctionNumber),
            file: some(file).map(FileNumber),
            line: NonZeroU32::new(line),
        });
    Some(AddressNames {
        functions: texts("functionTexts", "functionEnds")?,
        files: texts("fileTexts", "fileEnds")?.into_iter().map(Rc::from).collect(),
        lengths: numbers("lengths")?,
        levels: levels.collect(),
    })
}

/// Texts of columns; `None` if they are not there.
fn split(all: &str, ends: &[u32]) -> Option<Vec<String>> {
    let mut start = 0;
    let text = |&end: &u32| {
        let text = all.get(start..end as usize)?;
        start = end as usize;
        Some(text.to_owned())
    };
    ends.iter().map(text).collect()
}

/// A property; undefined if there is none.
pub fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from(name)).unwrap_or_default()
}
