//! Links, a step at a time.

use js_sys::Object;
use perftab_core::session::{self, Scan};
use wasm_bindgen::prelude::*;

use crate::failure::Failure;
use crate::time::step_object;
use crate::{Session, to_js};

#[wasm_bindgen]
impl Session {
    /// Begins to make a link's payload; [`ShareScan::step`] goes on with it. Throws a `Failure` if a
    /// pattern cannot rename.
    pub fn share(
        &self,
        #[wasm_bindgen(unchecked_param_type = "ShareOptions")] options: JsValue,
    ) -> Result<ShareScan, JsValue> {
        let options = serde_wasm_bindgen::from_value(options)
            .map_err(|error| Failure::thrown("bad-options", error.to_string()))?;
        Ok(ShareScan(self.0.begin_share(options)))
    }

    /// No more links are wanted for now: what would make the next one quick is let go of.
    #[wasm_bindgen(js_name = endSharing)]
    pub fn end_sharing(&mut self) {
        self.0.end_sharing();
    }
}

/// A link to be. Whoever wants no more of it frees it.
#[wasm_bindgen]
pub struct ShareScan(session::ShareWork);

#[wasm_bindgen]
impl ShareScan {
    /// Goes on for about as long as so many rows of samples take; the answer comes with the last step.
    /// Throws a `Failure` if nothing fits.
    #[wasm_bindgen(
        unchecked_return_type = "{ done: number; total: number; answer: SharedLink | null }"
    )]
    pub fn step(&mut self, session: &mut Session, rows: usize) -> Result<Object, JsValue> {
        step_object(self.0.step(&mut session.0, rows), |made| match made {
            Ok(shared) => to_js(&shared),
            Err(error) => Err(Failure::thrown("too-small", error.to_string())),
        })
    }
}
