//! Questions of the page: one way to ask a session all of them, and one for comparisons.

use js_sys::{Object, Reflect};
use perftab_core::session::{self, Arguments, Question, ScanStep};
use perftab_crossing::failure::Failure;
use perftab_crossing::{columns, to_js};
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

use crate::Session;

/// A question while it is answered. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct Asked(session::Asked);

#[wasm_bindgen]
impl Asked {
    /// Throws a `Failure` if there is no such question, or an argument is none.
    #[wasm_bindgen(constructor)]
    pub fn new(question: &str, arguments: JsValue) -> Result<Asked, JsValue> {
        let question = Question::read(question, &JsArguments(arguments))?;
        Ok(Self(session::Asked::new(question)))
    }

    /// True if nothing else that makes trees may go on before this does.
    #[wasm_bindgen(js_name = takesTurn)]
    pub fn takes_turn(&self, session: &Session) -> bool {
        self.0.takes_turn(&session.0)
    }

    /// Goes on for about as long as so many rows of samples take; the answer comes with the last step.
    /// Throws a `Failure` if a link has room for nothing.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer?: never } | { answer: unknown }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        step_object(self.0.step(&mut session.0, rows), |answer| match answer {
            Ok(answer) => to_js(&answer),
            Err(error) => Err(Failure::thrown("too-small", error.to_string())),
        })
    }
}

/// The properties of an object. What is left out is `undefined`, which some types may be.
pub struct JsArguments(pub JsValue);

impl Arguments for JsArguments {
    type Argument = JsValue;
    type Error = JsValue;

    fn argument(&self, name: &str) -> JsValue {
        Reflect::get(&self.0, &name.into()).unwrap_or_default()
    }

    fn read<T: DeserializeOwned>(argument: JsValue) -> Result<T, String> {
        serde_wasm_bindgen::from_value(argument).map_err(|error| error.to_string())
    }

    fn refused(what: &str, why: &str) -> JsValue {
        Failure::thrown("bad-question", format!("{what}: {why}"))
    }
}

/// A step as the worker knows it.
pub fn step_object<T>(
    step: ScanStep<T>,
    to_js: impl FnOnce(T) -> Result<JsValue, JsValue>,
) -> Result<Object, JsValue> {
    Ok(match step {
        ScanStep::More { done, total } => columns::progress(done, total),
        ScanStep::Done(answer) => columns::object(&[("answer", to_js(answer)?)]),
    })
}
