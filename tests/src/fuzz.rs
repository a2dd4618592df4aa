//! What is fuzzed, as plain functions of any bytes: the fuzz targets (`fuzz/`) call them, and
//! `tests/tests/pure/seeds.rs` replays the seeds through them without a fuzzer.
//!
//! They fail by panicking, which nothing in core may do whatever the bytes. Beyond that they hold
//! what is true of every input: how it is cut into blocks changes nothing.

use std::fmt::Debug;
use std::num::NonZeroU64;

use perftab_core::session::{
    ExportStep, FlameWindow, OfferStep, SampleWatcher, Session, StackDumps, TimeWindow,
};
use perftab_export::{Events, ExportRequest, Format};
use perftab_images::{
    CodeTable, Companion, DsoImages, FoundFunctions, Image, MadeCodeRules, MatchedImage,
    RecordedIdentities, RowMemory, UnwoundMachine, check_whole,
};
use perftab_names::Symbols;
use perftab_perfdata::decode::attr::{Attr, SampleLayout, TrailerLayout};
use perftab_perfdata::decode::compressed::ZstdStream;
use perftab_perfdata::decode::event_format::{SchedSwitchFields, SchedWakeupFields};
use perftab_perfdata::decode::features::Features;
use perftab_perfdata::decode::print_format::PrintFormat;
use perftab_perfdata::decode::sample_tail::{SampleTail, stack_dump};
use perftab_perfdata::decode::tracing_data::TracingData;
use perftab_perfdata::decode::unpack::UnpackErrorKind;
use perftab_perfdata::decode::wrapper::{Unwrap, Wrapper};
use perftab_perfdata::decode::{ByteOrder, SliceSource, records, sample};
use perftab_perfdata::format::feature::Feature;
use perftab_perfdata::format::perftab_section;
use perftab_profile::{
    DsoKind, EventId, ExecutableMapping, Frame, MappedFrom, Process, Profile, RecordedBy, Sample,
    Stacks, Thread,
};
use perftab_snapshot as snapshot;
use perftab_snapshot::{Privacy, ShareOptions, SnapshotError};
use perftab_views::branches::BranchDetail;
use perftab_views::branches::rows::BranchKey;
use perftab_views::breakdown::{Key, Measure};
use perftab_views::data_access::AccessKey;
use perftab_views::filter::{RangeSide, TimeRange};
use perftab_views::function_ref::FunctionRef;
use perftab_views::functions::FunctionOrder;
use perftab_views::grouped::GroupBy;
use perftab_views::transform::Transform;
use perftab_views::{Direction, Query};

use crate::open::{open_in_blocks, open_parts, open_unpacked_ahead, replay_parts};
use crate::synth::elf::{self, ElfSection};

/// A target's body.
pub type Target = fn(&[u8]);

/// All targets by name: that of the file in `fuzz/fuzz_targets/`, and of the folder with its seeds.
pub const TARGETS: &[(&str, Target)] = &[
    ("session_file", session_file),
    ("session_pipe", session_pipe),
    ("session_folder", session_folder),
    ("sample", sample),
    ("features", features),
    ("tracing_data", tracing_data),
    ("decompress", decompress),
    ("archive", archive),
    ("snapshot", snapshot),
    ("snapshot_packed", snapshot_packed),
    ("snapshot_body", snapshot_body),
    ("image", image),
    ("images", images),
    ("plt", plt),
];

/// How a warning of damaged packing begins in what `info --json` prints.
const UNPACKING: &str = r#""kind":"unpacking""#;

/// A whole recording of any form, from its bytes to all that a host asks of it.
pub fn session_file(file: &[u8]) {
    // Cut inside of records and of their headers; byte by byte where that is quick.
    let odd = if file.len() < 4096 { 1 } else { 1021 };
    let in_blocks =
        |block| open_in_blocks(file, block).map(answers).map_err(|error| error.to_string());
    let (whole, cut) = (in_blocks(file.len().max(1)), in_blocks(odd));
    // Of damaged xz the last piece may be missing, more of it or less.
    let is_damaged = |it: &Result<String, String>| !matches!(it, Ok(it) if !it.contains(UNPACKING));
    let may_differ = Wrapper::detect(file) == Some(Wrapper::Xz);
    let ahead = open_unpacked_ahead(file, file.len(), 4096).map_err(|error| error.to_string());
    let ahead = ahead.map(|ahead| ahead.map(|(session, _)| answers(session))).transpose();
    if !(may_differ && is_damaged(&whole) && is_damaged(&cut)) {
        if let Some(ahead) = ahead {
            assert_same(&whole, &ahead, "unpacked ahead");
        }
        assert_same(whole, cut, "blocks of another size");
    }
    branches(file);
}

/// What a second reading makes of the branches of a recording.
fn branches(file: &[u8]) {
    let block = file.len().max(1);
    let Ok(mut session) = open_in_blocks(file, block) else { return };
    let read = |watcher: SampleWatcher| {
        let shown = replay_parts(&[file], block, StackDumps::LeftOut, watcher);
        shown.expect("it opened before");
    };
    if let Ok(reading) = session.branch_history(&Query::default()) {
        read(reading.watcher());
        let history = session.take_branch_history(reading);
        session.history(&history, 100);
    }
    let Ok(reading) = session.branches(None, BranchDetail::Runs) else { return };
    read(reading.watcher());
    let sums = session.take_branches(reading);
    let keys = [BranchKey::SymbolFrom, BranchKey::DsoTo, BranchKey::Mispredict];
    let table = session.branch_table(&sums, &keys, usize::MAX);
    let counted: u64 = table.rows.iter().map(|row| row.branches).sum();
    assert_eq!(counted, table.branches, "each branch is in one row");
    session.timed_runs(&sums, 100);
    for function in session.symbols().function_ids().take(100) {
        let function = FunctionRef::of(session.profile(), session.symbols(), function);
        session.blocks(&sums, &function);
    }
}

/// A stream of records behind the header of a pipe, which is put in front where it is not there.
pub fn session_pipe(records: &[u8]) {
    let (magic, size) = (*b"PERFILE2", 16_u64.to_le_bytes());
    if records.starts_with(&magic) || records.starts_with(b"2ELIFREP") {
        session_file(records);
    } else {
        session_file(&[&magic, &size, records].concat());
    }
}

/// A recording in a folder: a length, that many bytes of `data`, and `data.0`. Which of two files
/// is read first may depend on the blocks, and with that the order of what is equally old; how
/// much there is may not.
pub fn session_folder(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let (main, part) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let counts = |block| {
        let session = open_parts(&[main, part], block).map_err(|error| error.to_string())?;
        let info = session.info();
        used(answers(session));
        Ok::<_, String>((info.samples, info.records, info.lost, info.aux))
    };
    assert_same(counts(1 << 20), counts(61), "blocks of another size");
}

/// All that a host asks of a session, as text.
fn answers(mut session: Session) -> String {
    session.name_all_frames();
    let mut texts = vec![
        serde_json::to_string(&session.info()).expect("JSON"),
        serde_json::to_string(&session.dsos()).expect("JSON"),
        format!("{:?}", session.coverage()),
    ];
    for (event, direction) in [(0, Direction::Callees), (1, Direction::Inverted)] {
        let query = Query { event, direction, ..Query::default() };
        let window =
            FlameWindow { root: 0, width_px: 1000.0, min_px: 0.5, search: String::from("e") };
        texts.push(format!("{:?}", session.total(&query)));
        texts.push(format!("{:?}", session.flame_graph(&query, &window)));
        let order = FunctionOrder::default();
        for by in [GroupBy::Function, GroupBy::File, GroupBy::Dso, GroupBy::Thread] {
            texts.push(format!("{:?}", session.functions(&query, order, by, 0, 100)));
        }
        let threads = &session.profile().threads.threads;
        let window = TimeWindow {
            thread: threads.first().map_or(0, |thread| thread.tid),
            start: 0.0,
            end: 1e18,
            width_px: 1000.0,
            min_px: 0.5,
            search: String::from("e"),
        };
        texts.push(format!("{:?}", session.time_order(&query, &window)));
        let keys = [
            Key::Comm,
            Key::Pid,
            Key::Tid,
            Key::Cpu,
            Key::Socket,
            Key::Time(NonZeroU64::MIN),
            Key::Dso,
            Key::File,
            Key::Line,
            Key::Function,
        ];
        texts.push(format!("{:?}", session.breakdown(&query, Measure::Period, &keys, order, 100)));
        let keys = AccessKey::ALL.map(Key::Access);
        texts.push(format!("{:?}", session.breakdown(&query, Measure::Cost, &keys, order, 100)));
        texts.push(format!("{:?}", session.callers(&query, 100, 1 << 20)));
        texts.push(format!("{:?}", session.search(&query, "a")));
        for format in Format::ALL {
            let (query, name) = (query.clone(), String::new());
            let request = ExportRequest { format, query, events: Events::All, name };
            let mut export = session.export(request);
            let mut file = Vec::new();
            while let ExportStep::More { .. } = export.step(&session, 1000, &mut file) {}
            if !format.is_packed() {
                texts.push(String::from_utf8(file).expect("it is text"));
            }
        }
    }
    texts.push(with_steps(&mut session));
    texts.join("\n")
}

/// What is shown after filters and steps of every kind; none of it may be lost on the way.
fn with_steps(session: &mut Session) -> String {
    let plain = Query::default();
    let nodes = session.call_tree_children(&plain, 0).call_node;
    let last = nodes.last().copied().unwrap_or_default();
    let below = session.call_tree_children(&plain, last).call_node;
    let path = session.call_node_path(&plain, below.last().copied().unwrap_or(last));
    let mut steps =
        vec![Transform::CollapseRecursion, Transform::Search { text: "/./".to_owned() }];
    if let (Some(function), Some(dso)) = (session.function_ref(0), session.dso_ref(0)) {
        steps.push(Transform::Merge { function: function.clone() });
        steps.push(Transform::CollapseFunction { function: function.clone() });
        steps.push(Transform::CollapseDso { dso });
        steps.push(Transform::Drop { function });
    }
    for direction in [Direction::Callees, Direction::Inverted] {
        steps.push(Transform::MergeCallNode { path: path.clone(), direction });
        steps.push(Transform::FocusSubtree { path: path.clone(), direction });
    }
    let range = Some(TimeRange { start: 1, end: 1 << 40, side: RangeSide::Inside });
    let mut texts = String::new();
    for direction in [Direction::Callees, Direction::Inverted] {
        let query = Query { direction, range, steps: steps.clone(), ..Query::default() };
        let shown = session.shown(&query);
        let removed: u64 = shown.removed.iter().map(|removed| removed.samples).sum();
        assert_eq!(shown.samples + removed, shown.all_samples, "samples are lost");
        texts += &format!("{shown:?} {:?}", session.total(&query));
    }
    texts
}

/// Byte order, an attr, and bytes that are read as a sample and as every other record.
pub fn sample(bytes: &[u8]) {
    let Some((order, rest)) = byte_order(bytes) else { return };
    let Ok(size) = Attr::stated_size(rest, 0, order) else { return };
    let room = (size as usize).clamp(64, 144).min(rest.len());
    let (attr, body) = rest.split_at(room);
    let Ok(attr) = Attr::read(attr, 0, order) else { return };
    let layout = SampleLayout::new(&attr);
    if let Some(raw) = sample::decode(&layout, body, order) {
        let words = raw.call_chain.iter().fold(0, u64::wrapping_add);
        let counters = raw.counters.map(|counters| counters.iter().collect::<Vec<_>>());
        let (tail, _) = SampleTail::decode(&layout.tail, raw.tail, order);
        let branches = tail.branches.map(|branches| branches.iter().collect::<Vec<_>>());
        let registers = tail.user_registers.map(|registers| registers.get(8));
        used((words, counters, branches, registers, tail));
    }
    if let Some(dump) = stack_dump(&layout, body, order) {
        assert!(body.get(dump).is_some(), "a stack dump lies in its sample");
    }
    all_records(body, &layout.trailer, order);
}

/// Every decoder of records on the same bytes.
fn all_records(bytes: &[u8], trailer: &TrailerLayout, order: ByteOrder) {
    let Some(header) = records::RecordHeader::read(bytes, order) else { return };
    used((trailer.task(bytes, order), trailer.cpu(bytes, order)));
    used(records::MmapRecord::decode(header, bytes, 0, order));
    used(records::CommRecord::decode(header, bytes, 0, order));
    used(records::TaskRecord::decode(header, bytes, 0, order));
    used(records::ThreadNames::decode(bytes, 0, order));
    used(records::EventUpdate::decode(bytes, 0, order));
    used(records::AuxTraceError::decode(bytes, 0, order));
    used(records::DeferredCallChain::decode(bytes, 0, order));
    used(records::decode_header_attr(bytes, 0, order));
    used(records::decode_feature(bytes, 0, order));
}

/// Byte order, the number of a feature, and its payload.
pub fn features(bytes: &[u8]) {
    let Some((order, [number, payload @ ..])) = byte_order(bytes) else { return };
    let mut features = Features::default();
    used(features.take(Feature(*number), payload, 0, order));
    used(&features);
    used(perftab_section::decode(payload).is_ok());
}

/// ftrace's metadata: a length, that many bytes of it, and bytes that its formats are applied to.
pub fn tracing_data(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (metadata, raw) = rest.split_at(length);
    let (data, _) = TracingData::read(metadata, 0);
    for format in data.formats.iter() {
        used(format.event_name());
        for field in format.own_fields() {
            used((field.read(raw), field.read_u64(raw)));
        }
        if let Some(print) = PrintFormat::of(format) {
            let mut text = String::new();
            print.write(raw, &|address| Some(("f".to_owned(), address)), &mut text);
            assert!(text.len() < 32 << 10, "{}", text.len());
        }
        used(SchedSwitchFields::of(format).as_ref().and_then(|fields| fields.read(raw)));
        used(SchedWakeupFields::of(format).and_then(|fields| fields.tid(raw)));
    }
}

/// A text with a link in it, or a saved page.
pub fn snapshot(text: &[u8]) {
    if let Some(carried) = snapshot::find(text) {
        shared(Session::from_carried(carried));
    }
}

/// What stands in a link behind the checksum: how its streams are packed, and they.
pub fn snapshot_packed(packed: &[u8]) {
    shared(Session::from_snapshot(&snapshot::seal(packed)));
}

/// What stands in a link behind checksum and coder: its streams, each behind its length in two bytes.
pub fn snapshot_body(bytes: &[u8]) {
    let mut streams = Vec::new();
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (stream, after) = after.split_at(length);
        streams.push(stream.to_vec());
        rest = after;
    }
    shared(Session::from_snapshot(&snapshot::payload_of(&streams)));
}

/// All that is asked of what was shared. It may be shared again, and opens then, however strange it is.
fn shared(opened: Result<Session, SnapshotError>) {
    let session = match opened {
        Ok(session) => session,
        Err(error) => return used(error.to_string()),
    };
    for (characters, privacy) in [(2_000, Privacy::default()), (usize::MAX, Privacy::everything())]
    {
        let options = ShareOptions { characters, privacy, ..ShareOptions::default() };
        if let Ok(again) = session.share(&options) {
            assert!(again.payload.len() <= characters, "a link is within its budget");
            if let Err(error) = Session::from_snapshot(&again.payload) {
                panic!("what was shared again does not open: {error}");
            }
        }
    }
    used(answers(session));
}

/// Packed bytes: as a whole recording in each of its formats, and as a stream of chunks.
pub fn decompress(packed: &[u8]) {
    if let Some(wrapper) = Wrapper::detect(packed) {
        let (large, small) = (unwrap(wrapper, packed, 4096), unwrap(wrapper, packed, 7));
        match (wrapper, &large, &small) {
            // Of damaged xz the last piece may be missing, and where it is cut as well, either may be
            // noticed first.
            (Wrapper::Xz, Some((_, Some(_))), Some((_, Some(_)))) => {}
            _ => assert_same(large, small, "a wrapper"),
        }
    }
    assert_same(chunks(packed, 4096), chunks(packed, 5), "a stream");
}

/// A file of any kind, offered to a recording: a packed one, an archive, what is in it.
pub fn archive(file: &[u8]) {
    let offered = |bytes: usize| {
        let mut session = open_in_blocks(&one_program(), 1 << 20).expect("a recording");
        let mut offer = session.offer("offered", Box::new(SliceSource::new(file)));
        // Small inputs can give gigabytes, which nobody waits for.
        for _ in 0..OUTPUT_MAX as usize / bytes.max(1 << 16) {
            match offer.step(&mut session, bytes) {
                OfferStep::More { done, total } => assert!(done <= total),
                OfferStep::Done(report) => {
                    session.name_all_frames();
                    return Some(report);
                }
            }
        }
        None
    };
    let (large, small) = (offered(1 << 20), offered(1));
    if let (Some(large), Some(small)) = (large, small) {
        assert_same(large, small, "steps of another size");
    }
}

/// A recording of one program, of which any build may be offered.
fn one_program() -> Vec<u8> {
    use crate::fixtures::story;
    use crate::synth::{MappedFile, Order, Recording};
    let mut recording = Recording::new(Order::Little, story::usual_events());
    let file = MappedFile::BuildId(&[0x11; 20]);
    recording.mmap2(story::at(10, 1_000, 0), &story::code(10, 0x1000, 0, file, "/bin/program"));
    recording.round();
    recording.file()
}

/// What came out of packed bytes and how it ended. `None` if it is more than is waited for: small
/// inputs can give gigabytes.
type Unpacked = Option<(Sum, Option<UnpackErrorKind>)>;

const OUTPUT_MAX: u64 = 32 << 20;

fn unwrap(wrapper: Wrapper, packed: &[u8], block: usize) -> Unpacked {
    let mut unwrap = Unwrap::new(wrapper);
    let mut sum = Sum::default();
    for block in packed.chunks(block) {
        let pushed = unwrap.push(block, &mut |piece| sum.add(piece));
        if sum.length > OUTPUT_MAX {
            return None;
        }
        if let Err(error) = pushed {
            return Some((sum, Some(error.kind)));
        }
    }
    let end = unwrap.finish(&mut |piece| sum.add(piece));
    (sum.length <= OUTPUT_MAX).then(|| (sum, end.err().map(|error| error.kind)))
}

fn chunks(packed: &[u8], chunk: usize) -> Unpacked {
    let mut stream = ZstdStream::default();
    let mut sum = Sum::default();
    let mut out = Vec::new();
    let mut error = None;
    for chunk in packed.chunks(chunk) {
        let pushed = stream.push(chunk, &mut out);
        sum.add(&out);
        out.clear();
        if sum.length > OUTPUT_MAX {
            return None;
        }
        if let Err(found) = pushed {
            error = Some(found.kind);
            break;
        }
    }
    stream.finish(&mut out);
    sum.add(&out);
    (sum.length <= OUTPUT_MAX).then_some((sum, error))
}

/// What came out, told apart from what did not without keeping it.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    length: u64,
    hash: u64,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.length <= OUTPUT_MAX {
            for byte in bytes {
                // FNV-1a, whose value does not depend on where pieces end.
                self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
    }
}

/// An input's first byte says the byte order of the rest.
fn byte_order(bytes: &[u8]) -> Option<(ByteOrder, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    Some((if first % 2 == 0 { ByteOrder::Little } else { ByteOrder::Big }, rest))
}

/// Touches all of a value, so that no part of it goes unread.
fn used(value: impl Debug) {
    drop(format!("{value:?}"));
}

fn assert_same<T: PartialEq + Debug>(one: T, other: T, what: &str) {
    assert!(one == other, "{what}:\n{one:?}\n{other:?}");
}

/// A binary or debug file that is the one recorded: what its sections, symbols, linkage tables, unwind
/// tables and DWARF say of addresses all over it.
pub fn image(file: &[u8]) {
    named(DsoKind::User, &[], file, &[]);
    placed(file);
    probed(file);
}

/// Where it can be probed, and what it loads.
fn probed(file: &[u8]) {
    let Ok(image) = Image::open("", Box::new(SliceSource::new(file))) else { return };
    used(image.static_probes());
    if let Ok(FoundFunctions::At(places)) = image.functions_called("main", Some(&image)) {
        assert!(!places.is_empty());
        used(places.into_iter().map(|at| image.code_offset(at)).collect::<Vec<_>>());
    }
    used(image.loads());
}

/// What a process says of its code, and samples at the first bytes and behind the last ones of each code.
fn placed(file: &[u8]) {
    let Ok(image) = Image::open("perf-7.map", Box::new(SliceSource::new(file))) else { return };
    let Some(Ok(table)) = image.code_table() else { return };
    assert_eq!(CodeTable::from_bytes(&table.to_bytes()).as_ref(), Some(&table));
    let mut profile = Profile::default();
    let name = profile.strings.intern("run time");
    let process = profile.threads.add_process(Process { pid: 7, name });
    let thread = profile.threads.add_thread(Thread { process, tid: 7, name });
    let [anon, jit] = [DsoKind::Anon, DsoKind::Jit]
        .map(|kind| profile.dsos.intern("code", kind, MappedFrom::Nothing, Some(process)));
    for change in table.changes() {
        for address in [change.start, change.end] {
            let frame = profile.frames.intern(Frame { dso: anon, address });
            let stack = profile.stacks.intern(Stacks::EMPTY, frame);
            let (time_nanos, event, cpu, weight) = (change.time_nanos, EventId(0), 0, 1);
            profile.samples.push(Sample { time_nanos, thread, stack, event, cpu, weight });
        }
    }
    let Some(run_time) = profile.run_times().into_iter().next() else { return };
    let met = profile.code_met(&run_time, table.changes());
    assert!(table.names_twice(&met.known) <= met.known.len() as u64);
    let named = profile.place_code(&run_time, jit, table.changes());
    assert!(met.known.len() as u64 <= met.addresses && met.known.is_empty() == named.is_empty());
    let rules = MadeCodeRules::of(table.clone().into(), UnwoundMachine::X86_64);
    let mut memory = RowMemory::default();
    for (frame, _) in named {
        let address = profile.frames.get(frame).address;
        used((table.line_at(address), rules.row(address, &mut memory)));
    }
}

/// Two files of one build, what was mapped of it, and whether it is a kernel module: a kind; a count of
/// mappings, each an offset and a length in pages of two bytes; the length of the first file in four; both
/// files. The second may also be what the first shares with others.
pub fn images(bytes: &[u8]) {
    let Some(([kind, count], mut rest)) = bytes.split_first_chunk() else { return };
    let mut mapped = Vec::new();
    for _ in 0..count % 8 {
        let Some(([a, b, c, d], after)) = rest.split_first_chunk() else { return };
        let pages = |low: u8, high: u8| u64::from(u16::from_le_bytes([low, high])) << 12;
        mapped.push(ExecutableMapping { offset: pages(*a, *b), length: Some(pages(*c, *d)) });
        rest = after;
    }
    let Some((length, rest)) = rest.split_first_chunk() else { return };
    let (first, second) = rest.split_at((u32::from_le_bytes(*length) as usize).min(rest.len()));
    let kind = if kind % 2 == 0 { DsoKind::User } else { DsoKind::Module };
    named(kind, &mapped, first, second);
    named(kind, &mapped, second, first);
}

/// A procedure linkage table: its machine in two bytes, its address in four, a count of slots, each eight
/// bytes, and its code.
pub fn plt(bytes: &[u8]) {
    let Some((machine, rest)) = bytes.split_first_chunk() else { return };
    let Some((address, rest)) = rest.split_first_chunk() else { return };
    let Some(([count], rest)) = rest.split_first_chunk() else { return };
    let (slots, code) = rest.split_at((usize::from(*count) * 8).min(rest.len()));
    let (slots, _) = slots.as_chunks::<8>();
    let machine = u16::from_le_bytes(*machine);
    // JUMP_SLOT, as in the psABI of each.
    let kind: u64 = match machine {
        183 => 1026,
        40 => 22,
        22 => 11,
        243 | 258 => 5,
        _ => 7,
    };
    let relocation = |slot: &[u8; 8]| [*slot, (1 << 32 | kind).to_le_bytes(), [0; 8]].concat();
    let relocations = slots.iter().map(relocation).collect::<Vec<_>>().concat();
    let symbols = [vec![0; 24], elf::symbol(1, 0, 0)].concat();
    let address = u64::from(u32::from_le_bytes(*address));
    let sections = [
        ElfSection { kind: elf::DYNSYM, flags: 2, link: ".dynstr", ..debug(".dynsym", &symbols) },
        ElfSection { kind: elf::STRTAB, flags: 2, ..debug(".dynstr", b"\0target\0") },
        ElfSection {
            kind: elf::RELA,
            flags: 2,
            link: ".dynsym",
            ..debug(".rela.plt", &relocations)
        },
        ElfSection { flags: 6, address, ..debug(".plt", code) },
    ];
    let mut file = elf::elf(&[0x11; 20], 64, &sections);
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    named(DsoKind::User, &[], &file, &[]);
}

/// Names a DSO at addresses all over its first file, if that is one.
fn named(kind: DsoKind, mapped: &[ExecutableMapping], first: &[u8], second: &[u8]) {
    const ADDRESSES: usize = 256;
    const MODULE: u64 = 0xffff_ffff_c000_0000;
    let open = |file: &[u8]| Image::open("image", Box::new(SliceSource::new(file.to_vec())));
    let Ok(image) = open(first) else { return };
    let mut profile = Profile::default();
    let dso = profile.dsos.intern("/image", kind, MappedFrom::Nothing, None);
    let recorded = profile.dsos.get_mut(dso);
    recorded.identity = image.identity();
    recorded.recorded_by = Some(RecordedBy::Mmap);
    mapped.iter().for_each(|&mapping| recorded.add_executable(mapping));
    recorded.kernel_place.reference = Some(MODULE).filter(|_| kind == DsoKind::Module);
    let base = recorded.kernel_place.reference.unwrap_or(0);
    for address in (0..first.len()).step_by(first.len().div_ceil(ADDRESSES).max(1)) {
        profile.frames.intern(Frame { dso, address: base + address as u64 });
    }
    let recorded = RecordedIdentities::new(&profile.dsos);
    let mut images = DsoImages::default();
    let mut symbols = Symbols::new(&profile);
    let mut resolve = |images: &DsoImages| {
        symbols.resolve(&profile, dso, images);
        for (frame, _) in profile.frames.iter() {
            assert!(!symbols.levels(frame).is_empty());
            let address = profile.frames.get(frame).address;
            used(images.function_code(dso, profile.dsos.get(dso), address));
            used(images.embedded_source(dso, profile.dsos.get(dso), address, "a.c"));
        }
        used((images.lost_inlines(dso), images.why_unplaced(dso, profile.dsos.get(dso))));
    };
    used(check_whole(&image).map_err(|error| error.to_string()));
    let Ok(matched) = MatchedImage::admit(&recorded, image) else { return };
    if images.add(matched).is_err() {
        return;
    }
    resolve(&images);
    let Ok(image) = open(second) else { return };
    match Companion::of(image) {
        Ok(companion) => used(images.add_companion(companion).map(|added| added.gives).is_ok()),
        Err(image) => {
            if let Ok(matched) = MatchedImage::admit(&recorded, *image) {
                used(images.add(matched).map(|added| added.gives));
            }
        }
    }
    resolve(&images);
}

fn debug<'a>(name: &'a str, bytes: &'a [u8]) -> ElfSection<'a> {
    ElfSection::debug(name, bytes)
}
