//! Files that a host keeps beside the session: [`Images`] in the same place, asked at once.
//!
//! Nothing of the session outside of this file asks them. So the page's session, whose images are in another worker and come
//! with a module of their own, is built without what reads files.

use perftab_images::{
    self as images, AdmittedFile, DataReference, ForceError, FunctionCode, FunctionPlace, Image,
    Images, InsistedFile, MAX_CODE, MissingUnits, NotAnImage, OfferReport, OfferStep, Rejection,
    SupplementaryLink, Svma,
};
use perftab_perfdata::decode::ByteSource;
use perftab_profile::{DsoId, Frame};

use super::{Amount, AnnotatedCode, DataRequest, DecodedCode, NamingProgress, Session, Unwinding};

/// A file on its way into a session.
pub struct Offer(images::Offer);

impl Offer {
    /// Goes on until about so many bytes were read or came out of what is packed.
    pub fn step(&mut self, session: &mut Session, bytes: usize) -> OfferStep {
        let mut step = session.with_images(|images| self.0.step(images, bytes));
        if let OfferStep::Done(report) = &mut step {
            let tables = session.with_images(Images::take_code_tables);
            session.settle(tables, report);
        }
        step
    }

    /// Everything at once.
    pub fn finish(mut self, session: &mut Session) -> OfferReport {
        loop {
            if let OfferStep::Done(report) = self.step(session, usize::MAX) {
                return report;
            }
        }
    }
}

/// What became of a file that the user insisted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForceResult {
    /// It names the DSO, and every name is marked.
    Forced {
        /// Frames that got a name; at least one.
        frames: usize,
    },
    /// It is the file that ran: nothing had to be forced.
    Matched {
        /// Numbers in the ledger of the DSOs that it names.
        dsos: Vec<u32>,
        /// What it holds, in words.
        gives: &'static str,
    },
}

impl Session {
    /// The files are there from the first one on.
    fn with_images<Answer>(&mut self, ask: impl FnOnce(&mut Images) -> Answer) -> Answer {
        let begin = || Images::new(self.profile.dsos.clone());
        let images = self.images.get_or_insert_with(begin);
        let answer = ask(images);
        let findings = images.take_findings();
        self.take_findings(findings);
        answer
    }

    /// Offers a file. `name` is what the host calls it: it orders nothing and decides nothing,
    /// but tells humans which of their files was refused. An admitted file's names appear as
    /// [`Self::name_frames`] goes on.
    pub fn admit(
        &mut self,
        name: &str,
        source: Box<dyn ByteSource>,
    ) -> Result<AdmittedFile, Rejection> {
        self.admit_image(name, Image::open(name, source))
    }

    /// Offers an image that the host knows more about than its bytes say: see
    /// [`Image::open_kallsyms`] and [`Image::open_cached_kallsyms`].
    pub fn admit_image(
        &mut self,
        name: &str,
        image: Result<Image, NotAnImage>,
    ) -> Result<AdmittedFile, Rejection> {
        let admitted = self.with_images(|images| images.admit(name, image));
        let tables = self.with_images(Images::take_code_tables);
        self.take_code_tables(tables).pop().unwrap_or(admitted)
    }

    /// Offers a file of any kind. `name` is what the host calls it.
    pub fn offer(&self, name: &str, source: Box<dyn ByteSource>) -> Offer {
        Offer(images::Offer::new(name, source))
    }

    /// Names a DSO that has no names from a file that does not match, or of which nothing tells
    /// whether it does: [`Self::take_forced`]. One that turns out to match is admitted instead.
    pub fn force(
        &mut self,
        dso: DsoId,
        name: &str,
        source: Box<dyn ByteSource>,
    ) -> Result<ForceResult, ForceError> {
        let addresses = self.forceable(dso)?;
        match self.with_images(|images| images.insist(dso, &addresses, name, source)) {
            Ok(InsistedFile::Matched(AdmittedFile { dsos, gives })) => {
                let dsos = dsos.iter().map(|dso| dso.0).collect();
                Ok(ForceResult::Matched { dsos, gives })
            }
            Ok(InsistedFile::Forced(file)) => {
                let frames = self.take_forced(dso, &file)?;
                Ok(ForceResult::Forced { frames })
            }
            Err(unusable @ ForceError::Unusable { .. }) => Err(unusable),
            Err(error) => self.check_forceable(dso).and(Err(error)),
        }
    }

    /// Names up to `frames` more frames. Views show the new names at once.
    pub fn name_frames(&mut self, frames: usize) -> NamingProgress {
        let mut left = frames;
        while left > 0
            && let Some(request) = self.ask_names(left)
        {
            left -= request.addresses.len();
            let answer = self.with_images(|images| images.name(&request));
            self.take_names(&answer);
        }
        self.show_names();
        self.naming_progress()
    }

    /// Names every frame that can have a name.
    pub fn name_all_frames(&mut self) {
        while !self.name_frames(usize::MAX).is_complete() {}
    }

    /// Names accessed data by the files that the session was given.
    pub fn name_data(&mut self) {
        self.look_up_data();
        while let Some(DataRequest { dso, addresses }) = self.ask_data() {
            let answer = self.images.as_ref();
            let answer = answer.and_then(|images| images.name_objects(dso, &addresses));
            if let Some(answer) = answer {
                self.take_data(dso, &addresses, &answer);
            }
        }
    }

    /// Begins to unwind what can be: all samples with copies of their stacks, or when that was done before, those that
    /// wait for files that have come since. `None` if there are none.
    pub fn unwinding(&mut self) -> Option<Unwinding> {
        if let Some(images) = self.images.take() {
            for dso in self.unwindable() {
                self.take_unwind_tables(dso, images.unwind_tables(dso));
            }
            self.images = Some(images);
        }
        self.unwinding_by_taken_tables()
    }

    /// Puts into chains by frame pointers the callers that the files which are here tell of, if that is all that is to be
    /// done with stacks. True if there was something to look at.
    pub fn find_leaf_callers(&mut self) -> bool {
        if self.profile.stack_dumps > 0 {
            return false;
        }
        let unwinding = self.unwinding();
        unwinding.map(|unwinding| self.take_unwound(unwinding)).is_some()
    }

    /// Whether there are stacks to be unwound, and no file is here that tells how in a DSO.
    pub fn lacks_unwind_tables(&self, dso: DsoId) -> bool {
        let has_tables = |images: &Images| images.unwind_tables(dso).is_some();
        let profile = &self.profile;
        let are_asked_for = profile.stack_dumps > 0 || profile.leaf_callers.ask_for_tables_of(dso);
        are_asked_for && !self.images.as_ref().is_some_and(has_tables)
    }

    /// What code was made of and what ended in it, by the files and by what processes say of the code that they made.
    pub fn annotated(&self, code: DecodedCode<'_>, heat: &[(u64, Amount)]) -> AnnotatedCode {
        let of_files = || Some(code.annotated(self.images.as_ref()?, heat));
        self.annotated_made(code, heat).or_else(of_files).unwrap_or_default()
    }

    /// Files that debug files which were admitted name as what they have in common with others: of
    /// each the name of one that names it, the path that it has for it, and the build-id.
    pub fn wanted_supplementary(&self) -> Vec<(String, SupplementaryLink)> {
        self.images.as_ref().map(Images::wanted_supplementary).unwrap_or_default()
    }

    /// The units that naming has found to be in files which are not here.
    pub fn missing_units(&self) -> Vec<MissingUnits> {
        self.images.as_ref().map(Images::missing_units).unwrap_or_default()
    }

    /// What files are called that are of use only once another is given which names them.
    pub fn waiting_files(&self) -> impl Iterator<Item = &str> {
        self.images.iter().flat_map(Images::waiting)
    }

    /// The code of the function at an address of a DSO, if a file that passed the gate has it.
    pub fn function_code(&self, dso: DsoId, address: u64) -> Option<FunctionCode> {
        self.images.as_ref()?.function_code(dso, address)
    }

    /// The same of a kernel as it ran, if a copy of its memory passed the gate.
    pub fn code_in_memory(&self, dso: DsoId, address: u64) -> Option<FunctionCode> {
        self.images.as_ref()?.code_in_memory(dso, address)
    }

    /// Where the function at an address of a DSO is: by a file that passed the gate, or by what the recording brought.
    pub fn function_place(&self, dso: DsoId, address: u64) -> Option<FunctionPlace> {
        let of_file = || self.images.as_ref()?.function_place(dso, address);
        of_file().or_else(|| {
            let mut of_dso = self.embedded.iter().filter(|it| it.dsos().contains(&dso));
            let symbol = of_dso.find_map(|symbols| symbols.at(address))?;
            Some(FunctionPlace {
                start: symbol.address,
                start_in_file: Svma(symbol.address),
                length: symbol.size.min(MAX_CODE),
                name: symbol.name.clone(),
            })
        })
    }

    /// What covers an address of the file that has the code of a DSO, as disassemblies write it.
    pub fn name_in_file(&self, dso: DsoId, address: Svma) -> Option<String> {
        self.images.as_ref()?.name_in_file(dso, address)
    }

    /// What an instruction of a DSO refers to, by the file that has its code: a name, a text in quotes, or both.
    pub fn referred(&self, dso: DsoId, reference: DataReference) -> Option<String> {
        self.images.as_ref()?.referred(dso, reference)
    }

    /// The name of what covers an address of a DSO, as frames have it, and how far behind its start that is: of a file that
    /// passed the gate, or that the recording brought.
    pub fn symbol_at(&self, frame: Frame) -> Option<(String, u64)> {
        let of_file = || self.images.as_ref()?.symbol_at(frame.dso, frame.address);
        of_file().or_else(|| {
            let mut of_dso = self.embedded.iter().filter(|it| it.dsos().contains(&frame.dso));
            let symbol = of_dso.find_map(|symbols| symbols.at(frame.address))?;
            Some((symbol.name.clone(), frame.address.saturating_sub(symbol.address)))
        })
    }

    /// MD5 of the source file of this path, as the compiler noted it for code at this address.
    pub fn source_md5(&self, dso: DsoId, address: u64, path: &str) -> Option<[u8; 16]> {
        self.images.as_ref()?.source_md5(dso, address, path)
    }

    /// The text of that source file, where the compiler has put it into the debug information.
    pub fn embedded_source(&self, dso: DsoId, address: u64, path: &str) -> Option<Vec<u8>> {
        self.images.as_ref()?.embedded_source(dso, address, path)
    }

    /// What the host calls the file that has the code of a DSO, of those that passed the gate.
    pub fn image_name(&self, dso: DsoId) -> Option<&str> {
        self.images.as_ref()?.image_name(dso)
    }
}
