//! Images that live elsewhere: whatever they say and whenever they say it, names are those of the files
//! that ran.

use std::collections::VecDeque;

use perftab_core::session::{FlameWindow, ScanStep, Session};
use perftab_core::{Direction, DsoId, ForceError, FunctionOrder, GroupBy, Query, Status};
use perftab_images::{
    AddressNames, Candidate, Finding, ForcedAddresses, ForcedFile, FunctionNumber, Image, Images,
    InsistedFile, MatchedFile, MatchedNames, NameAnswer, NameRequest, NamedLevel, NamingDepth,
    OtherBuild, Outcome, Refusal, Ticket,
};
use perftab_perfdata::decode::SliceSource;
use perftab_perfdata::format::BuildId;
use perftab_profile::Identity;
use perftab_tests::fixtures::story::{self, at, sample};
use perftab_tests::open::open;
use perftab_tests::synth::elf::{CODE, DYNSYM, ElfSection, STRTAB, SYMTAB, elf, symbol};
use perftab_tests::synth::{MappedFile, Mapping, Order, Recording, context};

const SERVER: [u8; 20] = [0xaa; 20];
const WORK: [u8; 20] = [0xbb; 20];
const SERVER_AT: u64 = 0x40_0000;
const WORK_AT: u64 = 0x7f00_0000_0000;
/// Functions of 16 bytes each, and a sample in each.
const FUNCTIONS: u64 = 6;

/// A server and its library, with a sample in each function of both.
fn recording() -> Session {
    let mut recording = Recording::new(Order::Little, story::usual_events());
    recording.comm(at(10, 1_000, 0), 1 << 13, "server");
    for (start, id, path) in
        [(SERVER_AT, &SERVER, "/bin/server"), (WORK_AT, &WORK, "/lib/libwork.so")]
    {
        let code = story::code(10, start, CODE, MappedFile::BuildId(id), path);
        // A page, as the kernel maps so little code.
        let code = Mapping { addresses: start..start + 0x1000, ..code };
        recording.mmap2(at(10, 1_010, 0), &code);
    }
    for function in 0..FUNCTIONS {
        let chain = [context::USER, WORK_AT + 16 * function, SERVER_AT + 16 * function + 5];
        recording.sample(0, &sample(at(10, 1_020 + function, 0), 100, 7, &chain));
    }
    open(&recording.round().file()).expect("a recording")
}

/// A file of this build with so many functions, of 16 bytes each, in a table of this kind.
fn file(id: &[u8], kind: u32, functions: u64, prefix: &str) -> Vec<u8> {
    let (mut names, mut symbols) = (vec![0], vec![0; 24]);
    for function in 0..functions {
        symbols.extend(symbol(names.len() as u32, CODE + 16 * function, 16));
        names.extend(format!("{prefix}{function}\0").bytes());
    }
    let table = if kind == DYNSYM { (".dynsym", ".dynstr") } else { (".symtab", ".strtab") };
    let symbols = ElfSection { kind, link: table.1, ..ElfSection::debug(table.0, &symbols) };
    let names = ElfSection { kind: STRTAB, ..ElfSection::debug(table.1, &names) };
    elf(id, 16 * FUNCTIONS as usize, &[symbols, names])
}

/// The server, which exports nothing, its debug file, the library, and another build of the server.
fn files() -> [(&'static str, Vec<u8>); 4] {
    [
        ("server", file(&SERVER, DYNSYM, 0, "")),
        ("server.debug", file(&SERVER, SYMTAB, FUNCTIONS, "server")),
        ("libwork.so", file(&WORK, SYMTAB, FUNCTIONS, "work")),
        ("old/server", file(&[0xee; 20], SYMTAB, FUNCTIONS, "old")),
    ]
}

/// A session whose images are elsewhere: what crosses comes when the test says so.
struct Scene {
    session: Session,
    images: Images,
    /// Questions on their way to the images.
    asked: VecDeque<NameRequest>,
    /// Answers on their way to the session.
    said: VecDeque<NameAnswer>,
}

impl Scene {
    fn new() -> Self {
        let session = recording();
        let images = Images::new(session.profile().dsos.clone());
        Self { session, images, asked: VecDeque::new(), said: VecDeque::new() }
    }

    fn arrive(&mut self, (name, bytes): &(&str, Vec<u8>)) -> Vec<Finding> {
        let image = Image::open(name, Box::new(SliceSource::new(bytes.clone())));
        let _ = self.images.admit(name, image);
        self.images.take_findings()
    }

    /// Offers a file, and asks for names in slices of two addresses.
    fn offer(&mut self, file: &(&str, Vec<u8>)) {
        let findings = self.arrive(file);
        self.session.take_findings(findings);
        while let Some(request) = self.session.ask_names(2) {
            self.asked.push_back(request);
        }
    }

    /// Lets the images answer so many questions, and the session take in so many answers.
    fn go_on(&mut self, answers: usize, taken: usize) {
        for request in self.asked.drain(..answers.min(self.asked.len())) {
            self.said.push_back(self.images.name(&request));
        }
        for answer in self.said.drain(..taken.min(self.said.len())) {
            self.session.take_names(&answer);
        }
        self.session.show_names();
    }

    /// By frame its functions; and all that the ledger says but in which order files came.
    fn shown(&self) -> (Vec<String>, Vec<String>) {
        let rows = self.session.dsos().into_iter().map(|mut row| {
            row.tried.sort_by(|a, b| a.what.cmp(&b.what));
            serde_json::to_string(&row).expect("JSON")
        });
        (names(&self.session), rows.collect())
    }
}

/// By frame its functions, outermost first; `?` for none.
fn names(session: &Session) -> Vec<String> {
    let symbols = session.symbols();
    let frames = session.profile().frames.iter().map(|(frame, _)| {
        let levels = symbols.levels(frame).iter();
        let names = levels.map(|level| symbols.function(level.function).name.unwrap_or("?"));
        names.collect::<Vec<_>>().join(">")
    });
    frames.collect()
}

fn all_orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let shorter = all_orders(last).into_iter();
    let insert = |order: Vec<usize>| {
        (0..count).map(move |place| {
            let mut order = order.clone();
            order.insert(place, last);
            order
        })
    };
    shorter.flat_map(insert).collect()
}

#[test]
fn every_order_of_arrival_ends_in_the_same_columns() {
    let files = files();
    let mut at_once = Scene::new();
    for (name, bytes) in &files {
        let _ = at_once.session.admit(name, Box::new(SliceSource::new(bytes.clone())));
    }
    at_once.session.name_all_frames();
    let expected = at_once.shown();
    let is_right = |name: &String| name.starts_with("server") || name.starts_with("work");
    assert!(expected.0.len() as u64 == 2 * FUNCTIONS && expected.0.iter().all(is_right));

    for order in all_orders(files.len()) {
        // How many answers the images give, and the session takes in, after each file.
        for (answers, taken) in [(0, 0), (1, 0), (1, 1), (2, 1), (3, 2), (99, 0), (99, 1), (99, 99)]
        {
            let mut scene = Scene::new();
            for &index in &order {
                scene.offer(&files[index]);
                scene.go_on(answers, taken);
            }
            scene.go_on(usize::MAX, usize::MAX);
            assert_eq!(scene.shown(), expected, "{order:?} {answers} {taken}");
            assert!(scene.session.naming_progress().is_complete());
        }
    }
}

/// Names are shown together, whatever is asked meanwhile; who knew a call before finds it after that.
#[test]
fn what_is_asked_while_names_are_taken_in_moves_nothing() {
    let [_, debug, library, _] = files();
    let mut scene = Scene::new();
    let query = Query::default();
    let frames = |session: &mut Session, call_node| {
        let detail = session.call_node_detail(&query, call_node).expect("it is there");
        (detail.path_frames, detail.total_samples)
    };
    let calls: Vec<_> = (0..=2 * FUNCTIONS as u32).collect();
    let before: Vec<_> = calls.iter().map(|&call| frames(&mut scene.session, call)).collect();
    let generation = scene.session.generation();
    for file in [debug, library] {
        scene.offer(&file);
    }
    for request in std::mem::take(&mut scene.asked) {
        scene.session.take_names(&scene.images.name(&request));
        // Five trees, so that none of those that there were is left.
        for event in 0..5 {
            scene.session.total(&Query { event, ..Query::default() });
        }
        assert_eq!(scene.session.generation(), generation);
        scene.session.total(&query);
    }
    scene.session.show_names();
    assert_eq!(scene.session.generation(), generation + 1);
    for (call, before) in calls.into_iter().zip(before) {
        let now = scene.session.find_moved(&query, generation, call);
        assert_eq!(frames(&mut scene.session, now), before, "{call}");
    }
    scene.session.show_names();
    assert_eq!(scene.session.generation(), generation + 1, "there was nothing to show");
}

/// However much of the next views was made beforehand, and whatever came in between: until names are shown
/// all is as before, and after that as if nothing had been prepared.
#[test]
fn what_is_prepared_is_what_would_be_made() {
    let [_, debug, library, _] = files();
    let order = FunctionOrder::default();
    let window = FlameWindow { root: 0, width_px: 1000.0, min_px: 0.1, search: String::new() };
    let queries = [Direction::Callees, Direction::Inverted]
        .map(|direction| Query { direction, ..Query::default() });
    for query in &queries {
        let shown = |session: &mut Session| {
            let functions = session.functions(query, order, GroupBy::Function, 0, usize::MAX);
            let graph = session.flame_graph(query, &window);
            let threads = session.functions(query, order, GroupBy::Thread, 0, usize::MAX);
            format!("{functions:?} {graph:?} {threads:?}")
        };
        let mut plain = Scene::new();
        let before = shown(&mut plain.session);
        for file in [&debug, &library] {
            plain.offer(file);
        }
        plain.go_on(usize::MAX, usize::MAX);
        let after = shown(&mut plain.session);
        assert_ne!(before, after);

        // In steps of a row, so many of them before the last answers and after them.
        for (early, late) in [(0, 1), (1, 0), (3, 3), (5, 200), (200, 0), (200, 3), (200, 200)] {
            let mut scene = Scene::new();
            shown(&mut scene.session);
            for file in [&debug, &library] {
                scene.offer(file);
            }
            let mut asked = std::mem::take(&mut scene.asked);
            let last = asked.split_off(asked.len() / 2);
            for (requests, steps) in [(asked, early), (last, late)] {
                for request in requests {
                    scene.session.take_names(&scene.images.name(&request));
                }
                let mut step = || matches!(scene.session.prepare_names(1), ScanStep::Done(()));
                let is_prepared = (0..steps).any(|_| step());
                assert_eq!(is_prepared, steps == 200, "{early} {late}");
                assert_eq!(shown(&mut scene.session), before, "{early} {late}");
            }
            scene.session.show_names();
            assert_eq!(shown(&mut scene.session), after, "{early} {late}");
        }
    }
}

/// An export has all names, also those that no tree shows yet.
#[test]
fn an_export_begun_before_names_are_shown_has_them_all() {
    let [_, debug, library, _] = files();
    let queries = [Direction::Callees, Direction::Inverted]
        .map(|direction| Query { direction, ..Query::default() });
    let mut scene = Scene::new();
    for query in &queries {
        scene.session.total(query);
    }
    for file in [&debug, &library] {
        scene.offer(file);
    }
    for request in std::mem::take(&mut scene.asked) {
        scene.session.take_names(&scene.images.name(&request));
    }
    let before = queries.each_ref().map(|query| scene.session.export_collapsed(query));
    scene.session.show_names();
    let after = queries.each_ref().map(|query| scene.session.export_collapsed(query));
    assert_eq!(before, after);
    assert!(after.iter().all(|text| text.contains("server0") && text.contains("work0")));
}

/// The ledger does not say that a file names what it has not named and will not.
#[test]
fn a_file_that_is_lost_is_not_said_to_match() {
    let [_, debug, library, _] = files();
    let mut scene = Scene::new();
    scene.offer(&debug);
    scene.go_on(usize::MAX, usize::MAX);
    scene.offer(&library);
    scene.go_on(1, 1);
    scene.session.lose_names("it is gone");
    assert!(scene.session.naming_progress().is_complete());
    let rows = scene.session.dsos();
    let row = |path: &str| rows.iter().find(|row| row.path == path).expect("it was mapped");
    assert_eq!(row("/bin/server").status, Status::Matched);
    assert_eq!(row("/lib/libwork.so").status, Status::Missing);
    assert_eq!(row("/lib/libwork.so").reason.as_deref(), Some("it is gone"));
    // Given again it names all.
    let Scene { session, .. } = scene;
    let images = Images::new(session.profile().dsos.clone());
    let mut scene = Scene { session, images, asked: VecDeque::new(), said: VecDeque::new() };
    scene.offer(&library);
    scene.go_on(usize::MAX, usize::MAX);
    let named = |name: &&String| name.starts_with("work");
    assert_eq!(names(&scene.session).iter().filter(named).count() as u64, FUNCTIONS);
}

/// A file comes while names from another of its build are on their way: those are not awaited any more.
#[test]
fn what_was_asked_before_a_newer_file_names_nothing() {
    let [server, debug, ..] = files();
    let mut scene = Scene::new();
    scene.offer(&debug);
    scene.go_on(2, 0);
    assert!(scene.said.iter().all(|answer| answer.names.is_some()));
    scene.offer(&server);
    scene.go_on(0, 2);
    assert!(names(&scene.session).iter().all(|name| name == "?"));
    scene.go_on(usize::MAX, usize::MAX);
    let named = |name: &&String| name.starts_with("server");
    assert_eq!(names(&scene.session).iter().filter(named).count() as u64, FUNCTIONS);
}

/// Whoever stops waiting for answers has the names that came until then, and the rest when the files are
/// given again.
#[test]
fn answers_that_never_come_leave_no_trace() {
    let [_, debug, library, _] = files();
    let files = [debug, library];
    for taken in 0..FUNCTIONS as usize {
        let mut scene = Scene::new();
        for file in &files {
            scene.offer(file);
        }
        scene.go_on(usize::MAX, taken);
        scene.asked.clear();
        scene.said.clear();
        assert!(!scene.session.naming_progress().is_complete());
        let named = names(&scene.session).iter().filter(|name| *name != "?").count();
        assert_eq!(named, 2 * taken);
        // Given again, it is named from the beginning.
        for file in &files {
            scene.offer(file);
        }
        scene.go_on(usize::MAX, usize::MAX);
        assert!(scene.session.naming_progress().is_complete());
        assert!(names(&scene.session).iter().all(|name| name != "?"));
    }
}

fn identity(bytes: &[u8]) -> Identity {
    Identity::Gnu(BuildId::new(bytes).expect("not all zero"))
}

fn matched(identity: Identity, dsos: &[u32]) -> Finding {
    let dsos: Vec<DsoId> = dsos.iter().map(|&dso| DsoId(dso)).collect();
    let unplaced = vec![(DsoId(9), "nowhere".to_owned())];
    let file = MatchedFile { identity, gives: Default::default(), dsos, unplaced };
    Finding { name: "liar".to_owned(), package: None, outcome: Outcome::Matched(file) }
}

#[test]
fn findings_of_a_liar_match_nothing() {
    let mut scene = Scene::new();
    let before = scene.shown();
    let server =
        scene.session.dsos().iter().find(|row| row.path == "/bin/server").map(|row| row.id);
    let server = server.expect("it was recorded");
    scene.session.take_findings(vec![
        matched(identity(&WORK), &[server]),
        matched(identity(&[0xee; 20]), &[server]),
        matched(identity(&SERVER), &[9, u32::MAX]),
    ]);
    assert_eq!(scene.session.ask_names(9), None);
    assert_eq!(scene.shown(), before);

    // These concern DSOs that there are not.
    let toolchain = Some("a compiler".to_owned());
    let other_build = Some(OtherBuild { dso: DsoId(u32::MAX), found: "ee".to_owned(), toolchain });
    let why = "it is another build".to_owned();
    let refused = Outcome::Refused(Refusal { why, candidate: Candidate::Namesakes, other_build });
    for outcome in [refused, Outcome::Shared { dsos: vec![DsoId(9)] }] {
        let package = Some(Default::default());
        let finding = Finding { name: "liar".to_owned(), package, outcome };
        scene.session.take_findings(vec![finding]);
    }
    assert_eq!(scene.session.ask_names(9), None);
    assert_eq!(scene.shown(), before);
}

/// So many addresses, each in a function of its own.
fn invented(addresses: usize) -> AddressNames {
    let level = |function| {
        let function = Some(FunctionNumber(function));
        NamedLevel { function, file: None, line: None }
    };
    AddressNames {
        functions: (0..addresses).map(|function| format!("lie{function}")).collect(),
        lengths: vec![1; addresses],
        levels: (0..addresses as u32).map(level).collect(),
        ..AddressNames::default()
    }
}

#[test]
fn names_of_a_liar_name_nothing() {
    let [server, ..] = files();
    type Lie = fn(&NameRequest) -> NameAnswer;
    fn answer(request: &NameRequest, id: &[u8], names: AddressNames) -> NameAnswer {
        let names = Some(MatchedNames { identity: identity(id), names });
        NameAnswer { ticket: request.ticket, first: request.first, names, lost: None }
    }
    fn right(request: &NameRequest) -> NameAnswer {
        answer(request, &SERVER, invented(request.addresses.len()))
    }
    let lies: [Lie; 8] = [
        // Another build, one that is of another DSO of the recording, and frames that are not there.
        |request| answer(request, &[0xee; 20], invented(request.addresses.len())),
        |request| answer(request, &WORK, invented(request.addresses.len())),
        |request| answer(request, &SERVER, invented(request.addresses.len() + 1)),
        |request| answer(request, &SERVER, invented(0)),
        |request| NameAnswer { ticket: Ticket(request.ticket.0 + 1), ..right(request) },
        |request| NameAnswer { ticket: Ticket(u32::MAX), ..right(request) },
        |request| NameAnswer { first: request.first + 1, ..right(request) },
        |request| NameAnswer { first: u32::MAX, ..right(request) },
    ];
    for (index, lie) in lies.into_iter().enumerate() {
        let mut scene = Scene::new();
        scene.offer(&server);
        for request in std::mem::take(&mut scene.asked) {
            scene.session.take_names(&lie(&request));
        }
        assert!(names(&scene.session).iter().all(|name| name == "?"), "{index}");
    }
    // So the lie is what made the difference.
    let mut scene = Scene::new();
    scene.offer(&server);
    let first = scene.asked.pop_front().expect("it is to be named");
    scene.session.take_names(&right(&first));
    assert!(names(&scene.session).iter().any(|name| name == "lie0"));
    // Once more the same.
    let before = names(&scene.session);
    scene.session.take_names(&right(&first));
    assert_eq!(names(&scene.session), before);
}

#[test]
fn forced_names_are_of_the_code_that_was_asked_for() {
    let [server, _, _, old] = files();
    let mut scene = Scene::new();
    let row = scene.session.dsos().iter().find(|row| row.path == "/bin/server").map(|row| row.id);
    let dso = DsoId(row.expect("it was recorded"));
    let forced = |addresses| {
        let names = ForcedAddresses { names: invented(addresses) };
        ForcedFile { name: "liar".to_owned(), found: None, names }
    };
    let nowhere = scene.session.take_forced(DsoId(9), &forced(1));
    assert_eq!(nowhere, Err(ForceError::NoSuchDso));
    for addresses in [0, 1, 7] {
        let taken = scene.session.take_forced(dso, &forced(addresses));
        assert_eq!(taken, Err(ForceError::NamesNothing));
    }
    assert!(names(&scene.session).iter().all(|name| name == "?"));

    let addresses = scene.session.forceable(dso).expect("it is there");
    let source = Box::new(SliceSource::new(old.1));
    let insisted = scene.images.insist(dso, &addresses, "old", source);
    let Ok(InsistedFile::Forced(file)) = insisted else { panic!("{insisted:?}") };
    // The right file comes first after all.
    scene.offer(&server);
    scene.go_on(usize::MAX, usize::MAX);
    let before = scene.shown();
    assert_eq!(scene.session.take_forced(dso, &file), Err(ForceError::HasNames));
    assert_eq!(scene.shown(), before);
}

#[test]
fn images_are_asked_about_anything() {
    let mut scene = Scene::new();
    files().iter().for_each(|file| drop(scene.arrive(file)));
    for dso in [DsoId(9), DsoId(u32::MAX)] {
        let request = NameRequest {
            ticket: Ticket(1),
            dso,
            depth: NamingDepth::Inlined,
            first: 0,
            addresses: vec![CODE],
            rest: 0,
        };
        assert_eq!(scene.images.name(&request).names, None);
        assert_eq!(scene.images.function_code(dso, CODE), None);
        assert_eq!(scene.images.source_md5(dso, CODE, "a.c"), None);
        assert_eq!(scene.images.image_name(dso), None);
        let source = Box::new(SliceSource::new(Vec::new()));
        assert_eq!(scene.images.insist(dso, &[], "x", source), Err(ForceError::NoSuchDso));
    }
    // Addresses outside of any code, and an older ticket.
    let request = NameRequest {
        ticket: Ticket(7),
        dso: DsoId(0),
        depth: NamingDepth::Inlined,
        first: 5,
        addresses: vec![u64::MAX, 0, 1 << 63],
        rest: 0,
    };
    let names = scene.images.name(&request).names.expect("its file is here").names;
    assert!(names.functions.is_empty() && names.fit(3, 0, 0));
    let older = NameRequest { ticket: Ticket(6), ..request };
    assert_eq!(scene.images.name(&older).names, None);
}
