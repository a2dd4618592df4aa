//! A WebAssembly module of its own for what few look at and nothing else needs: the page carries it behind everything
//! else and begins it when somebody looks at code.
#![forbid(unsafe_code)]

use perftab_images::{FunctionCode, Machine, Svma};
use perftab_listing::instructions::{Instruction, Instructions, Syntax};
use perftab_listing::source::{self, Noted, Written};
use wasm_bindgen::prelude::*;

/// In the column of targets: the instruction leads nowhere.
const NO_TARGET: u64 = u64::MAX;

/// The instructions of a function, and of those that were gone through their texts.
#[wasm_bindgen]
pub struct Code {
    instructions: Instructions,
    syntax: Syntax,
    texts: String,
    ends: Vec<u32>,
    targets: Vec<u64>,
    references: Vec<u64>,
    ways: Vec<u8>,
}

#[wasm_bindgen]
impl Code {
    /// Of some code and where it begins in its file's own addresses, in a syntax for x86, "intel" or "att"; undefined for a
    /// machine or a syntax that is not known.
    pub fn decode(machine: &str, start_in_file: u64, bytes: Vec<u8>, syntax: &str) -> Option<Code> {
        let machine = Machine::from_name(machine)?;
        let syntax = Syntax::from_name(syntax)?;
        let code = FunctionCode { machine, start: 0, start_in_file: Svma(start_in_file), bytes };
        let instructions = Instructions::of(code);
        Some(Self {
            instructions,
            syntax,
            texts: String::new(),
            ends: Vec::new(),
            targets: Vec::new(),
            references: Vec::new(),
            ways: Vec::new(),
        })
    }

    /// Where each begins in the code.
    #[wasm_bindgen(getter)]
    pub fn starts(&self) -> Vec<u32> {
        self.instructions.starts().to_vec()
    }

    /// Makes the texts of so many more; true when all have one.
    pub fn step(&mut self, most: usize) -> bool {
        let from = self.ends.len();
        let to = from.saturating_add(most).min(self.instructions.len());
        for number in from..to {
            let found = self.instructions.instruction_in(self.syntax, number);
            self.add(found.as_ref());
        }
        to == self.instructions.len()
    }

    /// Makes the text of the one around a place in the code: empty if there is none.
    #[wasm_bindgen(js_name = addAround)]
    pub fn add_around(&mut self, place: u64) {
        let number = self.instructions.number_around(place);
        let found = number.and_then(|it| self.instructions.instruction_in(self.syntax, it));
        self.add(found.as_ref());
    }

    fn add(&mut self, found: Option<&Instruction>) {
        let target = found.and_then(|found| found.target);
        self.targets.push(target.map_or(NO_TARGET, |target| target.0));
        let refers = found.and_then(|found| found.refers);
        self.references.push(refers.map_or(NO_TARGET, |refers| refers.at.0));
        self.ways.push(refers.map_or(0, |refers| refers.way.number()));
        self.texts.push_str(found.map_or("", |found| &found.text));
        self.ends.push(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
    }

    /// The texts behind each other in UTF-8: empty for bytes that are no instruction.
    #[wasm_bindgen(getter)]
    pub fn texts(&self) -> Vec<u8> {
        self.texts.as_bytes().to_vec()
    }

    /// Where each text ends.
    #[wasm_bindgen(getter)]
    pub fn ends(&self) -> Vec<u32> {
        self.ends.clone()
    }

    /// What each jumps to or calls, in the file's own addresses; all bits where it does neither.
    #[wasm_bindgen(getter)]
    pub fn targets(&self) -> Vec<u64> {
        self.targets.clone()
    }

    /// What each refers to besides, in the same way …
    #[wasm_bindgen(getter)]
    pub fn references(&self) -> Vec<u64> {
        self.references.clone()
    }

    /// … and the number of what it does with that.
    #[wasm_bindgen(getter)]
    pub fn ways(&self) -> Vec<u8> {
        self.ways.clone()
    }
}

/// Why a source file is not the one that was compiled; undefined if nothing speaks against it. `md5` is what the compiler
/// noted, and empty if it noted none.
#[wasm_bindgen(js_name = otherSource)]
pub fn other_source(content: &[u8], md5: &[u8]) -> Option<String> {
    // When it was written in which of two places, nobody knows here.
    let noted = Noted { md5: md5.try_into().ok(), written: Written::BeforeBinary };
    source::check(content, [noted]).err().map(|why| why.to_string())
}
