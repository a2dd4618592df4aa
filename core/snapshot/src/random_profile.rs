//! Random profiles with everything that a snapshot can hold, for tests.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use perftab_images::ImageContents;
use perftab_names::{Inlining, Level, Provenance};
use perftab_perfdata::format::BuildId;
use perftab_profile::{
    DsoId, DsoKind, Event, EventId, EventOrigin, Frame, FrameId, MappedFrom, Process, Sample,
    Stacks, Thread, ThreadId,
};
use perftab_views::Query;
use perftab_views::call_tree::{CallTree, Label};
use perftab_views::label::Labels;
use perftab_views::place_texts::{PlaceTexts, TextCheck};
use perftab_views::weights::Sum;

use super::container::{Method, pack};
use super::fields::Streams;
use super::*;

/// A DSO whose names are of the build that ran, and one whose names are another build's. Those of the
/// others came with the recording.
const MATCHED: &str = "/home/me/secret-project/server";
const FORCED: &str = "/home/me/other/server";
/// When the first sample can have been.
const START: u64 = 77_000_000_000;

/// Xorshift: the same numbers on every run.
pub(super) struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

pub(super) struct RandomProfile {
    pub profile: Profile,
    pub symbols: Symbols,
    pub ledger: Ledger,
    pub facts: Facts,
    pub warnings: Vec<Warning>,
}

impl RandomProfile {
    pub fn contents(&self) -> Contents<'_> {
        let Self { profile, symbols, ledger, facts, warnings } = self;
        Contents { profile, symbols, ledger, facts, warnings }
    }

    pub fn encode(&self, characters: usize) -> Result<EncodedSnapshot, TooSmall> {
        encode(&self.contents(), &ShareOptions { characters, ..ShareOptions::default() })
    }
}

/// A profile with everything that a snapshot can hold.
pub(super) fn random_profile(seed: u64, samples: u64) -> RandomProfile {
    let mut random = Random(seed * 2 + 1);
    let mut profile = Profile::default();
    let dsos = random_dsos(&mut profile);
    let mut frames: Vec<FrameId> = (0..60)
        .map(|_| {
            let dso = dsos[random.below(dsos.len() as u64) as usize];
            profile.frames.intern(Frame { dso, address: 0x1000 + random.below(1 << 40) })
        })
        .collect();
    let unmapped =
        profile.dsos.intern("[no mapping]", DsoKind::Unmapped, MappedFrom::Nothing, None);
    frames.push(profile.frames.intern(Frame { dso: unmapped, address: 3 }));
    frames.push(profile.frames.intern(Frame { dso: unmapped, address: 8 }));

    let threads = random_threads(&mut random, &mut profile);
    let regular = random.chance(50);
    for (name, origin) in [("cycles", EventOrigin::Recorded), ("offcpu-time", EventOrigin::Derived)]
    {
        profile.events.push(Event {
            name: name.to_owned(),
            origin,
            samples: 0,
            weight: 0,
            ..Event::default()
        });
    }
    for time in 0..samples {
        let mut stack = Stacks::EMPTY;
        // Few frames are likely, so that stacks share their beginnings.
        for _ in 0..random.below(12) {
            let spread = 1 + random.below(frames.len() as u64);
            stack = profile.stacks.intern(stack, frames[random.below(spread) as usize]);
        }
        let event = EventId(random.below(2) as u32);
        let weight = if regular { 4000 } else { random.below(1 << 34) };
        let thread = threads[random.below(threads.len() as u64) as usize];
        let time_nanos = START + time * 1_000_000 + random.below(999_000);
        let cpu = [0, 1, 2, 63, u16::MAX][random.below(5) as usize];
        profile.samples.push(Sample { time_nanos, thread, stack, event, cpu, weight });
        profile.events[event.index()].samples += 1;
        profile.events[event.index()].weight += weight;
    }

    let symbols = random_symbols(&mut random, &profile);
    let mut ledger = Ledger::new(&profile.dsos);
    ledger.matched(
        dsos[0],
        "/home/me/build/server",
        ImageContents { inlines: true, ..ImageContents::default() },
    );
    ledger.forced(dsos[1], "/home/me/new/server", None);
    let texts = texts_of(&profile, &symbols);
    let facts = Facts { texts, ..Facts::of(&profile) };
    let warnings = vec![Warning {
        kind: perftab_perfdata::error::WarningKind::Lost,
        offset: Some(17),
        count: 3,
        samples: Some(3),
        message: "3 samples were lost.".to_owned(),
    }];
    RandomProfile { profile, symbols, ledger, facts, warnings }
}

/// Two processes have the same name, one has several threads, and one thread was renamed.
fn random_threads(random: &mut Random, profile: &mut Profile) -> Vec<ThreadId> {
    let mut threads = Vec::new();
    let processes = [(70, "server"), (7, "worker"), (8, "worker"), (2, "kswapd0"), (99, "ünïcode")];
    for (pid, name) in processes {
        let name = profile.strings.intern(name);
        let process = profile.threads.add_process(Process { pid, name });
        threads.push(profile.threads.add_thread(Thread { process, tid: pid, name }));
        for tid in 0..random.below(3) as u32 {
            let name = profile.strings.intern(["pool", "io", "server"][random.below(3) as usize]);
            threads.push(profile.threads.add_thread(Thread { process, tid: 100 + tid, name }));
        }
    }
    threads
}

fn random_dsos(profile: &mut Profile) -> Vec<DsoId> {
    let id = |byte| BuildId::new(&[byte; 20]).expect("not zero");
    let (user, kernel) = (DsoKind::User, DsoKind::Kernel);
    let recorded = [
        (MATCHED, user, MappedFrom::BuildId(id(7))),
        (FORCED, user, MappedFrom::BuildId(id(8))),
        ("/usr/lib/x86_64-linux-gnu/libc.so.6", user, MappedFrom::BuildId(id(9))),
        ("/opt/x/libwithout.so", user, MappedFrom::Nothing),
        ("[kernel.kallsyms]", kernel, MappedFrom::BuildId(id(10))),
    ];
    let intern = |(path, kind, from)| profile.dsos.intern(path, kind, from, None);
    recorded.into_iter().map(intern).collect()
}

/// Names two thirds of the frames, some with inlined functions.
fn random_symbols(random: &mut Random, profile: &Profile) -> Symbols {
    let mut symbols = Symbols::new(profile);
    let frames: Vec<_> = profile.frames.iter().collect();
    for (id, frame) in frames {
        let kind = profile.dsos.get(frame.dso).kind;
        if kind == DsoKind::Unmapped || random.chance(33) {
            continue;
        }
        let provenance = match profile.dsos.get(frame.dso).path.as_str() {
            MATCHED => Provenance::Matched,
            FORCED => Provenance::Forced,
            _ => Provenance::Embedded,
        };
        let depth = if random.chance(30) { 1 + random.below(4) } else { 1 };
        let without_name = symbols.merged(id);
        let levels: Vec<_> = (0..depth)
            .map(|depth| {
                let number = random.below(12);
                let name = format!("shop::basket<int>::ƒ{number}(int)");
                // DWARF may know what is inlined into code that has no name itself.
                let function = match depth {
                    0 if number == 11 => without_name,
                    _ => symbols.named(frame.dso, &name, provenance),
                };
                let file = symbols.file_of_path(&format!("/home/me/secret-project/{number}.c"));
                let has_place = number.is_multiple_of(2) && function != without_name;
                Level {
                    function,
                    file: has_place.then_some(file),
                    line: NonZeroU32::new(random.below(3000) as u32).filter(|_| has_place),
                    inlining: if depth == 0 { Inlining::Called } else { Inlining::Inlined },
                }
            })
            .collect();
        symbols.set_levels(id, &levels);
    }
    symbols
}

/// What stands at all places but every third, with what nobody is to hear of.
fn texts_of(profile: &Profile, symbols: &Symbols) -> PlaceTexts {
    let mut texts = PlaceTexts::default();
    for (id, Frame { dso, address }) in profile.frames.iter().filter(|(id, _)| id.0 % 3 > 0) {
        let call = format!("call {address:#x} <shop::basket<int>::ƒ1(int)> of kswapd0");
        texts.add_instruction(dso, address, &call);
        for level in symbols.levels(id) {
            if let (Some(file), Some(line)) = (level.file, level.line) {
                let path = format!("/home/me/secret-project/{line}.h");
                texts.add_line(file, line, &format!("\tbasket(\"{path}\"); // of kswapd0"));
                texts.add_check(file, TextCheck::ALL[file.number() as usize % 4]);
            }
        }
    }
    texts
}

/// Every call node by its path: (self, total).
pub(super) fn table(
    profile: &Profile,
    symbols: &Symbols,
    query: &Query,
) -> BTreeMap<String, (Sum, Sum)> {
    let tree = CallTree::new(profile, symbols, query);
    let labels = Labels::new(profile, symbols);
    let text = |label: Label| {
        let dso = labels.dso(label).map(|dso| profile.dsos.get(dso).identity);
        format!("{} {dso:?} {:?} {}", labels.text(label), labels.kind(label), labels.marks(label))
    };
    let path = |id| {
        let path: Vec<_> = tree.path(id).into_iter().map(|id| text(tree.label(id))).collect();
        path.join("\n")
    };
    tree.ids().map(|id| (path(id), (tree.self_sum(id), tree.total(id)))).collect()
}

/// A payload of these streams, whatever is in them.
pub(super) fn deflated(streams: &Streams) -> String {
    pack(streams, Method::Deflated)
}
