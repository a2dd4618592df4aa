//! What a session asks the images of its files, and takes in of what they say.

use js_sys::{BigUint64Array, Object, Uint8Array};
use perftab_core::DsoId;
use perftab_core::images::{
    CodeTable, Dso, ForcedAddresses, ForcedFile, MatchedNames, MatchedObjects, NameAnswer,
    NameRequest, UnwindTables,
};
use perftab_core::session::{DataRequest, OfferReport, ScanStep};
use perftab_crossing::columns::{self, ForceOutcome};
use perftab_crossing::failure::Failure;
use perftab_crossing::names::{
    Answered, Asked, Identified, Insisted, NO_OFFSET, get, read_columns, refused,
};
use perftab_crossing::{from_js, to_js};
use perftab_perfdata::format::perftab_section::EmbeddedFile;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::Session;

#[wasm_bindgen]
impl Session {
    /// What images need to know of this profile.
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

    /// Files that travelled in the recording, to be offered like those that are given. There are none the second time.
    #[wasm_bindgen(
        js_name = takeEmbeddedFiles,
        unchecked_return_type = "{ name: string; bytes: Uint8Array<ArrayBuffer> }[]"
    )]
    pub fn take_embedded_files(&mut self) -> Vec<Object> {
        let object = |file: EmbeddedFile| {
            let bytes = Uint8Array::from(&*file.bytes);
            columns::object(&[("name", file.shown_name().into()), ("bytes", bytes.into())])
        };
        self.0.take_embedded_files().into_iter().map(object).collect()
    }

    /// Whether unwind tables tell more of stacks than was recorded.
    #[wasm_bindgen(getter, js_name = asksForUnwindTables)]
    pub fn asks_for_unwind_tables(&self) -> bool {
        self.0.profile().asks_for_unwind_tables()
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

    /// What became of something that was tried for a DSO, for its row of the ledger.
    #[wasm_bindgen(js_name = noteAttempt)]
    pub fn note_attempt(&mut self, dso: u32, what: &str, outcome: &str) {
        self.0.note_attempt(DsoId(dso), what, outcome);
    }

    /// Takes forced names away again; those that came with a link stay.
    pub fn unforce(&mut self, dso: u32) {
        self.0.unforce(DsoId(dso));
    }
}
