//! [`Images`]: all files that are given for one profile, wherever that is.
//!
//! It is told what was recorded, is asked with files and addresses, and answers with plain values: a
//! [`Finding`] for each file, names as columns. So it may live in the same place as the profile or in
//! another, and whoever takes its answers in compares the identities once more.

use perftab_perfdata::format::BuildId;
use perftab_perfdata::map::Map;

use perftab_dsos::{DsoId, Dsos, Identity};
use perftab_perfdata::decode::ByteSource;

use super::address::Svma;
use super::asked::{NameAnswer, NameRequest, Ticket};
use super::code_table::CodeTable;
use super::companion::{Companion, CompanionId, MissingUnits, Waiting};
use super::data_reference::DataReference;
use super::dso_images::{AddedImage, DsoImages};
use super::findings::{Finding, MatchedFile, Outcome, Refusal};
use super::forced::{ForceError, ForcedImage, ForcedNames};
use super::function_code::{CodeOrigin, FunctionCode, FunctionPlace};
use super::image::{Image, NotAnImage};
use super::matched_image::MatchedImage;
use super::naming::{DsoNaming, ForcedAddresses};
use super::objects::MatchedObjects;
use super::recorded::RecordedIdentities;
use super::rejection::Rejection;
use super::supplementary::SupplementaryLink;
use super::unwinding::UnwindTables;

/// All files of one profile.
pub struct Images {
    dsos: Dsos,
    recorded: RecordedIdentities,
    files: DsoImages,
    /// Files that another one may name, which is not here so far.
    waiting: Waiting,
    /// Those of them that were used since this was asked last.
    late: Vec<(String, AdmittedFile)>,
    /// Bytes of unpacked files in memory.
    held: u64,
    /// What is being named, with the newest ticket of each DSO.
    namings: Map<DsoId, (Ticket, DsoNaming)>,
    findings: Vec<Finding>,
    /// On which whoever has the profile decides.
    code_tables: Vec<CodeTable>,
}

/// A file that passed the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmittedFile {
    /// The DSOs that it names.
    pub dsos: Vec<DsoId>,
    /// What it holds, in words.
    pub gives: &'static str,
}

/// What became of a file that the user insists on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InsistedFile {
    /// It is the file that ran: it was admitted.
    Matched(AdmittedFile),
    /// It is another one, or nothing tells.
    Forced(ForcedFile),
}

/// A file that is not known to be the one that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForcedFile {
    /// What the host calls it.
    pub name: String,
    /// What it says that it is.
    pub found: Option<Identity>,
    /// What it says of the addresses that were asked for.
    pub names: ForcedAddresses,
}

impl Images {
    /// For the profile that has these DSOs.
    pub fn new(dsos: Dsos) -> Self {
        Self {
            recorded: RecordedIdentities::new(&dsos),
            dsos,
            files: DsoImages::default(),
            waiting: Waiting::default(),
            late: Vec::new(),
            held: 0,
            namings: Map::new(),
            findings: Vec::new(),
            code_tables: Vec::new(),
        }
    }

    /// From now on these are of a profile of which more was read. It has the first `known` DSOs as they were; of the
    /// others, files have to be offered again.
    pub fn go_on(&mut self, dsos: Dsos, known: usize) {
        self.recorded = RecordedIdentities::new(&dsos);
        self.dsos = dsos;
        self.files.keep_dsos(known);
        self.namings = Map::new();
    }

    /// What files turned out to be since this was asked last.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// What files say of the code of processes, since this was asked last. Each was refused as a
    /// [`Rejection::CodeTable`]: here nothing tells whether it is of use.
    pub fn take_code_tables(&mut self) -> Vec<CodeTable> {
        std::mem::take(&mut self.code_tables)
    }

    /// What was recorded.
    pub fn recorded(&self) -> &RecordedIdentities {
        &self.recorded
    }

    /// Offers an image. `name` is what the host calls the file: it orders nothing and decides nothing,
    /// but tells humans which of their files was refused.
    pub fn admit(
        &mut self,
        name: &str,
        image: Result<Image, NotAnImage>,
    ) -> Result<AdmittedFile, Rejection> {
        let image = match image.as_ref().ok().and_then(Image::code_table) {
            None => image,
            Some(Ok(table)) => {
                self.code_tables.push(table);
                return Err(Rejection::undecided());
            }
            Some(Err(error)) => Err(NotAnImage::Unreadable { message: error.to_string() }),
        };
        let package = image.as_ref().ok().and_then(Image::package);
        let toolchain = image.as_ref().ok().and_then(Image::toolchain);
        let admitted = image.map_err(Rejection::from).and_then(|image| self.try_admit(image));
        let (outcome, answer) = match admitted {
            Ok((outcome, admitted)) => (outcome, Ok(admitted)),
            Err(rejection) => {
                (Outcome::Refused(Refusal::new(&rejection, toolchain)), Err(rejection))
            }
        };
        let may_name_others = matches!(outcome, Outcome::Matched(_));
        self.findings.push(Finding { name: name.to_owned(), package, outcome });
        if may_name_others {
            self.admit_waiting();
        }
        answer
    }

    fn try_admit(&mut self, image: Image) -> Result<(Outcome, AdmittedFile), Rejection> {
        let image = if self.recorded.has(&image) {
            image
        } else {
            match Companion::of(image) {
                Ok(companion) => return self.try_admit_companion(companion),
                Err(image) => *image,
            }
        };
        let image = MatchedImage::admit(&self.recorded, image)?;
        let identity = image.identity();
        let AddedImage { dsos, gives } = self.files.add(image)?;
        if gives.memory {
            let admitted = AdmittedFile { dsos: dsos.clone(), gives: gives.sentence() };
            return Ok((Outcome::Memory { dsos }, admitted));
        }
        let why = |dso: DsoId| self.files.why_unplaced(dso, self.dsos.get(dso));
        let unplaced = |&dso: &DsoId| Some((dso, why(dso)?.to_owned()));
        let unplaced = dsos.iter().filter_map(unplaced).collect();
        let outcome =
            Outcome::Matched(MatchedFile { identity, gives, dsos: dsos.clone(), unplaced });
        Ok((outcome, AdmittedFile { dsos, gives: gives.sentence() }))
    }

    fn try_admit_companion(
        &mut self,
        companion: Companion,
    ) -> Result<(Outcome, AdmittedFile), Rejection> {
        match self.files.add_companion(companion) {
            Ok(AddedImage { dsos, gives }) => {
                let outcome = Outcome::Shared { dsos: dsos.clone() };
                Ok((outcome, AdmittedFile { dsos, gives: gives.sentence() }))
            }
            Err(companion) => Err(match self.waiting.push(*companion) {
                true => Rejection::NotNamedYet,
                false => Rejection::NotNamed,
            }),
        }
    }

    /// Files that waited, and were used since this was asked last.
    pub(super) fn take_late(&mut self) -> Vec<(String, AdmittedFile)> {
        std::mem::take(&mut self.late)
    }

    fn admit_waiting(&mut self) {
        for (name, AddedImage { dsos, gives }) in self.waiting.add_named(&mut self.files) {
            let outcome = Outcome::Shared { dsos: dsos.clone() };
            self.findings.push(Finding { name: name.clone(), package: None, outcome });
            self.late.push((name, AdmittedFile { dsos, gives: gives.sentence() }));
        }
    }

    /// What the files are called that are of use once another is here which names them.
    pub fn waiting(&self) -> impl Iterator<Item = &str> {
        self.waiting.names()
    }

    /// The units that naming has found to be in files which are not here.
    pub fn missing_units(&self) -> Vec<MissingUnits> {
        self.files.missing_units()
    }

    /// The companions that matched files name, of which naming wanted something that is not here; with the build-ids
    /// of those files.
    pub fn wanted_companions(&self) -> Vec<(BuildId, CompanionId)> {
        self.files.wanted_companions()
    }

    /// Notes that a file is not used, of which no more than its beginning was read.
    pub(super) fn refuse(&mut self, name: &str, rejection: &Rejection) {
        let outcome = Outcome::Refused(Refusal::new(rejection, None));
        self.findings.push(Finding { name: name.to_owned(), package: None, outcome });
    }

    /// Reads the names of the functions at these addresses of a DSO from a file that may be another
    /// than the one that ran. One that is the right one is admitted instead.
    pub fn insist(
        &mut self,
        dso: DsoId,
        addresses: &[u64],
        name: &str,
        source: Box<dyn ByteSource>,
    ) -> Result<InsistedFile, ForceError> {
        if dso.index() >= self.dsos.len() {
            return Err(ForceError::NoSuchDso);
        }
        let unusable = |reason: Rejection| ForceError::Unusable { reason };
        let image = Image::open(name, source).map_err(|error| unusable(error.into()))?;
        if self.recorded.matches(dso, &image) {
            return self.admit(name, Ok(image)).map(InsistedFile::Matched).map_err(unusable);
        }
        let found = image.identity();
        let unreadable = |message: String| unusable(Rejection::Unreadable { message });
        let forced = ForcedNames::read(ForcedImage::insist(dso, image))
            .map_err(|error| unreadable(error.to_string()))?;
        let names = forced.name(self.dsos.get(dso), addresses.iter().copied())?;
        Ok(InsistedFile::Forced(ForcedFile { name: name.to_owned(), found, names }))
    }

    /// Names addresses. What has been asked for again with a newer ticket is not named any more.
    pub fn name(&mut self, request: &NameRequest) -> NameAnswer {
        let NameRequest { ticket, dso, depth, first, .. } = *request;
        let nothing = NameAnswer { ticket, first, names: None, lost: None };
        if dso.index() >= self.dsos.len() {
            return nothing;
        }
        let begin = || (ticket, DsoNaming::new(dso, depth));
        let (newest, naming) = self.namings.entry(dso).or_insert_with(begin);
        if *newest > ticket {
            return nothing;
        }
        if *newest < ticket {
            (*newest, *naming) = begin();
        }
        let answer = self.files.answer(naming, self.dsos.get(dso), request);
        if request.rest == 0 {
            *naming = DsoNaming::new(dso, depth);
        }
        answer
    }

    /// Names addresses of the data of a DSO; `None` if no file does.
    pub fn name_objects(&self, dso: DsoId, addresses: &[u64]) -> Option<MatchedObjects> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.name_objects(dso, self.dsos.get(dso), addresses))?
    }

    /// How the callers of the code of a DSO are found; `None` if no file tells.
    pub fn unwind_tables(&self, dso: DsoId) -> Option<UnwindTables> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.unwind_tables(dso, self.dsos.get(dso)))?
    }

    /// Files that debug files which were admitted name as what they have in common with others: of
    /// each the name of one that names it, the path that it has for it, and the build-id.
    pub fn wanted_supplementary(&self) -> Vec<(String, SupplementaryLink)> {
        self.files.wanted_supplementary()
    }

    /// How many bytes more of unpacked files may be held, of so many in all.
    pub(super) fn room(&self, most: u64) -> u64 {
        most.saturating_sub(self.held)
    }

    /// An unpacked file of so many bytes stays in memory.
    pub(super) fn hold(&mut self, bytes: u64) {
        self.held += bytes;
    }

    /// The code of the function at an address of a DSO, if a file that passed the gate has it.
    pub fn function_code(&self, dso: DsoId, address: u64) -> Option<FunctionCode> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.function_code(dso, self.dsos.get(dso), address))?
    }

    /// The same of a kernel as it ran, if a copy of its memory passed the gate.
    pub fn code_in_memory(&self, dso: DsoId, address: u64) -> Option<FunctionCode> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.code_in_memory(dso, self.dsos.get(dso), address))?
    }

    /// Where the function at an address of a DSO is, by the symbols of a file that passed the gate.
    pub fn function_place(&self, dso: DsoId, address: u64) -> Option<FunctionPlace> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.function_place(dso, self.dsos.get(dso), address))?
    }

    /// What the code at addresses of a DSO was made of, in their order, as files say that passed the gate.
    pub fn code_origins(&self, dso: DsoId, addresses: &[u64]) -> Vec<CodeOrigin> {
        match dso.index() < self.dsos.len() {
            true => self.files.code_origins(dso, self.dsos.get(dso), addresses),
            false => vec![CodeOrigin::default(); addresses.len()],
        }
    }

    /// What covers an address of the file that has the code of a DSO, as disassemblies write it.
    pub fn name_in_file(&self, dso: DsoId, address: Svma) -> Option<String> {
        self.files.name_in_file(dso, address)
    }

    /// What an instruction of a DSO refers to, by the file that has its code: a name, a text in quotes, or both.
    pub fn referred(&self, dso: DsoId, reference: DataReference) -> Option<String> {
        self.files.referred(dso, reference)
    }

    /// The name of what covers an address of a DSO, as frames have it, and how far behind its start that is.
    pub fn symbol_at(&self, dso: DsoId, address: u64) -> Option<(String, u64)> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.symbol_at(dso, self.dsos.get(dso), address))?
    }

    /// MD5 of the source file of this path, as the compiler noted it for code at this address.
    pub fn source_md5(&self, dso: DsoId, address: u64, path: &str) -> Option<[u8; 16]> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.source_md5(dso, self.dsos.get(dso), address, path))?
    }

    /// The text of that source file, where debug information holds it.
    pub fn embedded_source(&self, dso: DsoId, address: u64, path: &str) -> Option<Vec<u8>> {
        (dso.index() < self.dsos.len())
            .then(|| self.files.embedded_source(dso, self.dsos.get(dso), address, path))?
    }

    /// What the host calls the file that has the code of a DSO, of those that passed the gate.
    pub fn image_name(&self, dso: DsoId) -> Option<&str> {
        self.files.of(dso).first().map(MatchedImage::name)
    }
}
