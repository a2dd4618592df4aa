//! What is known of each DSO's names, and where they came from.

use perftab_images::{Extent, ImageContents, LostInlines, OtherBuild};
use perftab_perfdata::format::package_note::PackageNote;
use perftab_profile::{Dso, DsoId, DsoKind, Dsos, Identity};
use serde::Serialize;

/// Where the names of a DSO come from, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// A file with the recorded identity is here.
    Matched,
    /// The recording carries its symbols.
    Embedded,
    /// No file was given.
    Missing,
    /// The file given under its name is another build, and is not used.
    Mismatched,
    /// Recorded without an identity: no file can match.
    NoIdentity,
    /// The user insisted on a file of another build.
    Forced,
    /// A file with the recorded identity is here, and was stripped of its symbols.
    NoSymbols,
    /// The process that made the code says itself what it is called.
    SelfNamed,
}

impl Status {
    /// What a matched file that holds this gives to its DSO.
    fn of_matched(holds: ImageContents) -> Self {
        match holds.functions || holds.inlines {
            true => Self::Matched,
            false => Self::NoSymbols,
        }
    }

    /// The word that JSON has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::Embedded => "embedded",
            Self::Missing => "missing",
            Self::Mismatched => "mismatched",
            Self::NoIdentity => "no-identity",
            Self::Forced => "forced",
            Self::NoSymbols => "no-symbols",
            Self::SelfNamed => "self-named",
        }
    }
}

/// A file, place or server that might have named a DSO, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct Attempt {
    /// The file, place or server.
    pub what: String,
    /// What came of it, in a few words.
    pub outcome: String,
}

/// Attempts kept of one DSO, the newest.
const MAX_ATTEMPTS: usize = 64;

/// What is known of one DSO's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// Where the names come from.
    pub status: Status,
    /// A sentence, where the status needs one.
    pub reason: Option<String>,
    /// The host's name of the file that gives the names.
    pub image: Option<String>,
    /// What the matched files hold together, in words.
    pub gives: Option<&'static str>,
    /// The identity of a refused file of the same name, in hex.
    pub found: Option<String>,
    /// What made that file, in words.
    pub toolchain: Option<String>,
    /// What was tried to name it, oldest first.
    pub tried: Vec<Attempt>,
    /// The package that a file given for it is from.
    pub package: Option<PackageNote>,
    holds: ImageContents,
    image_holds: ImageContents,
    /// While names are forced: the row as it was before.
    unforced: Option<Box<LedgerRow>>,
}

/// How a reason begins that holds until other files come.
const PARTLY_LOST: &str = "some inlined functions and lines are missing";

/// One row for each DSO.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    rows: Vec<LedgerRow>,
}

impl Ledger {
    /// Before any file is given.
    pub fn new(dsos: &Dsos) -> Self {
        Self { rows: dsos.iter().map(|(_, dso)| LedgerRow::new(dso)).collect() }
    }

    /// The row of a DSO of the profile that the ledger was made for.
    pub fn row(&self, dso: DsoId) -> &LedgerRow {
        &self.rows[dso.index()]
    }

    /// A matched file gives names to a DSO.
    pub fn matched(&mut self, dso: DsoId, image: &str, gives: ImageContents) {
        let row = &mut self.rows[dso.index()];
        let is_better =
            (gives.inlines, gives.functions) > (row.image_holds.inlines, row.image_holds.functions);
        if row.image.is_none() || is_better {
            row.image = Some(image.to_owned());
            row.image_holds = gives;
        }
        row.holds = row.holds.and(gives);
        row.gives = Some(row.holds.sentence());
        row.status = Status::of_matched(row.holds);
        row.reason = None;
        row.found = None;
        row.toolchain = None;
    }

    /// A matched file cannot give names to a DSO: where the DSO was is not known.
    pub fn unplaced(&mut self, dso: DsoId, why: &str) {
        self.rows[dso.index()].reason = Some(why.to_owned());
    }

    /// The debug information of the files of a DSO could not be read, wholly or in part.
    pub fn lost_inlines(&mut self, dso: DsoId, lost: &LostInlines) {
        let row = &mut self.rows[dso.index()];
        if lost.extent == Extent::Whole {
            row.holds.inlines = false;
            row.gives = Some(row.holds.sentence());
            if row.status == Status::Matched {
                row.status = Status::of_matched(row.holds);
            }
        }
        let what = match lost.extent {
            Extent::Whole => "there are no inlined functions and no lines",
            Extent::Part => PARTLY_LOST,
        };
        row.reason = Some(format!("{what}: {}", lost.why));
    }

    /// A file came that has more of what those of a DSO tell.
    pub fn completed(&mut self, dso: DsoId) {
        let row = &mut self.rows[dso.index()];
        row.reason.take_if(|reason| reason.starts_with(PARTLY_LOST));
    }

    /// The user insists on a file for a DSO; `found` is what the file says that it is.
    pub fn forced(&mut self, dso: DsoId, image: &str, found: Option<Identity>) {
        self.unforced(dso);
        let row = &mut self.rows[dso.index()];
        row.unforced = Some(Box::new(row.clone()));
        row.status = Status::Forced;
        row.reason = Some(match found {
            Some(found) => format!("unverified: forced names of a file with build-id {found}"),
            None => "unverified: forced names of a file without an identity".into(),
        });
        row.image = Some(image.to_owned());
        row.found = found.map(|found| found.to_string());
        row.holds = ImageContents { functions: true, ..ImageContents::default() };
        row.image_holds = row.holds;
        row.gives = Some(row.holds.sentence());
    }

    /// Nobody insists any more: the row is as it was before. Tells whether names were forced here,
    /// which those that came with a link were not.
    pub fn unforced(&mut self, dso: DsoId) -> Option<()> {
        let row = self.rows.get_mut(dso.index())?;
        let tried = std::mem::take(&mut row.tried);
        let Some(before) = row.unforced.take() else {
            row.tried = tried;
            return None;
        };
        *row = LedgerRow { tried, ..*before };
        Some(())
    }

    /// The recording carries the symbols of a DSO.
    pub fn embedded(&mut self, dso: DsoId) {
        let row = &mut self.rows[dso.index()];
        row.holds.functions = true;
        row.gives = Some(row.holds.sentence());
        if row.status != Status::Matched {
            row.status = Status::Embedded;
            row.reason = None;
        }
    }

    /// DSOs have come since: before any file is given for them.
    pub fn extend(&mut self, dsos: &Dsos) {
        let new = dsos.iter().skip(self.rows.len());
        self.rows.extend(new.map(|(_, dso)| LedgerRow::new(dso)));
    }

    /// The process says itself what its code is called, in a file; `checked` is a sentence for people,
    /// `gives` what the file tells.
    pub fn self_named(&mut self, dso: DsoId, image: &str, checked: String, gives: &'static str) {
        let row = &mut self.rows[dso.index()];
        row.status = Status::SelfNamed;
        row.reason = Some(checked);
        row.image = Some(image.to_owned());
        row.holds = ImageContents { functions: true, ..ImageContents::default() };
        row.image_holds = row.holds;
        row.gives = Some(gives);
    }

    /// A file was refused that has the name of a DSO.
    pub fn other_build(&mut self, other: OtherBuild) {
        let OtherBuild { dso, found, toolchain } = other;
        let Some(row) = self.rows.get_mut(dso.index()) else { return };
        if matches!(row.status, Status::Missing | Status::Mismatched) {
            row.status = Status::Mismatched;
            row.reason = Some("the file given is another build".to_owned());
            row.found = Some(found);
            row.toolchain = toolchain;
        }
    }

    /// Notes what was tried to name a DSO. What is tried again stands once, with its newest
    /// outcome.
    pub fn note(&mut self, dso: DsoId, what: &str, outcome: &str) {
        let Some(row) = self.rows.get_mut(dso.index()) else { return };
        row.tried.retain(|attempt| attempt.what != what);
        if row.tried.len() >= MAX_ATTEMPTS {
            row.tried.remove(0);
        }
        row.tried.push(Attempt { what: what.to_owned(), outcome: outcome.to_owned() });
    }

    /// A file that was given for a DSO, of whatever build, is from this package.
    pub fn note_package(&mut self, dso: DsoId, package: &PackageNote) {
        if let Some(row) = self.rows.get_mut(dso.index()) {
            row.package = Some(package.clone());
        }
    }

    /// A DSO has become another: what was known of its names is not.
    pub fn begin_again(&mut self, id: DsoId, dso: &Dso) {
        self.rows[id.index()] = LedgerRow::new(dso);
    }

    /// What was known of a DSO when less of its recording had been read.
    pub fn take_row(&mut self, dso: DsoId, row: LedgerRow) {
        if let Some(own) = self.rows.get_mut(dso.index()) {
            *own = row;
        }
    }

    /// The files of a DSO are gone before all that was asked of them was answered.
    pub fn lost(&mut self, id: DsoId, dso: &Dso, why: &str) {
        let tried = std::mem::take(&mut self.rows[id.index()].tried);
        let row = LedgerRow::new(dso);
        self.rows[id.index()] = LedgerRow { tried, reason: Some(why.to_owned()), ..row };
    }

    /// For links: rows as the sender had them.
    pub fn from_rows(rows: Vec<LedgerRow>) -> Self {
        Self { rows }
    }
}

impl LedgerRow {
    /// Before any file is given.
    pub fn new(dso: &Dso) -> Self {
        let (status, reason) = match (dso.kind, dso.identity) {
            (DsoKind::Kernel, Some(id)) => {
                let reason = format!("Only kallsyms or a vmlinux with build-id {id} has its names");
                return Self::with_status(Status::Missing, Some(reason));
            }
            (_, Some(_)) => (Status::Missing, None),
            (DsoKind::Unmapped | DsoKind::Folded | DsoKind::Pseudo, None) => {
                (Status::NoIdentity, Some("no mapping contains these addresses"))
            }
            (DsoKind::Anon | DsoKind::Jit, None) => {
                let default = "memory without a file has no build-id";
                (Status::NoIdentity, Some(dso.no_identity_because.unwrap_or(default)))
            }
            (_, None) => {
                let default = match dso.is_deleted {
                    true => "the file was deleted before its build-id could be read",
                    false => "it was recorded without a build-id",
                };
                (Status::NoIdentity, Some(dso.no_identity_because.unwrap_or(default)))
            }
        };
        Self::with_status(status, reason.map(str::to_owned))
    }

    /// What the matched files hold together.
    pub fn holds(&self) -> ImageContents {
        self.holds
    }

    /// For links: what the sender's files held.
    pub fn set_holds(&mut self, holds: ImageContents) {
        self.holds = holds;
        self.image_holds = holds;
        self.gives = (holds != ImageContents::default()).then(|| holds.sentence());
    }

    /// A row with nothing but a status.
    pub fn with_status(status: Status, reason: Option<String>) -> Self {
        Self {
            status,
            reason,
            image: None,
            gives: None,
            found: None,
            toolchain: None,
            tried: Vec::new(),
            package: None,
            holds: ImageContents::default(),
            image_holds: ImageContents::default(),
            unforced: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::format::BuildId;
    use perftab_profile::MappedFrom;

    use super::*;

    fn one_dso() -> (Ledger, DsoId) {
        let mut dsos = Dsos::default();
        let id = BuildId::new(&[7; 20]).expect("not zero");
        let dso = dsos.intern("/opt/app", DsoKind::User, MappedFrom::BuildId(id), None);
        (Ledger::new(&dsos), dso)
    }

    #[test]
    fn a_file_whose_only_names_cannot_be_read_has_no_symbols() {
        let whole = LostInlines { why: "it is cut".to_owned(), extent: Extent::Whole };
        let part = LostInlines { why: "it is long".to_owned(), extent: Extent::Part };
        let dwarf = ImageContents { inlines: true, ..ImageContents::default() };
        let both = ImageContents { functions: true, ..dwarf };
        for (gives, lost, status, words) in [
            (dwarf, &whole, Status::NoSymbols, "no symbols"),
            (dwarf, &part, Status::Matched, "inlines and source lines"),
            (both, &whole, Status::Matched, "function names only"),
        ] {
            let (mut ledger, dso) = one_dso();
            ledger.matched(dso, "app.debug", gives);
            ledger.lost_inlines(dso, lost);
            let row = ledger.row(dso);
            assert_eq!((row.status, row.gives), (status, Some(words)), "{gives:?} {lost:?}");
            assert!(row.reason.as_ref().is_some_and(|reason| reason.ends_with(&lost.why)));
        }
        // What the recording carries stays.
        let (mut ledger, dso) = one_dso();
        ledger.embedded(dso);
        ledger.lost_inlines(dso, &whole);
        assert_eq!(ledger.row(dso).status, Status::Embedded);
    }

    #[test]
    fn a_stripped_file_has_no_symbols_until_its_debug_file_comes() {
        let (mut ledger, dso) = one_dso();
        ledger.matched(dso, "app", ImageContents { unwinding: true, ..ImageContents::default() });
        assert_eq!(ledger.row(dso).status, Status::NoSymbols);
        assert_eq!(ledger.row(dso).image.as_deref(), Some("app"));
        let functions = ImageContents { functions: true, ..ImageContents::default() };
        ledger.matched(dso, "app.debug", functions);
        assert_eq!(ledger.row(dso).status, Status::Matched);
        assert_eq!(ledger.row(dso).image.as_deref(), Some("app.debug"));
    }
}
