//! The WebAssembly host: core's [`Session`] for a JavaScript worker, and nothing else.
//!
//! All questions go through [`asked::Asked`]; what is here besides opens, takes in names, or writes files.
//! Answers cross as plain objects whose TypeScript types are generated from the Rust ones; columns in
//! them are typed arrays. Errors are thrown as [`Failure`] objects.
#![forbid(unsafe_code)]

mod asked;
mod code;
mod compare;
mod export;
mod names;

use perftab_core::session::{self, ScanStep};
use perftab_core::{BranchDetail, DsoId, Query, SnapshotError};
use perftab_crossing::failure::{Failure, to_failure};
use perftab_crossing::source::JsSource;
use perftab_crossing::{columns, from_js};
use perftab_perfdata::decode::ByteSource;
use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};
use wasm_bindgen::prelude::*;

/// The version of perftab that this WebAssembly was built from.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

#[wasm_bindgen(start)]
fn start() {
    perftab_crossing::begin();
}

/// What a compressed file begins with inside, given its own first bytes: a recording and a binary
/// look alike from outside. Empty if it is not compressed or nothing comes out.
#[wasm_bindgen(js_name = unwrapFirst)]
pub fn unwrap_first(first_bytes: &[u8]) -> Vec<u8> {
    /// Every kind of file that is told apart says so within these; tar is the last to do so.
    const ENOUGH: usize = 272;
    let mut inside = Vec::new();
    let Some(wrapper) = Wrapper::detect(first_bytes) else { return inside };
    let mut unwrap = Unwrap::new(wrapper);
    // A little at a time: much may come out of a little, and the first of it is enough.
    for block in first_bytes.chunks(4096) {
        let result = unwrap.push(block, &mut |bytes| {
            inside.extend(bytes.iter().take(ENOUGH.saturating_sub(inside.len())));
        });
        if result.is_err() || inside.len() == ENOUGH {
            break;
        }
    }
    inside
}

/// A packed file that may hold a link or a saved page.
#[wasm_bindgen]
pub struct PackedText(perftab_core::PackedText);

#[wasm_bindgen]
impl PackedText {
    /// Of a file that begins with these bytes; nothing if it is not packed.
    pub fn begin(first_bytes: &[u8]) -> Option<PackedText> {
        perftab_core::PackedText::begin(first_bytes).map(Self)
    }

    /// Takes the next packed bytes; false as soon as neither link nor page can be in it.
    pub fn push(&mut self, block: &[u8]) -> bool {
        self.0.push(block)
    }

    /// The text, when all was pushed.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.0.finish()).into_owned()
    }
}

/// A recording that is being read.
#[wasm_bindgen]
pub struct Opening(session::Opening);

#[wasm_bindgen]
impl Opening {
    /// Reads what is needed before the records. Throws a `Failure` if it is no recording.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "Source[]")] parts: Vec<JsValue>,
    ) -> Result<Opening, JsValue> {
        opening_of(parts).map(Opening)
    }

    /// Which bytes are wanted next; null if all have been read.
    #[wasm_bindgen(unchecked_return_type = "WantedBytes | null")]
    pub fn wants(&self) -> JsValue {
        wanted(self.0.wants())
    }

    /// Bytes read so far.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> f64 {
        self.0.progress().bytes as f64
    }

    /// Bytes that there are to read.
    #[wasm_bindgen(getter)]
    pub fn total(&self) -> f64 {
        self.0.progress().total as f64
    }

    /// Samples met so far.
    #[wasm_bindgen(getter)]
    pub fn samples(&self) -> f64 {
        self.0.progress().samples as f64
    }

    /// Takes the bytes from where `wants` says on, as many or fewer; none say that there are no more.
    pub fn push(&mut self, block: &[u8]) {
        self.0.push(block);
    }

    /// What has been read so far, as a session of its own; null before the first record. Reading goes on.
    #[wasm_bindgen(js_name = soFar)]
    pub fn so_far(&self) -> Option<Session> {
        self.0.so_far().map(Session)
    }

    /// Ends the reading, early too: what has been pushed is shown.
    pub fn finish(self) -> Session {
        Session(self.0.finish())
    }
}

fn opening_of(parts: Vec<JsValue>) -> Result<session::Opening, JsValue> {
    let sources: Vec<_> =
        parts.into_iter().map(|part| JsSource::new(part.unchecked_into())).collect();
    let parts: Vec<_> = sources.iter().map(|source| source as &dyn ByteSource).collect();
    session::Opening::new(&parts).map_err(|error| to_failure(&error))
}

fn wanted(wanted: Option<session::WantedBytes>) -> JsValue {
    let Some(wanted) = wanted else { return JsValue::NULL };
    JsValue::from(columns::object(&[
        ("part", JsValue::from(wanted.part as f64)),
        ("offset", JsValue::from(wanted.offset as f64)),
        ("length", JsValue::from(wanted.length as f64)),
    ]))
}

/// Stacks being unwound from copies that were kept when the recording was read.
#[wasm_bindgen]
pub struct KeptUnwinding {
    unwinding: session::Unwinding,
}

#[wasm_bindgen]
impl KeptUnwinding {
    /// Undefined if nothing more can be unwound, or if they were not kept.
    pub fn of(session: &mut Session) -> Option<KeptUnwinding> {
        let mut unwinding = session.0.unwinding_by_taken_tables()?;
        unwinding.unwind_kept(0).map(|_| Self { unwinding })
    }

    /// Unwinds so many more samples, and says how far it is; null if that is all.
    #[wasm_bindgen(unchecked_return_type = "{ done: number; total: number } | null")]
    pub fn step(&mut self, samples: usize) -> JsValue {
        match self.unwinding.unwind_kept(samples) {
            Some(ScanStep::More { done, total }) => columns::progress(done, total).into(),
            _ => JsValue::NULL,
        }
    }

    /// The session has the stacks.
    pub fn finish(self, session: &mut Session) {
        session.0.take_unwound(self.unwinding);
    }
}

/// A recording that is read once more.
#[wasm_bindgen]
pub struct Rereading {
    replay: session::Replay,
    what: What,
}

/// What for.
enum What {
    Unwinding(session::Unwinding),
    Branches(Box<Query>, session::BranchReading<session::SummedBranches>),
}

#[wasm_bindgen]
impl Rereading {
    /// To unwind its stacks. Throws a `Failure` if what is read is no recording any more; undefined if nothing more can
    /// be unwound.
    pub fn unwinding(
        session: &mut Session,
        #[wasm_bindgen(unchecked_param_type = "Source[]")] parts: Vec<JsValue>,
    ) -> Result<Option<Rereading>, JsValue> {
        let Some(unwinding) = session.0.unwinding_by_taken_tables() else { return Ok(None) };
        let opening = opening_of(parts)?;
        let replay = opening.replay(unwinding.dumps(), unwinding.watcher());
        Ok(Some(Self { replay, what: What::Unwinding(unwinding) }))
    }

    /// For the branches that the filters of a query leave. Throws a `Failure` if there are none.
    pub fn branches(
        session: &Session,
        #[wasm_bindgen(unchecked_param_type = "Query")] query: JsValue,
        #[wasm_bindgen(unchecked_param_type = "Source[]")] parts: Vec<JsValue>,
    ) -> Result<Rereading, JsValue> {
        let query: Box<Query> = from_js(query)?;
        let reading = session.0.branches(Some(&query), BranchDetail::Runs);
        let reading = reading.map_err(|why| Failure::thrown("no-branches", why.to_owned()))?;
        let opening = opening_of(parts)?;
        let replay = opening.replay(session::StackDumps::LeftOut, reading.watcher());
        Ok(Self { replay, what: What::Branches(query, reading) })
    }

    /// Which bytes are wanted next; null if all have been read.
    #[wasm_bindgen(unchecked_return_type = "WantedBytes | null")]
    pub fn wants(&self) -> JsValue {
        wanted(self.replay.wants())
    }

    /// Bytes read so far.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> f64 {
        self.replay.progress().bytes as f64
    }

    /// Bytes that there are to read.
    #[wasm_bindgen(getter)]
    pub fn total(&self) -> f64 {
        self.replay.progress().total as f64
    }

    /// Takes the bytes from where `wants` says on, as many or fewer; none say that there are no more.
    pub fn push(&mut self, block: &[u8]) {
        self.replay.push(block);
    }

    /// Ends it: the session has the stacks or the branches. False if it has changed meanwhile, so that branches are to be
    /// read again.
    pub fn finish(self, session: &mut Session) -> bool {
        self.replay.finish();
        match self.what {
            What::Unwinding(unwinding) => {
                session.0.take_unwound(unwinding);
                true
            }
            What::Branches(query, reading) => session.0.keep_branches(&query, reading),
        }
    }
}

/// A recording or link that is open.
#[wasm_bindgen]
pub struct Session(session::Session);

#[wasm_bindgen]
impl Session {
    /// A number for all that was read, in hex: the same wherever the same bytes are read.
    pub fn digest(&self) -> String {
        format!("{:016x}", self.0.profile().digest())
    }

    /// What the machine of the recording is told of its files, as JSON.
    #[wasm_bindgen(js_name = recordedFiles)]
    pub fn recorded_files(&self) -> Result<String, JsValue> {
        self.0.recorded_files().to_json().map_err(|error| JsValue::from_str(&error.to_string()))
    }

    /// What the machine of the recording is told of processes that made code, as JSON; undefined if none did.
    #[wasm_bindgen(js_name = codeWanted)]
    pub fn code_wanted(&mut self) -> Result<Option<String>, JsValue> {
        let json = self.0.code_wanted().map(|wanted| wanted.to_json()).transpose();
        json.map_err(|error| JsValue::from_str(&error.to_string()))
    }

    /// Takes in what that machine says of their code.
    #[wasm_bindgen(js_name = takeCode)]
    pub fn take_code(&mut self, bytes: &[u8]) {
        // Why any is refused stands in the ledger.
        self.0.take_code_tables(session::code_from_bytes(bytes));
    }

    /// Takes the identity away from DSOs whose build-id was read too late, as the host of the
    /// recording sees.
    pub fn distrust(&mut self, dsos: Vec<u32>) {
        let dsos: Vec<DsoId> = dsos.into_iter().map(DsoId).collect();
        self.0.distrust(&dsos);
    }

    /// The host of the recording sees that these files did not change while it was made.
    pub fn vouch(&mut self, dsos: Vec<u32>) {
        self.0.vouch(dsos.into_iter().map(DsoId));
    }

    /// Changes whenever names do; ids of call nodes are of one generation.
    #[wasm_bindgen(getter)]
    pub fn generation(&self) -> u32 {
        self.0.generation()
    }

    /// Nobody asks for call nodes of earlier generations any more.
    #[wasm_bindgen(js_name = forgetPast)]
    pub fn forget_past(&mut self) {
        self.0.forget_past();
    }

    /// Makes what is mostly asked for first, for about as long as so many rows take; true when there is no more
    /// to do.
    #[wasm_bindgen(js_name = prepareFirst)]
    pub fn prepare_first(&mut self, rows: usize) -> bool {
        matches!(self.0.prepare_first(rows), ScanStep::Done(()))
    }

    /// Makes what was last asked of a session that shows less of the same recording, for about as long as
    /// so many rows take; true when there is no more to do.
    #[wasm_bindgen(js_name = prepareToFollow)]
    pub fn prepare_to_follow(&mut self, less: &Session, rows: usize) -> bool {
        matches!(self.0.prepare_to_follow(&less.0, rows), ScanStep::Done(()))
    }

    /// Call nodes of a session that showed less of the same recording are found in this one.
    #[wasm_bindgen(js_name = followOn)]
    pub fn follow_on(&mut self, less: Session) {
        self.0.follow_on(less.0);
    }

    /// No more links are wanted for now: what would make the next one quick is let go of.
    #[wasm_bindgen(js_name = endSharing)]
    pub fn end_sharing(&mut self) {
        self.0.end_sharing();
    }

    /// Opens the profile in a link, a text with one, or the source of a saved page. Throws a
    /// `Failure` if there is none or it cannot be read.
    #[wasm_bindgen(js_name = openLink)]
    pub fn open_link(text: &str) -> Result<Session, JsValue> {
        let opened = match perftab_core::find_payload(text.as_bytes()) {
            Some(carried) => session::Session::from_carried(carried),
            None => Err(SnapshotError::NotASnapshot),
        };
        match opened {
            Ok(session) => Ok(Self(session)),
            Err(error) => Err(Failure::thrown(error.name(), error.to_string())),
        }
    }
}
