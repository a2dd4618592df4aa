//! Instructions as text, with the names of what they lead to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use perftab_core::session::{MadeCodePlace, Session};
use perftab_core::{
    DataReference, DsoId, FunctionCode, HotPlace, PlaceTexts, Svma, without_parameters,
};
use perftab_listing::instructions::{self, Instruction, Syntax};
use perftab_perfdata::decode::{ByteSource, SliceSource};
use perftab_perfdata::format::perftab_section::EmbeddedFile;

use crate::file_source::FileSource;
use crate::images::local::open_regular;

/// How many addresses were asked for, and stay without an instruction.
#[derive(Default)]
pub struct InstructionCounts {
    pub asked: usize,
    pub missing: usize,
}

/// Reads the instructions of all places, which are in order.
pub fn read(session: &Session, places: &[HotPlace], texts: &mut PlaceTexts) -> InstructionCounts {
    let mut read = InstructionCounts::default();
    let mut function: Option<Instructions> = None;
    let mut before = None;
    for place in places {
        let at = (place.dso, place.address);
        let is_known = texts.instruction(place.dso, place.address).is_some();
        if before.replace(at) == Some(at) || is_known {
            continue;
        }
        read.asked += 1;
        if !function.as_ref().is_some_and(|code| code.has(place.dso, place.address)) {
            function = Instructions::in_memory(session, place.dso, place.address)
                .or_else(|| Instructions::at(session, place.dso, place.address))
                .or_else(|| Instructions::made(session, place.dso, place.address));
        }
        let text = function.as_ref().and_then(|code| {
            let number = code.number_around(place.address)?;
            // What it refers to may be a text of the program, which nobody chose to tell.
            code.text(session, number)
        });
        match text {
            Some(text) => texts.add_instruction(place.dso, place.address, &text),
            None => read.missing += 1,
        }
    }
    read
}

/// The instructions of a function of a DSO.
pub struct Instructions {
    dso: DsoId,
    of: instructions::Instructions,
    /// Names of what instructions lead to: most lead to the same, and names take long to be made.
    names: RefCell<BTreeMap<Svma, Option<String>>>,
    /// The same of what they refer to.
    referred: RefCell<BTreeMap<DataReference, Option<String>>>,
}

/// How functions are called that instructions lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameForm {
    /// With their parameters, where their names have these.
    Whole,
    /// Without, as perf writes them.
    Short,
}

impl NameForm {
    /// A name of a function, and how far behind its start a place is, in this form.
    fn of(self, name: String) -> String {
        let parts = name.rsplit_once("+0x").filter(|(_, within)| !within.contains([' ', ')']));
        match (self, parts) {
            (Self::Whole, _) => name,
            (Self::Short, None) => without_parameters(&name).to_owned(),
            (Self::Short, Some((name, within))) => {
                format!("{}+0x{within}", without_parameters(name))
            }
        }
    }
}

/// An instruction as it is shown.
pub struct ShownInstruction {
    /// As [`Instructions::text`] has it.
    pub text: String,
    /// What it refers to besides: a name, a text in quotes, or both.
    pub refers_to: Option<String>,
}

impl Instructions {
    /// Those of the function at an address, as frames have it; `None` if no file with the recorded build-id has them.
    pub fn at(session: &Session, dso: DsoId, address: u64) -> Option<Self> {
        Some(Self::of(dso, session.function_code(dso, address)?))
    }

    /// Those that a process made and wrote into its jitdump, which has to be in the recording or where it was read.
    pub fn made(session: &Session, dso: DsoId, address: u64) -> Option<Self> {
        let MadeCodePlace { file, machine, bytes, made_at, .. } =
            session.made_code(dso, address)?;
        let is_it = |embedded: &&EmbeddedFile| embedded.shown_name() == file;
        let source: Box<dyn ByteSource> = match session.embedded_files().iter().find(is_it) {
            Some(embedded) => Box::new(SliceSource::new(Arc::clone(&embedded.bytes))),
            None => Box::new(FileSource::new(open_regular(Path::new(&file))?).ok()?),
        };
        let start = bytes.start;
        let bytes = source.read_vec(start, bytes.end - start).ok()?;
        Some(Self::of(dso, FunctionCode { machine, start, start_in_file: made_at, bytes }))
    }

    /// Those of a kernel as it ran; `None` if there is no copy of its memory.
    pub fn in_memory(session: &Session, dso: DsoId, address: u64) -> Option<Self> {
        Some(Self::of(dso, session.code_in_memory(dso, address)?))
    }

    fn of(dso: DsoId, code: FunctionCode) -> Self {
        let of = instructions::Instructions::of(code);
        Self { dso, of, names: RefCell::default(), referred: RefCell::default() }
    }

    /// Whether an address lies in the function.
    pub fn has(&self, dso: DsoId, address: u64) -> bool {
        self.dso == dso && self.of.has(address)
    }

    /// The text of an instruction with what is where it leads to, as other disassemblies have it; `None` if there is none or
    /// it cannot be decoded.
    pub fn text(&self, session: &Session, number: usize) -> Option<String> {
        Some(self.with_target(session, self.of.instruction(number)?, NameForm::Whole))
    }

    fn with_target(&self, session: &Session, of: Instruction, form: NameForm) -> String {
        let Instruction { text, target, .. } = of;
        let Some(target) = target else { return text };
        let mut names = self.names.borrow_mut();
        let name = names.entry(target).or_insert_with(|| session.name_in_file(self.dso, target));
        match name {
            Some(name) => format!("{text} <{}>", form.of(name.clone())),
            None => text,
        }
    }

    /// The same in a syntax, with what it refers to.
    pub fn shown(
        &self,
        session: &Session,
        number: usize,
        (syntax, form): (Syntax, NameForm),
    ) -> Option<ShownInstruction> {
        let instruction = self.of.instruction_in(syntax, number)?;
        let refers_to = instruction.refers.and_then(|reference| {
            let mut referred = self.referred.borrow_mut();
            let what = || session.referred(self.dso, reference);
            referred.entry(reference).or_insert_with(what).clone()
        });
        Some(ShownInstruction { text: self.with_target(session, instruction, form), refers_to })
    }
}

impl Deref for Instructions {
    type Target = instructions::Instructions;

    fn deref(&self) -> &Self::Target {
        &self.of
    }
}
