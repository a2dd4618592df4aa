//! Images in a worker of their own: core's [`Images`](images::Images), and what crosses between it
//! and a session as objects that can be posted.
//!
//! What a session is told comes from another worker, so nothing of it is taken for what it should be:
//! columns that cannot be read name nothing.

use std::num::NonZeroU32;
use std::rc::Rc;

use js_sys::{BigUint64Array, Object, Reflect, Uint8Array, Uint32Array};
use perftab_core::images::{
    self, AddressNames, AdmittedFile, CodeTable, Dso, FileNumber, ForcedAddresses, ForcedFile,
    FunctionNumber, InsistedFile, LostInlines, MatchedNames, MatchedObjects, NameAnswer,
    NameRequest, NamedLevel, OfferStep, Ticket, UnwindTables,
};
use perftab_core::session::{DataRequest, OfferReport, ScanStep};
use perftab_core::{CompanionId, DsoId, ForceError, Identity, NamingDepth};
use perftab_perfdata::format::BuildId;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::*;

use crate::columns::{self, ForceOutcome, NONE};
use crate::failure::Failure;
use crate::source::{JsSource, Source};
use crate::{Session, from_js, to_js};

#[wasm_bindgen(typescript_custom_section)]
const CROSSING: &str = "
/** All that images need to know of a profile: only they read it. */
export type DsoTable = { readonly dsoTable: unique symbol };
/** What files turned out to be: only a session reads it. */
export type Findings = { readonly findings: unique symbol };

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

/// All files of one profile.
#[wasm_bindgen]
pub struct Images(pub(crate) images::Images);

#[wasm_bindgen]
impl Images {
    /// For the profile whose table this is.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "DsoTable")] table: JsValue,
    ) -> Result<Images, JsValue> {
        let dsos: Vec<Dso> = from_js(table)?;
        Ok(Self(images::Images::new(dsos.into_iter().collect())))
    }

    /// What files turned out to be since this was asked last; null for nothing.
    #[wasm_bindgen(js_name = takeFindings, unchecked_return_type = "Findings | null")]
    pub fn take_findings(&mut self) -> Result<JsValue, JsValue> {
        let findings = self.0.take_findings();
        if findings.is_empty() { Ok(JsValue::NULL) } else { to_js(&findings) }
    }

    /// Names addresses.
    #[wasm_bindgen(unchecked_return_type = "NameAnswer")]
    pub fn name(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "NameRequest")] request: JsValue,
    ) -> Result<Object, JsValue> {
        let addresses = get(&request, "addresses");
        let addresses = addresses.dyn_ref::<BigUint64Array>().map(BigUint64Array::to_vec);
        let Asked { ticket, dso, depth, first, rest } = from_js(request)?;
        let addresses = addresses.unwrap_or_default();
        let request = NameRequest { ticket, dso, depth, first, addresses, rest };
        let NameAnswer { ticket, first, names, lost } = self.0.name(&request);
        let identity = names.as_ref().map(|names| names.identity);
        let answer = columns::object(&[
            ("ticket", to_js(&ticket)?),
            ("first", JsValue::from(first)),
            ("identity", to_js(&identity)?),
            ("lost", to_js(&lost)?),
        ]);
        if let Some(MatchedNames { names, .. }) = names {
            add_columns(&answer, &names);
        }
        Ok(answer)
    }

    /// Names data; null if no file of the DSO does.
    #[wasm_bindgen(js_name = nameObjects, unchecked_return_type = "DataAnswer | null")]
    pub fn name_objects(&self, dso: u32, addresses: BigUint64Array) -> Result<JsValue, JsValue> {
        let Some(answer) = self.0.name_objects(DsoId(dso), &addresses.to_vec()) else {
            return Ok(JsValue::NULL);
        };
        let MatchedObjects { identity, names, offsets } = answer;
        let offsets: Vec<u64> = offsets.iter().map(|offset| offset.unwrap_or(NO_OFFSET)).collect();
        let answer = columns::object(&[("identity", to_js(&identity)?)]);
        columns::add(&answer, "offsets", BigUint64Array::from(offsets.as_slice()));
        add_columns(&answer, &names);
        Ok(answer.into())
    }

    /// What files say of the code of processes, since this was asked last. Their report has them as not
    /// used: a session decides.
    #[wasm_bindgen(js_name = takeCodeTables)]
    pub fn take_code_tables(&mut self) -> Vec<Uint8Array> {
        let tables = self.0.take_code_tables();
        tables.iter().map(|table| Uint8Array::from(table.to_bytes().as_slice())).collect()
    }

    /// What the debug information of files names, and naming wanted, and is not here: by the build that names it, and an
    /// id that says of what kind it is.
    #[wasm_bindgen(js_name = wantedCompanions, unchecked_return_type = "{ build: string; id: string }[]")]
    pub fn wanted_companions(&self) -> Vec<Object> {
        let object = |(build, id): (BuildId, CompanionId)| {
            let text = |text: String| JsValue::from(text);
            columns::object(&[("build", text(build.to_string())), ("id", text(id.to_string()))])
        };
        self.0.wanted_companions().into_iter().map(object).collect()
    }

    /// Whether a file tells how stacks are unwound in a DSO.
    #[wasm_bindgen(js_name = hasUnwindTables)]
    pub fn has_unwind_tables(&self, dso: u32) -> bool {
        self.0.unwind_tables(DsoId(dso)).is_some()
    }

    /// How stacks are unwound in a DSO; null if no file tells.
    #[wasm_bindgen(js_name = unwindTables, unchecked_return_type = "UnwindTables | null")]
    pub fn unwind_tables(&self, dso: u32) -> Result<JsValue, JsValue> {
        let Some(tables) = self.0.unwind_tables(DsoId(dso)) else { return Ok(JsValue::NULL) };
        let bytes = Uint8Array::from(tables.to_bytes().as_slice());
        let identity = to_js(&tables.identity())?;
        Ok(columns::object(&[("identity", identity), ("bytes", bytes.into())]).into())
    }

    /// Names a DSO from a file that does not match, because the user insists: what a session is told
    /// then. A file that turns out to match is admitted instead, and one of no use is refused.
    #[wasm_bindgen(
        unchecked_return_type = "{ forced: ForcedFile; outcome?: never } | { forced?: never; outcome: ForceOutcome }"
    )]
    pub fn insist(
        &mut self,
        dso: u32,
        addresses: BigUint64Array,
        name: &str,
        source: Source,
    ) -> Result<Object, JsValue> {
        let source = Box::new(JsSource::new(source));
        let outcome = match self.0.insist(DsoId(dso), &addresses.to_vec(), name, source) {
            Ok(InsistedFile::Forced(ForcedFile { name, found, names })) => {
                let found = to_js(&found)?;
                let forced = columns::object(&[("name", JsValue::from(name)), ("found", found)]);
                add_columns(&forced, &names.names);
                return Ok(columns::object(&[("forced", JsValue::from(forced))]));
            }
            Ok(InsistedFile::Matched(AdmittedFile { dsos, gives })) => {
                let dsos = dsos.iter().map(|dso| dso.0).collect();
                ForceOutcome::Matched { dsos, gives }
            }
            Err(reason) => refused(reason),
        };
        Ok(columns::object(&[("outcome", to_js(&outcome)?)]))
    }
}

/// A file on its way into images.
#[wasm_bindgen]
pub struct Offer(images::Offer);

#[wasm_bindgen]
impl Offer {
    /// Offers a file of any kind, packed or an archive too; [`Offer::step`] goes through it. What is
    /// refused comes back as a refusal, not as an error.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, source: Source) -> Offer {
        Self(images::Offer::new(name, Box::new(JsSource::new(source))))
    }

    /// Goes on until about so many bytes were read or unpacked; the report comes with the last
    /// step. Whoever wants no more of it frees the offer: what was used stays used.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; report: OfferReport | null }"
    )]
    pub fn step(&mut self, images: &mut Images, bytes: usize) -> Result<JsValue, JsValue> {
        let (done, total, report) = match self.0.step(&mut images.0, bytes) {
            OfferStep::More { done, total } => (done, total, JsValue::NULL),
            OfferStep::Done(report) => (0, 0, to_js(&report)?),
        };
        Ok(JsValue::from(columns::object(&[
            ("done", JsValue::from(done as f64)),
            ("total", JsValue::from(total as f64)),
            ("report", report),
        ])))
    }
}

#[wasm_bindgen]
impl Session {
    /// What [`Images`] need to know of this profile.
    #[wasm_bindgen(js_name = dsoTable, unchecked_return_type = "DsoTable")]
    pub fn dso_table(&self) -> Result<JsValue, JsValue> {
        let dsos: Vec<&Dso> = self.0.profile().dsos.iter().map(|(_, dso)| dso).collect();
        // Addresses of kernels need all of their 64 bits.
        let exact = serde_wasm_bindgen::Serializer::json_compatible()
            .serialize_large_number_types_as_bigints(true);
        dsos.serialize(&exact).map_err(|error| Failure::internal(error.to_string()))
    }

    /// Takes in what files turned out to be.
    #[wasm_bindgen(js_name = takeFindings)]
    pub fn take_findings(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Findings")] findings: JsValue,
    ) -> Result<(), JsValue> {
        self.0.take_findings(from_js(findings)?);
        Ok(())
    }

    /// Decides on what files say of the code of processes: of each what became of it.
    #[wasm_bindgen(js_name = takeCodeTables, unchecked_return_type = "OfferReport")]
    pub fn take_code_tables(&mut self, tables: Vec<Uint8Array>) -> Result<JsValue, JsValue> {
        let mut report = OfferReport::default();
        let tables = tables.iter().filter_map(|bytes| CodeTable::from_bytes(&bytes.to_vec()));
        let tables: Vec<CodeTable> = tables.collect();
        let names: Vec<String> = tables.iter().map(|table| table.name.clone()).collect();
        for (name, decided) in names.iter().zip(self.0.take_code_tables(tables)) {
            report.take(name, decided);
        }
        to_js(&report)
    }

    /// Asks for the names of the next addresses, at most so many; null if all were asked for.
    #[wasm_bindgen(js_name = askNames, unchecked_return_type = "NameRequest | null")]
    pub fn ask_names(&mut self, most: usize) -> Result<JsValue, JsValue> {
        let Some(request) = self.0.ask_names(most) else { return Ok(JsValue::NULL) };
        let NameRequest { ticket, dso, depth, first, addresses, rest } = request;
        let asked = to_js(&Asked { ticket, dso, depth, first, rest })?;
        let addresses = BigUint64Array::from(addresses.as_slice());
        columns::add(asked.unchecked_ref::<Object>(), "addresses", addresses);
        Ok(asked)
    }

    /// Takes in what is said of addresses; views have it after `showNames`.
    #[wasm_bindgen(js_name = takeNames)]
    pub fn take_names(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "NameAnswer")] answer: JsValue,
    ) -> Result<(), JsValue> {
        let names = read_columns(&answer);
        let Answered { ticket, first, identity, lost } = from_js(answer)?;
        let names = identity.zip(names);
        let names = names.map(|(identity, names)| MatchedNames { identity, names });
        self.0.take_names(&NameAnswer { ticket, first, names, lost });
        Ok(())
    }

    /// Looks up where accessed data lay, for about as long as so many rows take; true when there is no more to do.
    #[wasm_bindgen(js_name = lookUpData)]
    pub fn look_up_data(&mut self, rows: usize) -> bool {
        matches!(self.0.look_up_some_data(rows), ScanStep::Done(()))
    }

    /// Asks for the names of data that was looked up, where a file has come since that was asked last; null if that
    /// is all.
    #[wasm_bindgen(js_name = askData, unchecked_return_type = "DataRequest | null")]
    pub fn ask_data(&mut self) -> JsValue {
        let Some(DataRequest { dso, addresses }) = self.0.ask_data() else { return JsValue::NULL };
        let addresses = BigUint64Array::from(addresses.as_slice());
        columns::object(&[("dso", dso.0.into()), ("addresses", addresses.into())]).into()
    }

    /// Takes in what is said of addresses that were asked for.
    #[wasm_bindgen(js_name = takeData)]
    pub fn take_data(
        &mut self,
        dso: u32,
        addresses: BigUint64Array,
        #[wasm_bindgen(unchecked_param_type = "DataAnswer")] answer: JsValue,
    ) -> Result<(), JsValue> {
        let names = read_columns(&answer);
        let offsets = get(&answer, "offsets");
        let offsets = offsets.dyn_ref::<BigUint64Array>().map(BigUint64Array::to_vec);
        let Identified { identity } = from_js(answer)?;
        if let (Some(names), Some(offsets)) = (names, offsets) {
            let offset = |offset: u64| Some(offset).filter(|&offset| offset != NO_OFFSET);
            let offsets = offsets.into_iter().map(offset).collect();
            let answer = MatchedObjects { identity, names, offsets };
            self.0.take_data(DsoId(dso), &addresses.to_vec(), &answer);
        }
        Ok(())
    }

    /// Whether samples have copies of their stacks.
    #[wasm_bindgen(getter, js_name = hasStackDumps)]
    pub fn has_stack_dumps(&self) -> bool {
        self.0.profile().stack_dumps > 0
    }

    /// The DSOs of which files have come that may tell how stacks are unwound, where there are stacks for it.
    pub fn unwindable(&self) -> Vec<u32> {
        self.0.unwindable().iter().map(|dso| dso.0).collect()
    }

    /// Whether callers are guessed where files do not tell, from the next time on that stacks are unwound.
    #[wasm_bindgen(js_name = guessCallers)]
    pub fn guess_callers(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "CallerGuesses")] guesses: JsValue,
    ) -> Result<(), JsValue> {
        self.0.guess_callers(from_js(guesses)?);
        Ok(())
    }

    /// Takes in how stacks are unwound in a DSO; null if its files do not tell.
    #[wasm_bindgen(js_name = takeUnwindTables)]
    pub fn take_unwind_tables(
        &mut self,
        dso: u32,
        #[wasm_bindgen(unchecked_param_type = "UnwindTables | null")] tables: JsValue,
    ) -> Result<(), JsValue> {
        let bytes = get(&tables, "bytes").dyn_ref::<Uint8Array>().map(Uint8Array::to_vec);
        let identified: Option<Identified> = from_js(tables)?;
        let tables = identified.zip(bytes);
        let tables = tables.and_then(|(it, bytes)| UnwindTables::from_bytes(it.identity, &bytes));
        self.0.take_unwind_tables(DsoId(dso), tables);
        Ok(())
    }

    /// Makes what views show now once more, of the names that were taken in, for about as long as so many
    /// rows take; true when there is no more to do. Views are answered as before meanwhile.
    #[wasm_bindgen(js_name = prepareNames)]
    pub fn prepare_names(&mut self, rows: usize) -> bool {
        matches!(self.0.prepare_names(rows), ScanStep::Done(()))
    }

    /// Views show the names that were taken in.
    #[wasm_bindgen(js_name = showNames)]
    pub fn show_names(&mut self) {
        self.0.show_names();
    }

    /// Nothing more is said of what was asked: the worker with the files is gone.
    #[wasm_bindgen(js_name = loseNames)]
    pub fn lose_names(&mut self, why: &str) {
        self.0.lose_names(why);
    }

    /// How far naming is.
    #[wasm_bindgen(js_name = namingProgress, unchecked_return_type = "{ done: number; total: number }")]
    pub fn naming_progress(&self) -> Object {
        let progress = self.0.naming_progress();
        columns::progress(progress.done, progress.total)
    }

    /// Where the code of a DSO lies that a file may name on which the user insists.
    #[wasm_bindgen(unchecked_return_type = "BigUint64Array<ArrayBuffer>")]
    pub fn forceable(&self, dso: u32) -> BigUint64Array {
        BigUint64Array::from(self.0.forceable(DsoId(dso)).unwrap_or_default().as_slice())
    }

    /// Takes in the names of a file that the user insists on. Every name is marked.
    #[wasm_bindgen(js_name = takeForced, unchecked_return_type = "ForceOutcome")]
    pub fn take_forced(
        &mut self,
        dso: u32,
        #[wasm_bindgen(unchecked_param_type = "ForcedFile")] forced: JsValue,
    ) -> Result<JsValue, JsValue> {
        let names = ForcedAddresses { names: read_columns(&forced).unwrap_or_default() };
        let Insisted { name, found } = from_js(forced)?;
        let file = ForcedFile { name, found, names };
        to_js(&match self.0.take_forced(DsoId(dso), &file) {
            Ok(frames) => ForceOutcome::Forced { frames },
            Err(reason) => refused(reason),
        })
    }

    /// Takes forced names away again; those that came with a link stay.
    pub fn unforce(&mut self, dso: u32) {
        self.0.unforce(DsoId(dso));
    }
}

/// What of a request is no column.
#[derive(Serialize, Deserialize)]
struct Asked {
    ticket: Ticket,
    dso: DsoId,
    depth: NamingDepth,
    first: u32,
    rest: u32,
}

/// What of an answer is no column.
#[derive(Deserialize)]
struct Answered {
    ticket: Ticket,
    first: u32,
    identity: Option<Identity>,
    lost: Option<LostInlines>,
}

/// What of tables is not their bytes, and of answers no column.
#[derive(Deserialize)]
struct Identified {
    identity: Identity,
}

/// What of a forced file is no column.
#[derive(Deserialize)]
struct Insisted {
    name: String,
    found: Option<Identity>,
}

fn refused(reason: ForceError) -> ForceOutcome {
    ForceOutcome::Refused { message: reason.to_string(), reason }
}

/// Of a function: no object is as large.
const NO_OFFSET: u64 = u64::MAX;

fn add_columns(object: &Object, names: &AddressNames) {
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
fn read_columns(object: &JsValue) -> Option<AddressNames> {
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

fn get(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from(name)).unwrap_or_default()
}
