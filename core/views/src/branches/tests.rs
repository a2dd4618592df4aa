//! Blocks against a program that is run step by step, and histories.

use perftab_images::RecordedIdentities;
use perftab_names::{MatchedSymbols, Symbols};
use perftab_perfdata::decode::ByteOrder;
use perftab_perfdata::format::BuildId;
use perftab_profile::{
    DsoId, DsoKind, EmbeddedSymbol, EmbeddedSymbols, Frame, Identity, MappedFrom, Profile,
    SymbolsOf,
};

use super::blocks::{Block, BlockEnd, BlockStart, Blocks, blocks, timed_runs};
use super::history::{Before, History, HistoryBuilder, Step};
use super::rows::{BranchKey, BranchValue, rows};
use super::*;
use crate::weights::Sum;

const CODE: u64 = 0x1000;
const LENGTH: u64 = 0x100;

/// `walk` at [`CODE`], and behind it `step`.
struct Code {
    profile: Profile,
    dso: DsoId,
    symbols: Symbols,
}

impl Code {
    /// With frames at these addresses.
    fn new(addresses: impl IntoIterator<Item = u64>) -> Self {
        let mut profile = Profile::default();
        let id = BuildId::new(&[7; 20]).expect("not all zero");
        let dso = profile.dsos.intern("code", DsoKind::Kernel, MappedFrom::BuildId(id), None);
        for address in addresses {
            profile.frames.intern(Frame { dso, address });
        }
        let symbol =
            |address, name: &str| EmbeddedSymbol { address, size: LENGTH, name: name.into() };
        let embedded = vec![symbol(CODE, "walk"), symbol(CODE + LENGTH, "step")];
        let identity: Identity = profile.dsos.get(dso).identity.expect("it was mapped with one");
        let of = SymbolsOf::Build { identity, kind: DsoKind::Kernel };
        let embedded = EmbeddedSymbols::for_tests(of, "code", embedded);
        let recorded = RecordedIdentities::new(&profile.dsos);
        let matched = MatchedSymbols::admit(&recorded, embedded).expect("the identity is recorded");
        let mut symbols = Symbols::new(&profile);
        symbols.embedded(&profile, &matched);
        Self { profile, dso, symbols }
    }

    fn frame(&self, address: u64) -> Option<FrameId> {
        self.symbols.frame_at(&self.profile, self.dso, address)
    }

    fn branch(&self, from: u64, to: u64, flags: u64) -> Branch {
        let flags = BranchFlags::of_word(flags, ByteOrder::Little);
        Branch { from: self.frame(from), to: self.frame(to), flags }
    }

    fn blocks(&self, sums: &BranchSums) -> Blocks {
        let walk = self.symbols.merged(self.frame(CODE).expect("a frame"));
        blocks(&self.profile, &self.symbols, sums, walk)
    }
}

const PREDICTED: u64 = 2;
const MISPREDICTED: u64 = 1;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Instructions of one to three bytes, some of which jump somewhere now and then. What the windows of sixteen branches
/// say that ran is what ran.
#[test]
fn blocks_are_what_ran() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut starts = vec![CODE];
    while starts.len() < 40 {
        starts.push(starts[starts.len() - 1] + 1 + random.below(3));
    }
    let jumps: Vec<bool> = starts.iter().map(|_| random.below(3) == 0).collect();
    let targets: Vec<usize> = starts.iter().map(|_| random.below(40) as usize).collect();
    let code = Code::new(starts.iter().copied());
    // Each instruction that ran, with where it jumped to.
    let mut trace: Vec<(usize, Option<usize>)> = Vec::new();
    let mut at = 0;
    for _ in 0..5_000 {
        let is_last = at == starts.len() - 1;
        let jump = (is_last || jumps[at] && random.below(2) == 0).then_some(targets[at]);
        trace.push((at, jump));
        at = jump.unwrap_or(at + 1);
    }
    let taken: Vec<usize> = (0..trace.len()).filter(|&step| trace[step].1.is_some()).collect();
    let mut sums = BranchSums::default();
    let mut ran = vec![0_u64; starts.len()];
    let mut oldest = vec![0_u64; starts.len()];
    for window in taken.chunks(16) {
        let of = |&step: &usize| {
            let (from, to) = (trace[step].0, trace[step].1.expect("it jumps"));
            code.branch(starts[from], starts[to], PREDICTED | 3 << 4)
        };
        sums.add(window.iter().rev().map(of), BranchesAsked::Any, BranchDetail::Runs);
        oldest[trace[window[0]].0] += 1;
        (window[0]..=window[window.len() - 1]).for_each(|step| ran[trace[step].0] += 1);
    }
    let Blocks { blocks, ways, left_out } = code.blocks(&sums);
    assert_eq!(left_out, 0);
    assert!(blocks.len() > 10, "{blocks:?}");
    let mut seen = vec![false; starts.len()];
    for block in &blocks {
        let begins = match block.start {
            BlockStart::At(start) => starts.iter().position(|&it| it == start),
            BlockStart::Behind(branch) => starts.iter().position(|&it| it > branch),
        };
        let begins = begins.expect("an instruction");
        let ends = starts.iter().position(|&it| it >= block.end).unwrap_or(starts.len());
        if ends == begins {
            // What lies between is the rest of the branch.
            assert_eq!(block.end_of, BlockEnd::Next);
            continue;
        }
        let last = ends - 1;
        for (number, &ran) in ran.iter().enumerate().take(ends).skip(begins) {
            assert!(!seen[number], "instruction {number} is in two blocks");
            seen[number] = true;
            let only_ended = if number == last { 0 } else { oldest[last] };
            assert_eq!(block.executions, ran + only_ended, "instruction {number}");
        }
        let jumped = trace.iter().filter(|it| it.0 == last && it.1.is_some()).count() as u64;
        match block.end_of {
            BlockEnd::Branch { taken, mispredicted } => {
                assert_eq!((taken, mispredicted), (jumped, 0));
                assert!(taken <= block.executions);
            }
            BlockEnd::Next => assert_eq!(jumped, 0),
        }
        // Of each it is known how long it took.
        assert_eq!((block.timed, block.cycles), (jumped, 3 * jumped));
        let out = ways.iter().filter(|way| way.branch == starts[last]);
        let out: Vec<_> = out.map(|way| (way.to, way.taken)).collect();
        let only = (code.frame(starts[targets[last]]), jumped);
        assert_eq!(out, Vec::from_iter((jumped > 0).then_some(only)));
    }
    for (number, &ran) in ran.iter().enumerate() {
        assert_eq!(seen[number], ran > 0, "instruction {number} ran {ran} times");
    }
}

#[test]
fn what_cannot_be_ends_in_no_block() {
    let far = [0, CODE, CODE + 4, CODE + 8, CODE + LENGTH, u64::MAX];
    let code = Code::new(far);
    let mut sums = BranchSums::default();
    for &from in &far {
        for &to in &far {
            let both = [code.branch(from, to, u64::MAX); 2];
            sums.add(both.into_iter(), BranchesAsked::Any, BranchDetail::Runs);
            let nowhere = Branch { from: None, to: None, ..both[0] };
            let mixed = [nowhere, both[0], nowhere, both[1]];
            sums.add(mixed.into_iter(), BranchesAsked::Any, BranchDetail::Runs);
            sums.add(both.into_iter(), BranchesAsked::Some, BranchDetail::Runs);
        }
    }
    sums.add([].into_iter(), BranchesAsked::Any, BranchDetail::Runs);
    assert_eq!((sums.count, sums.samples, sums.without_runs), (36 * 8, 36 * 3, 36));
    let found = code.blocks(&sums);
    assert!(found.left_out > 0);
    for Block { start, end, .. } in found.blocks {
        let (BlockStart::At(start) | BlockStart::Behind(start)) = start;
        assert!((CODE..CODE + LENGTH).contains(&start) && start < end && end <= CODE + LENGTH);
    }
    for run in timed_runs(&code.profile, &code.symbols, &sums) {
        assert!(run.first.is_none_or(|first| first <= run.last.address));
    }
}

#[test]
fn rows_are_told_apart_by_what_is_asked() {
    let code = Code::new([CODE, CODE + 8, CODE + LENGTH]);
    let mut sums = BranchSums::default();
    let call = |flags| code.branch(CODE + 8, CODE + LENGTH, flags);
    let stack =
        [call(PREDICTED | 5 << 4), call(MISPREDICTED | 6 << 4), call(PREDICTED | 6 << 4 | 4)];
    sums.add(stack.into_iter(), BranchesAsked::Any, BranchDetail::EndsAndCycles);
    let counts = |keys: &[BranchKey]| {
        let rows = rows(&code.profile, &code.symbols, &sums, keys);
        let mut rows: Vec<_> = rows.into_iter().map(|row| (row.branches, row.values)).collect();
        rows.sort_by_key(|row| row.0);
        rows
    };
    let function =
        |address| BranchValue::Function(code.symbols.merged(code.frame(address).expect("a frame")));
    let both = [BranchKey::SymbolFrom, BranchKey::SymbolTo];
    assert_eq!(counts(&both), [(3, vec![function(CODE), function(CODE + LENGTH)])]);
    let is = |is, branches| (branches, vec![BranchValue::Is(is)]);
    assert_eq!(counts(&[BranchKey::Mispredict]), [is(true, 1), is(false, 2)]);
    assert_eq!(counts(&[BranchKey::InTransaction]), [is(true, 1), is(false, 2)]);
    let cycles = |cycles, branches| (branches, vec![BranchValue::Cycles(cycles)]);
    assert_eq!(counts(&[BranchKey::Cycles]), [cycles(5, 1), cycles(6, 2)]);
}

/// A history as text: a line for each step, addresses counted from [`CODE`].
fn text(code: &Code, history: &History) -> String {
    fn add(code: &Code, history: &History, step: &Step, level: usize, text: &mut String) {
        let at = |frame: FrameId| code.profile.frames.get(frame).address - CODE;
        let what = match step.before {
            Before::Leaf(frame) => {
                let function = code.symbols.merged(frame);
                code.symbols.function(function).name.expect("a name").to_owned()
            }
            Before::Branch(Some(from), Some(to)) => {
                format!("{:x}->{:x} x{}", at(from), at(to), step.taken.times)
            }
            Before::Branch(..) => "nowhere".to_owned(),
            Before::Caller(frame) => format!("from {:x}", at(frame)),
        };
        *text += &format!("{}{} {what}\n", "  ".repeat(level), step.sum.weight);
        for step in history.before(step) {
            add(code, history, &step, level + 1, text);
        }
    }
    let mut lines = String::new();
    for function in history.functions(&code.symbols) {
        add(code, history, &function, 0, &mut lines);
    }
    lines
}

#[test]
fn histories_fold_loops_and_have_no_call_twice() {
    let code = Code::new([0, 4, 8, 0x10, 0x14, 0x20, 0x80, 0x104, 0x100].map(|at| CODE + at));
    let at = |at: u64| code.frame(CODE + at).expect("a frame");
    let branch = |from: u64, to: u64| code.branch(CODE + from, CODE + to, PREDICTED);
    let mut builder = HistoryBuilder::default();
    let mut add = |stack: &[u64], branches: &[Branch], weight| {
        let stack = stack.iter().map(|&it| at(it));
        let sum = Sum { weight, samples: 1 };
        builder.add(&|frame| code.profile.frames.get(frame), stack, branches, sum);
    };
    // In `step`, called at 10 by `walk`, which went round a loop of two branches three times; called at 80.
    let round = [branch(0x20, 4), branch(8, 0x14)];
    let looped = [&[branch(0x10, 0x100)], &round[..], &round[..], &round[..]].concat();
    add(&[0x104, 0x14, 0x80], &looped, 5);
    add(&[0x100, 0x14, 0x80], &looped[..2], 2);
    add(&[0x8], &[Branch { from: None, to: None, ..round[0] }], 1);
    let history = builder.finish();
    assert_eq!((history.all, history.cut), (Sum { weight: 8, samples: 3 }, 0));
    let expected = "\
7 step
  7 10->100 x2
    7 20->4 x4
      5 8->14 x3
        5 from 80
      2 from 80
1 walk
  1 nowhere
";
    assert_eq!(text(&code, &history), expected);
}
