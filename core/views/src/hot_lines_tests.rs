//! Stacks as text, with lines → where in functions samples ended.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use perftab_names::Level;
use perftab_profile::FrameId;

use super::build::build_with_ends;
use super::filter::{RangeSide, TimeRange};
use super::fixture::{Fixture, fixture, lines, ungrouped};
use super::function_ref::FunctionRef;
use super::hot_lines::{HotLines, KnownHeat, hot_lines};
use super::label::Labels;
use super::sandwich::sandwich;
use super::step_algebra_tests::{Random, stacks_of_any_kind, step_of_any_kind};
use super::step_model as model;
use super::step_tests::{function, step};
use super::weights::Sum;
use super::{Direction, Inlines, Query};

/// Gives the levels of each frame lines: of the outermost one that of the test, then 1 more for each.
fn with_lines(mut stacks: Fixture, line: impl Fn(FrameId, u64) -> Option<u32>) -> Fixture {
    let file = stacks.symbols.file_of_path("/src/app.c");
    let frames: Vec<_> = stacks.profile.frames.iter().collect();
    for (id, frame) in frames {
        let Some(first) = line(id, frame.address) else { continue };
        let levels = stacks.symbols.levels(id).to_vec();
        let levels: Vec<Level> = (first..)
            .zip(levels)
            .map(|(line, level)| Level { file: Some(file), line: NonZeroU32::new(line), ..level })
            .collect();
        stacks.symbols.set_levels(id, &levels);
    }
    stacks
}

fn hot(stacks: &Fixture, query: &Query, function: &FunctionRef) -> Option<HotLines> {
    let Fixture { profile, symbols } = stacks;
    let (built, ends) = build_with_ends(profile, symbols, query);
    let known = KnownHeat::default();
    hot_lines(profile, symbols, &known, query, (&built.tree, &ends), function)
}

/// `line: weight (of it inlined)`, in order; a line of 0 is unknown.
fn text(stacks: &Fixture, query: &Query, name: &str) -> String {
    let Some(hot) = hot(stacks, query, &function(stacks, name)) else {
        return "nothing".to_owned();
    };
    assert_eq!(hot.left_out, Sum::default());
    let mut rows: Vec<_> = hot.lines;
    rows.sort_by_key(|(line, _)| *line);
    let line = |line: Option<NonZeroU32>| line.map_or(0, NonZeroU32::get);
    let row = rows.iter().map(|(at, heat)| {
        format!("{}: {} ({})\n", line(at.line), heat.all.weight, heat.inlined.weight)
    });
    row.collect()
}

const STACKS: &str = "
    M A 5
    M A>H 2
    M A>H>I 3
    M A B 7
    M B A 1
    M B>H 9
    M 4
    ";

/// Frames by address: `A` is at line 10, `A>H` calls at 20, `A>H>I` at 30, `B` at 40, `B>H` at 50.
pub fn stacks_with_lines() -> Fixture {
    let stacks = fixture(STACKS);
    let symbols = &stacks.symbols;
    let labels = Labels::new(&stacks.profile, symbols);
    let word = |id: FrameId| -> String {
        let levels = symbols.levels(id).iter();
        levels.map(|level| labels.function_text(level.function)).collect::<Vec<_>>().join(">")
    };
    let words: BTreeMap<FrameId, String> =
        stacks.profile.frames.iter().map(|(id, _)| (id, word(id))).collect();
    with_lines(stacks, |id, _| match words[&id].as_str() {
        "A" => Some(10),
        "A>H" => Some(20),
        "A>H>I" => Some(30),
        "B" => Some(40),
        "B>H" => Some(50),
        _ => None,
    })
}

#[test]
fn a_sample_stands_at_the_line_of_the_function_that_is_asked_for() {
    let stacks = stacks_with_lines();
    let check = |name: &str, expected: &str| {
        assert_eq!(text(&stacks, &ungrouped(), name), lines(expected), "{name}");
    };
    check("A", "10: 6 (0)\n20: 2 (2)\n30: 3 (3)");
    check("B", "40: 7 (0)\n50: 9 (9)");
    // Of H, which was inlined in two functions, its own lines: one more than where it was inlined.
    check("H", "21: 2 (0)\n31: 3 (3)\n51: 9 (0)");
    check("I", "32: 3 (0)");
    // Without lines one row has it all.
    check("M", "0: 4 (0)");
    let none = function(&stacks, "N");
    assert_eq!(hot(&stacks, &ungrouped(), &none), None);
}

#[test]
fn where_inlining_is_merged_lines_are_those_that_instructions_were_made_of() {
    let stacks = stacks_with_lines();
    let merged = Query { inlines: Inlines::Merged, ..ungrouped() };
    let check = |name: &str, expected: &str| {
        assert_eq!(text(&stacks, &merged, name), lines(expected), "{name}");
    };
    check("A", "10: 6 (0)\n21: 2 (0)\n32: 3 (0)");
    assert_eq!(text(&stacks, &merged, "H"), "nothing");
    let hot = hot(&stacks, &merged, &function(&stacks, "A")).expect("A has samples");
    let labels = Labels::new(&stacks.profile, &stacks.symbols);
    let by_line = hot.instructions.iter().map(|row| {
        let inlined = row.inlined.map(|id| labels.function_text(id));
        (row.line.line.map_or(0, NonZeroU32::get), inlined)
    });
    let by_line: BTreeMap<_, _> = by_line.collect();
    let of = |name: &str| Some(name.to_owned());
    assert_eq!(by_line, BTreeMap::from([(10, None), (21, of("H")), (32, of("I"))]));
}

#[test]
fn what_a_step_moves_into_a_function_stands_at_its_call() {
    let stacks = stacks_with_lines();
    let check = |name: &str, steps: &[&str], expected: &str| {
        let steps = steps.iter().map(|text| step(&stacks, text)).collect();
        let query = Query { steps, ..ungrouped() };
        assert_eq!(text(&stacks, &query, name), lines(expected), "{name}");
    };
    // B ran 7 where A called it, at line 10; what is inlined into it is no call of A.
    check("A", &["merge B"], "10: 13 (0)\n20: 2 (2)\n30: 3 (3)");
    check("A", &["collapse A"], "10: 13 (0)\n20: 2 (0)\n30: 3 (0)");
    check("A", &["drop B"], "10: 5 (0)\n20: 2 (2)\n30: 3 (3)");
    check("B", &["merge A"], "40: 8 (0)\n50: 9 (9)");
    check("A", &["merge H"], "10: 6 (0)\n20: 2 (0)\n30: 3 (3)");
}

/// Whatever the stacks, filters and steps: lines and instructions add up to the function's own code,
/// and nothing is left out.
#[test]
fn lines_and_instructions_add_up_to_own_code() {
    let mut random = Random(0x5eed_1e55_0dd5_0ff5);
    let mut met = 0;
    for round in 0..400 {
        let text = stacks_of_any_kind(&mut random);
        let mut stacks = with_lines(fixture(&text), |id, _| (id.0 % 3 > 0).then_some(7 + id.0 % 5));
        for row in 0..stacks.profile.samples.len() {
            stacks.profile.samples.cpu.set(row, random.below(3) as u16);
        }
        let inlines = [Inlines::Shown, Inlines::Merged][random.below(2)];
        let mut rows = model::read(&text, inlines);
        let mut query = Query { inlines, ..Query::default() };
        let mut words = Vec::new();
        for _ in 0..random.below(4) {
            if let Some(word) = step_of_any_kind(&mut random, &stacks, &rows) {
                rows = model::take(&rows, &word);
                query.steps.push(step(&stacks, &word));
                words.push(word);
            }
        }
        if random.below(2) == 0 {
            query.cpus = vec![random.below(3) as u16];
        }
        if random.below(2) == 0 {
            let (start, end) = (random.below(8) as u64, random.below(30) as u64);
            query.range = Some(TimeRange { start, end, side: RangeSide::Inside });
        }
        let Fixture { profile, symbols } = &stacks;
        let (built, ends) = build_with_ends(profile, symbols, &query);
        for id in symbols.function_ids() {
            let function = FunctionRef::of(profile, symbols, id);
            let (known, shown) = (KnownHeat::default(), (&built.tree, &ends));
            let hot = hot_lines(profile, symbols, &known, &query, shown, &function);
            let facts = sandwich(profile, symbols, &built.tree, &function);
            let context = format!("round {round}\n{text}\n{words:?} {query:?} {function:?}");
            assert_eq!(
                hot.as_ref().map(|hot| hot.own_code),
                facts.map(|it| it.own_code),
                "{context}"
            );
            let Some(hot) = hot else { continue };
            assert_eq!(hot.left_out, Sum::default(), "{context}");
            let all = |heats: &mut dyn Iterator<Item = Sum>| {
                let mut all = Sum::default();
                heats.for_each(|sum| all.add(sum));
                all
            };
            assert_eq!(all(&mut hot.lines.iter().map(|row| row.1.all)), hot.own_code, "{context}");
            let instructions = || hot.instructions.iter();
            assert_eq!(all(&mut instructions().map(|row| row.heat.all)), hot.own_code, "{context}");
            assert_eq!(
                all(&mut instructions().map(|row| row.heat.inlined)),
                all(&mut hot.lines.iter().map(|row| row.1.inlined)),
                "{context}"
            );
            met += 1;
        }
    }
    assert!(met > 1000, "{met} functions were looked at");
}

/// Without steps a sample's place is told by its innermost frame alone: the same sums, sample by sample.
#[test]
fn without_steps_only_the_innermost_frame_counts() {
    let mut random = Random(1234);
    for _ in 0..60 {
        let text = stacks_of_any_kind(&mut random);
        let stacks = with_lines(fixture(&text), |id, _| (id.0 % 4 > 0).then_some(3 + id.0 % 7));
        let Fixture { profile, symbols } = &stacks;
        for id in symbols.function_ids() {
            let mut by_line: BTreeMap<_, u64> = BTreeMap::new();
            let mut by_address: BTreeMap<_, u64> = BTreeMap::new();
            for row in 0..profile.samples.len() {
                let Some((_, frame)) = profile.stacks.get(profile.samples.stack[row]) else {
                    continue;
                };
                let of_it = symbols.levels(frame).iter().find(|level| level.function == id);
                if let Some(level) = of_it {
                    let weight = profile.samples.weight.at(row);
                    *by_line.entry((level.file, level.line)).or_default() += weight;
                    *by_address.entry(profile.frames.get(frame).address).or_default() += weight;
                }
            }
            let function = FunctionRef::of(profile, symbols, id);
            let query = Query { direction: Direction::Callees, ..Query::default() };
            // What lies in no mapping is no function, though each run of it has a frame; and an
            // address that has a name now means what covers it.
            let frames = || profile.frames.iter();
            let is_it = |level: &Level| level.function == id;
            if !frames().any(|(frame, _)| symbols.levels(frame).iter().any(is_it)) {
                continue;
            }
            let Some(hot) = hot(&stacks, &query, &function) else { continue };
            let found = hot.lines.iter().map(|(at, heat)| ((at.file, at.line), heat.all.weight));
            assert_eq!(found.collect::<BTreeMap<_, _>>(), by_line, "{text} {function:?}");
            let found = hot.instructions.iter().map(|it| (it.address, it.heat.all.weight));
            assert_eq!(found.collect::<BTreeMap<_, _>>(), by_address, "{text} {function:?}");
        }
    }
}
