//! Images in a worker of their own: core's [`Images`](images::Images), from whose answers a session takes names.
#![forbid(unsafe_code)]

mod code;

use js_sys::{BigUint64Array, Object, Uint8Array};
use perftab_core::images::{
    self, AdmittedFile, Dso, ForcedFile, InsistedFile, MatchedNames, MatchedObjects, NameAnswer,
    NameRequest, OfferStep,
};
use perftab_core::{CompanionId, DsoId};
use perftab_crossing::columns::{self, ForceOutcome};
use perftab_crossing::names::{Asked, NO_OFFSET, add_columns, get, refused};
use perftab_crossing::source::{JsSource, Source};
use perftab_crossing::{from_js, to_js};
use perftab_perfdata::format::BuildId;
use wasm_bindgen::prelude::*;

#[wasm_bindgen(start)]
fn start() {
    perftab_crossing::begin();
}

/// All files of one profile.
#[wasm_bindgen]
pub struct Images(images::Images);

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
