//! Links: a session into a payload, and a payload into a session.

use perftab_perfdata::map::Set;
use std::rc::Rc;
use std::sync::Arc;

use perftab_images::RecordedIdentities;
use perftab_names::{Ledger, Symbols};
use perftab_perfdata::error::Warning;
use perftab_perfdata::slice::Work;
use perftab_perfdata::text::printable;
use perftab_profile::{Profile, WallClockTime};
use perftab_snapshot::{
    self, CarriedPayload, Carrier, Contents, EncodedSnapshot, Facts, Fidelity, LinkContext,
    LinkKey, LinkTools, ShareOptions, SharedTexts, SnapshotError, Times, TooSmall,
};
use perftab_views::serialize_weight;
use serde::Serialize;

use crate::session::trees::Trees;
use crate::session::{FormatInfo, ScanStep, Session};
use perftab_views::coverage::FrameUses;

/// A link's payload and what it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct SharedLink {
    /// `p1.…`, ready to follow `#`.
    pub payload: String,
    /// What it holds.
    pub fidelity: FidelityInfo,
    /// Every text in it.
    pub texts: SharedTexts,
}

/// What of a recording a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
pub struct FidelityInfo {
    /// Call nodes under their own names.
    #[serde(serialize_with = "serialize_weight")]
    pub kept_nodes: u64,
    /// Call nodes that there were.
    #[serde(serialize_with = "serialize_weight")]
    pub total_nodes: u64,
    /// Weight that ended in kept call nodes, 0 to 1.
    pub kept_weight_share: f64,
    /// Every call node with a larger share than this was kept; 0 if all were.
    pub threshold_share: f64,
    /// Weight that was folded into callers.
    #[serde(serialize_with = "serialize_weight")]
    pub folded_weight: u64,
    /// DSOs in the link's ledger.
    #[serde(serialize_with = "serialize_weight")]
    pub kept_dsos: u64,
    /// DSOs that samples pass through.
    #[serde(serialize_with = "serialize_weight")]
    pub total_dsos: u64,
    /// What it tells of when samples were.
    pub times: Times,
}

impl From<EncodedSnapshot> for SharedLink {
    fn from(shared: EncodedSnapshot) -> Self {
        let EncodedSnapshot { payload, fidelity, texts } = shared;
        Self { payload, fidelity: fidelity.into(), texts }
    }
}

impl From<Fidelity> for FidelityInfo {
    fn from(fidelity: Fidelity) -> Self {
        Self {
            kept_nodes: fidelity.kept_nodes,
            total_nodes: fidelity.total_nodes,
            kept_weight_share: fidelity.kept_weight_share,
            threshold_share: fidelity.threshold_share,
            folded_weight: fidelity.folded_weight,
            kept_dsos: fidelity.kept_dsos,
            total_dsos: fidelity.total_dsos,
            times: fidelity.times,
        }
    }
}

/// Messages name paths and events, which are as strange as the file.
pub(super) fn printable_warnings(mut warnings: Vec<Warning>) -> Vec<Warning> {
    for warning in &mut warnings {
        warning.message = printable(&warning.message).into_owned();
    }
    warnings
}

impl Session {
    /// Opens a link's payload (`p1.…`). It is a session like any other: files may be offered to
    /// it, and code without names is named behind the same gate.
    pub fn from_snapshot(payload: &str) -> Result<Self, SnapshotError> {
        Self::from_carried(CarriedPayload { carrier: Carrier::Link, payload })
    }

    /// The same, of a payload that [`snapshot::find`] found.
    pub fn from_carried(carried: CarriedPayload<'_>) -> Result<Self, SnapshotError> {
        let mut snapshot = perftab_snapshot::decode(carried.payload)?;
        snapshot.profile.wall_clock = WallClockTime::of(&snapshot.profile.events);
        let recorded = RecordedIdentities::new(&snapshot.profile.dsos);
        Ok(Self {
            frame_uses: FrameUses::of(&snapshot.profile),
            profile: snapshot.profile.into(),
            format: FormatInfo::of_snapshot(carried.carrier),
            warnings: printable_warnings(snapshot.warnings),
            facts: snapshot.facts.into(),
            fidelity: Some(snapshot.fidelity),
            view: snapshot.view,
            title: snapshot.title,
            symbols: snapshot.symbols.into(),
            ledger: snapshot.ledger,
            recorded,
            naming: Default::default(),
            images: None,
            vouched: Set::new(),
            embedded: Vec::new(),
            embedded_files: Vec::new(),
            in_branches: Set::new(),
            kept_branches: None,
            code_tables: Vec::new(),
            waiting_code: Vec::new(),
            code_asked: Set::new(),
            unwound: Default::default(),
            data: Default::default(),
            trees: Trees::default(),
            next_trees: Trees::default(),
            distances: Default::default(),
            ranges: Default::default(),
            times: Default::default(),
            link_cache: Default::default(),
            brought_texts: None,
            generation: 0,
        })
    }

    /// What a link holds of its recording; `None` for a recording.
    pub fn fidelity(&self) -> Option<Fidelity> {
        self.fidelity
    }

    /// What the sender of a link calls it; `None` for a recording, and if the sender said nothing.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Where this is from: a recording, a link or a page.
    pub fn format(&self) -> &FormatInfo {
        &self.format
    }

    /// Writes a link that holds as much as fits.
    pub fn share(&self, options: &ShareOptions) -> Result<SharedLink, TooSmall> {
        perftab_snapshot::encode(&self.contents(), options).map(SharedLink::from)
    }

    /// Begins to write a link that holds as much as fits.
    pub fn begin_share(&self, options: ShareOptions) -> ShareWork {
        ShareWork { options, work: None, done: 0 }
    }

    /// No more links are wanted for now: what was kept to make the next one is let go of.
    pub fn end_sharing(&mut self) {
        self.link_cache = LinkCache::default();
    }

    /// What links with these options are made of; what was kept of others goes. `None` as long as there is more
    /// to do than so many rows of samples take.
    pub(super) fn link_context(
        &mut self,
        options: &ShareOptions,
        rows: usize,
    ) -> Option<Rc<LinkContext>> {
        let key = LinkKey::of(options);
        let state = match self.link_cache.context.take() {
            Some((known, state)) if known == key && state.is_of_use() => state,
            _ => {
                let (contents, key) = (self.owned_contents(), key.clone());
                let work = Work::new(async move |slice| {
                    LinkContext::of(&contents.borrowed(), &key, &slice).await
                });
                self.symbols.is_read_by(&work);
                ContextState::Building(work)
            }
        };
        let (state, made) = match state {
            ContextState::Building(mut work) => match work.step(rows) {
                Some(context) => Self::ready(context.into()),
                None => (ContextState::Building(work), None),
            },
            ContextState::Ready(context) => Self::ready(context),
        };
        self.link_cache.context = Some((key, state));
        made
    }

    fn ready(context: Rc<LinkContext>) -> (ContextState, Option<Rc<LinkContext>>) {
        (ContextState::Ready(Rc::clone(&context)), Some(context))
    }

    fn owned_contents(&self) -> OwnedContents {
        OwnedContents {
            profile: Arc::clone(&self.profile),
            symbols: self.symbols.share(),
            ledger: self.ledger.clone(),
            warnings: self.warnings.clone(),
            facts: Rc::clone(&self.facts),
        }
    }

    pub(super) fn contents(&self) -> Contents<'_> {
        let Self { profile, symbols, ledger, warnings, facts, .. } = self;
        Contents { profile, symbols, ledger, warnings, facts }
    }
}

/// What is kept from one link to the next, as long as no names change.
#[derive(Default)]
pub(super) struct LinkCache {
    context: Option<(LinkKey, ContextState)>,
    tools: Rc<LinkTools>,
}

enum ContextState {
    Building(Work<LinkContext>),
    Ready(Rc<LinkContext>),
}

impl ContextState {
    /// False where names have changed before it was ready.
    fn is_of_use(&self) -> bool {
        match self {
            Self::Building(work) => work.goes_on(),
            Self::Ready(_) => true,
        }
    }
}

/// [`Contents`] for work in progress.
struct OwnedContents {
    profile: Arc<Profile>,
    symbols: Rc<Symbols>,
    ledger: Ledger,
    warnings: Vec<Warning>,
    facts: Rc<Facts>,
}

impl OwnedContents {
    fn borrowed(&self) -> Contents<'_> {
        let Self { profile, symbols, ledger, warnings, facts } = self;
        Contents { profile, symbols, ledger, warnings, facts }
    }
}

/// A link to be, made a step at a time. What does not depend on what it tells is kept in the session for
/// the next one.
pub struct ShareWork {
    options: ShareOptions,
    /// Once what it is made of is there. Begun anew when it was let go of, since names have changed.
    work: Option<Work<Result<EncodedSnapshot, TooSmall>>>,
    /// Rows, or what takes as long.
    done: usize,
}

impl ShareWork {
    /// Goes on for about as long as so many rows of samples take.
    pub fn step(
        &mut self,
        session: &mut Session,
        rows: usize,
    ) -> ScanStep<Result<SharedLink, TooSmall>> {
        self.done = self.done.saturating_add(rows);
        let left = match &mut self.work {
            Some(work) if work.goes_on() => match work.step(rows) {
                Some(made) => return ScanStep::Done(made.map(SharedLink::from)),
                None => {
                    let (done, total) = work.progress();
                    total - done
                }
            },
            _ => {
                let context = session.link_context(&self.options, rows);
                self.work = context.map(|context| session.begin_link(&self.options, context));
                session.profile.samples.len().saturating_mul(4)
            }
        };
        ScanStep::More { done: self.done, total: self.done.saturating_add(left) }
    }
}

impl Session {
    fn begin_link(
        &self,
        options: &ShareOptions,
        context: Rc<LinkContext>,
    ) -> Work<Result<EncodedSnapshot, TooSmall>> {
        let (contents, options) = (self.owned_contents(), options.clone());
        let tools = Rc::clone(&self.link_cache.tools);
        let work = Work::new(async move |slice| {
            perftab_snapshot::link(&contents.borrowed(), &options, &context, &tools, &slice).await
        });
        self.symbols.is_read_by(&work);
        work
    }
}

#[cfg(test)]
mod tests {
    use perftab_perfdata::format::BuildId;
    use perftab_profile::{
        DsoKind, Event, EventId, Frame, MappedFrom, Process, Sample, Stacks, Thread,
    };

    use super::*;

    /// A link that was opened, of a sample in two DSOs.
    fn opened() -> Session {
        let mut profile = Profile::default();
        let id = BuildId::new(&[7; 20]).expect("not all zero");
        let libc = MappedFrom::BuildId(id);
        let mut stack = Stacks::EMPTY;
        for (path, mapped) in
            [("/lib/libc.so.6", libc), ("/lib/libwithout.so", MappedFrom::Nothing)]
        {
            let dso = profile.dsos.intern(path, DsoKind::User, mapped, None);
            let frame = profile.frames.intern(Frame { dso, address: 0x1000 });
            stack = profile.stacks.intern(stack, frame);
        }
        let name = profile.strings.intern("app");
        let process = profile.threads.add_process(Process { pid: 1, name });
        let thread = profile.threads.add_thread(Thread { process, tid: 1, name });
        profile.events.push(Event { samples: 1, weight: 1, ..Event::default() });
        let (event, cpu, weight) = (EventId(0), 0, 1);
        profile.samples.push(Sample { time_nanos: 1, thread, stack, event, cpu, weight });

        let (symbols, ledger) = (Symbols::new(&profile), Ledger::new(&profile.dsos));
        let facts = Facts::of(&profile);
        let (profile, symbols, ledger, facts) = (&profile, &symbols, &ledger, &facts);
        let contents = Contents { profile, symbols, ledger, facts, warnings: &[] };
        let made = perftab_snapshot::encode(&contents, &ShareOptions::default()).expect("it fits");
        Session::from_snapshot(&made.payload).expect("it opens")
    }

    #[test]
    fn names_are_looked_for_as_for_a_recording() {
        let wanted: Vec<_> = opened().wanted().into_iter().map(|wanted| wanted.path).collect();
        assert_eq!(wanted, ["/lib/libc.so.6"]);
    }

    /// In steps of a row; how many it took.
    fn made(session: &mut Session, mut work: ShareWork) -> (SharedLink, usize) {
        for steps in 1.. {
            if let ScanStep::Done(made) = work.step(session, 1) {
                return (made.expect("it fits"), steps);
            }
        }
        unreachable!("it ends")
    }

    #[test]
    fn a_link_goes_on_from_what_another_was_made_of() {
        let mut session = opened();
        let given_up = 3;
        let mut work = session.begin_share(ShareOptions::default());
        (0..given_up).for_each(|_| drop(work.step(&mut session, 1)));
        let work = session.begin_share(ShareOptions::default());
        let (link, rest) = made(&mut session, work);
        let work = session.begin_share(ShareOptions::default());
        let (second, attempts) = made(&mut session, work);
        assert!(attempts < rest, "{attempts} steps, {rest} the first time");
        session.end_sharing();
        let work = session.begin_share(ShareOptions::default());
        let (third, all) = made(&mut session, work);
        assert_eq!(all, given_up + rest);
        assert_eq!((&second, &third), (&link, &link));
    }

    #[test]
    fn a_link_whose_names_change_begins_anew() {
        let mut session = opened();
        let work = session.begin_share(ShareOptions::default());
        let (link, all) = made(&mut session, work);
        for steps in 1..all {
            session.end_sharing();
            let mut work = session.begin_share(ShareOptions::default());
            (0..steps).for_each(|_| drop(work.step(&mut session, 1)));
            session.symbols.let_go_of_readers();
            assert_eq!(made(&mut session, work).0, link);
        }
    }
}
