//! Where in the code of the hottest functions samples ended: what a snapshot can tell of it, and as
//! many functions as there is room for.
//!
//! What is told of a function is told of all that the snapshot keeps of its own code, or not at all.

use perftab_perfdata::map::{Map, Set};
use perftab_perfdata::slice::Slice;
use perftab_perfdata::sorting::{sort, sort_by, sort_by_key};
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use perftab_names::{FunctionId, Provenance, Symbols};
use perftab_profile::{DsoId, Frame, FrameId};
use perftab_views::Query;
use perftab_views::call_tree::Label;
use perftab_views::hot_lines::{KnownPlace, Origin, SourceLine, place_in};
use perftab_views::place_texts::TextCheck;
use perftab_views::weights::Sum;

use super::body::Body;
use super::dsos::Tables;
use super::sums::Unit;
use super::texts::RedactedText;
use crate::fields::{Field, Writer, zigzag};
use crate::origins::{self, Origins};
use crate::selection::Selection;
use crate::tree::Tree;
use crate::{
    Contents, Disclosure, MAX_HOT_FUNCTIONS, MAX_HOT_PLACES, MAX_NODES, ShareOptions, codes,
};

/// Bytes that may be taken where nothing else is large.
const LEAST_ROOM: usize = 3 << 10;
/// The same of snapshots with what stands at lines and addresses.
const LEAST_ROOM_OF_TEXTS: usize = 12 << 10;

/// One part in so many may be taken: of what is asked for, and of all else where that is large.
pub(super) fn part(contents: &Contents<'_>, options: &ShareOptions) -> usize {
    if options.includes_texts(contents) { 4 } else { 20 }
}

/// The functions whose own code a call node is: its own, and those that it is inlined into.
fn owners(tree: &Tree, node: u32) -> impl Iterator<Item = FunctionId> + '_ {
    let chain = std::iter::successors(Some(node), |&node| {
        let node = &tree.nodes[node as usize];
        matches!(node.label, Label::Inlined(_)).then_some(node.parent)
    });
    chain.filter_map(|node| tree.nodes[node as usize].label.function())
}

/// Samples of a hot function by where they ended: sums of call nodes, frames and events.
pub(super) struct Heat {
    /// Most weight first.
    functions: Vec<FunctionId>,
    /// By function, then frame.
    cells: Vec<(Cell, Sum)>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Cell {
    /// Position in [`Heat::functions`].
    function: u32,
    frame: FrameId,
    node: u32,
    event: u16,
}

/// Where samples ended: whoever can read it tells what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HotPlace {
    /// Whose code it is.
    pub dso: DsoId,
    /// As [`Frame::address`]: of a call one less than what it returns to.
    pub address: u64,
    /// What it was made of, or where that was inlined.
    pub line: SourceLine,
}

impl Heat {
    /// Each place once, in order.
    pub fn places(&self, contents: &Contents<'_>) -> Vec<HotPlace> {
        let Contents { profile, symbols, .. } = *contents;
        let places = self.cells.iter().flat_map(|(cell, _)| {
            let Frame { dso, address } = profile.frames.get(cell.frame);
            let function = self.functions[cell.function as usize];
            let line = line_in(symbols, cell.frame, function).unwrap_or_default();
            let origin = origin_in(symbols, cell.frame, function).map(|origin| origin.line);
            [Some(line), origin.filter(|origin| *origin != line)]
                .into_iter()
                .flatten()
                .map(move |line| HotPlace { dso, address, line })
        });
        let mut places: Vec<HotPlace> = places.collect();
        sort(&mut places);
        places.dedup();
        places
    }
}

/// The line at which a frame is in a function.
fn line_in(symbols: &Symbols, frame: FrameId, function: FunctionId) -> Option<SourceLine> {
    let level = symbols.levels(frame).iter().find(|level| level.function == function)?;
    Some(SourceLine::of(level))
}

/// What a frame was made of, in a function that is not inlined there.
fn origin_in(symbols: &Symbols, frame: FrameId, function: FunctionId) -> Option<Origin> {
    let outermost = symbols.levels(frame).first()?;
    (outermost.function == function).then(|| Origin::of(symbols, frame))
}

impl Heat {
    /// Of what a query leaves, which a tree was made of. In slices of rows.
    pub async fn of(
        contents: &Contents<'_>,
        query: Option<&Query>,
        tree: &Tree,
        slice: &Slice,
    ) -> Self {
        let Contents { profile, symbols, .. } = *contents;
        let samples = &profile.samples;
        let functions = hottest(contents, tree);
        let numbers: Map<FunctionId, u32> = functions.iter().copied().zip(0..).collect();
        // By call node: whether it is code of one of them.
        let is_hot = |node| owners(tree, node).any(|function| numbers.contains_key(&function));
        let is_hot: Vec<bool> = (0..tree.nodes.len() as u32).map(is_hot).collect();
        let inlines = query.map(|query| query.inlines).unwrap_or_default();
        let mut sums: Map<Cell, Sum> = Map::new();
        let mut met = Vec::new();
        let mut rows = 0..samples.len();
        while let Some(part) = slice.part(&mut rows).await {
            let rows = tree.rows_in(profile, part);
            for (row, node) in rows.filter(|&(_, node)| is_hot[node as usize]) {
                let stack = samples.stack[row];
                let sum = Sum { weight: samples.weight.at(row), samples: samples.count(row) };
                met.clear();
                for id in owners(tree, node) {
                    let Some(&function) = numbers.get(&id) else { continue };
                    if met.contains(&id) {
                        continue;
                    }
                    met.push(id);
                    let is_it = |other| other == id;
                    let Some((frame, _)) = place_in(profile, symbols, inlines, is_it, stack) else {
                        continue;
                    };
                    let cell = Cell { function, frame, node, event: samples.event[row] };
                    sums.entry(cell).or_default().add(sum);
                }
            }
        }
        let mut cells: Vec<(Cell, Sum)> = sums.into_iter().collect();
        sort_by_key(&mut cells, |(cell, _)| *cell);
        Self { functions, cells }
    }
}

/// Functions with a name, those with the largest part of an event's weight in their own code first.
fn hottest(contents: &Contents<'_>, tree: &Tree) -> Vec<FunctionId> {
    let mut shares: Map<FunctionId, f64> = Map::new();
    for node in 0..tree.nodes.len() as u32 {
        let part = |event| {
            let all = tree.all(event).weight.max(1);
            tree.own(node as usize, event).weight as f64 / all as f64
        };
        let share = (0..tree.events()).map(part).fold(0.0, f64::max);
        if share > 0.0 {
            owners(tree, node).for_each(|id| *shares.entry(id).or_default() += share);
        }
    }
    let has_name = |id: &FunctionId| {
        let function = contents.symbols.function(*id);
        function.name.is_some() && function.provenance != Provenance::Unnamed
    };
    let mut functions: Vec<_> = shares.into_iter().filter(|(id, _)| has_name(id)).collect();
    sort_by(&mut functions, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    // With so many places they are half of what may have sums, each of every event.
    functions.truncate(MAX_HOT_FUNCTIONS.min(MAX_NODES / 2 / tree.events().max(1)));
    functions.into_iter().map(|(id, _)| id).collect()
}

/// A function as it is written.
struct HotFunction<'a> {
    code: u64,
    /// In order; of each a sum for each event.
    places: Vec<(Place<'a>, Vec<Sum>)>,
}

/// A place as far as it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place<'a> {
    address: Option<u64>,
    line: Option<Line<'a>>,
    is_inlined: bool,
    /// Where the function is not inlined itself.
    origin: Option<ToldOrigin<'a>>,
    /// What stands at the address.
    assembly: Option<Text<'a>>,
}

/// What code was made of, as far as it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ToldOrigin<'a> {
    /// Of the line of the place.
    Own,
    /// Of another function's, whose number is 0 if it is not told.
    Inlined(u64, Line<'a>),
}

/// A line as far as it is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Line<'a> {
    file: Option<Text<'a>>,
    /// 0 is one that is not known.
    number: u32,
    /// What stands there.
    source: Option<Text<'a>>,
    /// What speaks for that.
    check: TextCheck,
}

impl<'a> Place<'a> {
    /// The line of what is inlined there.
    fn inlined_line(&self) -> Option<Line<'a>> {
        match self.origin {
            Some(ToldOrigin::Inlined(_, line)) => Some(line),
            Some(ToldOrigin::Own) | None => None,
        }
    }
}

/// A text that is told, compared by what it says.
#[derive(Clone, Copy)]
struct Text<'a>(RedactedText<'a>);

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.text().cmp(other.0.text())
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text().hash(state);
    }
}

impl<'a> Body<'_, 'a> {
    /// Writes as many of the hottest functions as there is room for.
    pub fn write_heat(&self, out: &mut Writer<'a>, tables: &Tables, units: &[Unit]) {
        let privacy = &self.options.privacy;
        let Some(heat) = self.room.heat else { return };
        if privacy.files == Disclosure::LeftOut && privacy.addresses == Disclosure::LeftOut {
            return;
        }
        let hot = self.hot_functions(heat, tables);
        let least = match self.options.includes_texts(self.contents) {
            true => LEAST_ROOM_OF_TEXTS,
            false => LEAST_ROOM,
        };
        let of_all_else = out.packed_about() / part(self.contents, self.options);
        let bytes = of_all_else.max(least).min(self.room.heat_bytes);
        let (mut fits, mut too_many) = (0, hot.len() + 1);
        let mut best = None;
        while fits + 1 < too_many {
            // All of it, or half of what may still be.
            let count = if too_many > hot.len() { hot.len() } else { (fits + too_many) / 2 };
            let part = self.heat_of(&hot[..count], units);
            match part.packed_about() <= bytes {
                true => (fits, best) = (count, Some(part)),
                false => too_many = count,
            }
        }
        if let Some(part) = best {
            out.append(part);
        }
    }

    /// Those of which everything that is kept can be told, the hottest first.
    fn hot_functions(&self, heat: &Heat, tables: &Tables) -> Vec<HotFunction<'a>> {
        let kept = SelectedCode::new(self.tree, self.selection, &heat.functions);
        let mut rest = heat.cells.as_slice();
        let mut hot = Vec::new();
        let mut places_left = MAX_HOT_PLACES.min(MAX_NODES / 2 / kept.events.max(1));
        for (&id, number) in heat.functions.iter().zip(0..) {
            let (cells, after) = rest.split_at(rest.partition_point(|it| it.0.function <= number));
            rest = after;
            let own = kept.own.get(&id);
            let (Some(&code), Some(own)) = (tables.codes.get(&id), own) else { continue };
            if own.iter().all(|sum| *sum == Sum::default()) || self.texts.function(id).is_none() {
                continue;
            }
            let codes = &tables.codes;
            let mut places = self.places_of_cells((id, codes), cells, &kept);
            self.add_known((id, codes), own, &mut places);
            let mut sum_of_places = vec![Sum::default(); own.len()];
            for sums in places.values() {
                sum_of_places.iter_mut().zip(sums).for_each(|(all, sum)| all.add(*sum));
            }
            if sum_of_places == *own && places.len() <= places_left {
                places_left -= places.len();
                hot.push(HotFunction { code, places: places.into_sorted() });
            }
        }
        hot
    }

    fn places_of_cells(
        &self,
        (id, codes): (FunctionId, &Map<FunctionId, u64>),
        cells: &[(Cell, Sum)],
        kept: &SelectedCode,
    ) -> Map<Place<'a>, Vec<Sum>> {
        let Contents { profile, symbols, .. } = *self.contents;
        let mut places: Map<Place<'a>, Vec<Sum>> = Map::new();
        for &(cell, sum) in cells.iter().filter(|(cell, _)| kept.nodes[cell.node as usize]) {
            let line = line_in(symbols, cell.frame, id);
            let is_inlined = self.tree.nodes[cell.node as usize].label.function() != Some(id);
            let Frame { dso, address } = profile.frames.get(cell.frame);
            let origin = origin_in(symbols, cell.frame, id);
            let known =
                KnownPlace { address: Some(address), line, is_inlined, origin, sums: Vec::new() };
            let place = self.place(dso, &known, codes);
            let sums = places.entry(place).or_insert_with(|| vec![Sum::default(); kept.events]);
            sums[usize::from(cell.event)].add(sum);
        }
        places
    }

    /// What an earlier snapshot told of a function, if that is all of it.
    fn add_known(
        &self,
        (id, codes): (FunctionId, &Map<FunctionId, u64>),
        own: &[Sum],
        places: &mut Map<Place<'a>, Vec<Sum>>,
    ) {
        let Some(known) = self.contents.facts.heat.get(id) else { return };
        if !places.is_empty() || known.own_code != own {
            return;
        }
        let dso = self.contents.symbols.function(id).dso;
        for known in &known.places {
            let place = self.place(dso, known, codes);
            let sums = places.entry(place).or_insert_with(|| vec![Sum::default(); own.len()]);
            sums.iter_mut().zip(&known.sums).for_each(|(sum, more)| sum.add(*more));
        }
    }

    /// A place as far as it may be told.
    fn place(&self, dso: DsoId, known: &KnownPlace, codes: &Map<FunctionId, u64>) -> Place<'a> {
        let privacy = &self.options.privacy;
        let tells_lines = privacy.files == Disclosure::Included;
        let address = known.address.filter(|_| privacy.addresses == Disclosure::Included);
        let line = known.line.filter(|_| tells_lines);
        let told = |origin: Origin| {
            if origin.inlined.is_none() && Some(origin.line) == line {
                return ToldOrigin::Own;
            }
            let function = origin.inlined.and_then(|id| codes.get(&id));
            ToldOrigin::Inlined(function.copied().unwrap_or_default(), self.line(origin.line))
        };
        Place {
            address,
            line: line.map(|line| self.line(line)),
            is_inlined: known.is_inlined,
            origin: known.origin.filter(|_| tells_lines).map(told),
            assembly: address.and_then(|at| self.texts.instruction(dso, at)).map(Text),
        }
    }

    /// A line as far as it may be told.
    fn line(&self, at: SourceLine) -> Line<'a> {
        let source = self.texts.line(at).map(Text);
        let file = at.file.and_then(|file| self.texts.file(file)).map(Text);
        let checked = at.file.filter(|_| source.is_some());
        Line {
            file: file.filter(|file| !file.0.text().is_empty()),
            number: at.line.map_or(0, NonZeroU32::get),
            source,
            check: checked.map_or(TextCheck::Unknown, |file| self.contents.facts.texts.check(file)),
        }
    }

    /// Writes these functions.
    fn heat_of(&self, hot: &[HotFunction<'a>], units: &[Unit]) -> Writer<'a> {
        let mut out = Writer::default();
        if hot.is_empty() {
            return out;
        }
        let mut in_order: Vec<&HotFunction<'a>> = hot.iter().collect();
        sort_by_key(&mut in_order, |hot| hot.code);
        let places = || in_order.iter().flat_map(|hot| &hot.places);
        let has_addresses = places().all(|(place, _)| place.address.is_some());
        let has_lines = places().all(|(place, _)| place.line.is_some());
        if !has_addresses && !has_lines {
            return out;
        }
        out.number(Field::HeatFunctions, hot.len() as u64);
        let mut code = 0;
        for hot in &in_order {
            out.number(Field::HeatFunctions, hot.code - code);
            out.number(Field::HeatFunctions, hot.places.len() as u64);
            code = hot.code;
        }
        let mut files = Files::default();
        let (mut address, mut line) = (0u64, 0);
        for (place, _) in places() {
            let own = place.line.filter(|_| has_lines);
            let file = files.number(&mut out, own);
            out.number(Field::HeatPlaces, file << 1 | u64::from(place.is_inlined));
            if let Some(own) = place.address.filter(|_| has_addresses) {
                out.number(Field::HeatAddresses, zigzag(own.wrapping_sub(address) as i64));
                address = own;
            }
            if let Some(Line { number, .. }) = own {
                out.number(Field::HeatLines, zigzag(i64::from(number) - line));
                line = i64::from(number);
            }
        }
        if has_lines {
            write_origins(&mut out, &in_order, &mut files);
            let files = files.0.keys().copied();
            write_source(&mut out, files, places().map(|(place, _)| place));
        }
        if has_addresses && places().any(|(place, _)| place.assembly.is_some()) {
            for (place, _) in places() {
                out.optional_text(Field::HeatAssembly, place.assembly.map(|text| text.0));
            }
        }
        for (event, unit) in units.iter().enumerate() {
            for (_, sums) in places() {
                out.number(Field::HeatCounts, sums[event].samples);
                if !unit.is_regular {
                    out.number(Field::HeatWeights, sums[event].weight / unit.unit);
                }
            }
        }
        out
    }
}

/// Files of places, in the order in which they come.
#[derive(Default)]
struct Files<'a>(Map<Text<'a>, u64>);

impl<'a> Files<'a> {
    /// 1 + the place of a line's file, which is written when it is new; 0 for none.
    fn number(&mut self, out: &mut Writer<'a>, line: Option<Line<'a>>) -> u64 {
        let Some(file) = line.and_then(|line| line.file) else { return 0 };
        let next = self.0.len() as u64 + 1;
        *self.0.entry(file).or_insert_with(|| {
            out.text(Field::HeatFiles, file.0);
            next
        })
    }
}

/// Writes what the code of places was made of, if anything is inlined in one.
fn write_origins<'a>(out: &mut Writer<'a>, functions: &[&HotFunction<'a>], files: &mut Files<'a>) {
    let places = || functions.iter().flat_map(|hot| &hot.places);
    if places().all(|(place, _)| place.inlined_line().is_none()) {
        return;
    }
    let (mut origins, mut before) = (Origins::default(), 0);
    for hot in functions {
        origins.begin_function();
        for (place, _) in &hot.places {
            let origin = match place.origin {
                None => origins::Origin::Untold,
                Some(ToldOrigin::Own) => origins::Origin::Own,
                Some(ToldOrigin::Inlined(code, _)) => origins::Origin::Inlined(code),
            };
            out.number(Field::HeatOrigins, origins.number(origin, place.is_inlined));
            let Some(line) = place.inlined_line() else { continue };
            let file = files.number(out, Some(line));
            out.number(Field::HeatOriginFiles, file);
            let number = i64::from(line.number);
            out.number(Field::HeatOriginLines, zigzag(number - before));
            before = number;
        }
    }
}

/// Writes what stands at each line, once, and what speaks for it by file. Files that are called the same once folders
/// are left out are one to readers: where they differ nothing is said, and the least of what speaks for them.
fn write_source<'a: 'p, 'p>(
    out: &mut Writer<'a>,
    files: impl Iterator<Item = Text<'a>>,
    places: impl Iterator<Item = &'p Place<'a>> + Clone,
) {
    let own = places.clone().filter_map(|place| place.line);
    let origins = places.filter_map(Place::inlined_line);
    let lines = || own.clone().chain(origins.clone());
    let at = |line: &Line<'a>| Some((line.file?.0.text(), line.number)).filter(|at| at.1 != 0);
    let mut standing: Map<(&str, u32), Option<Text<'a>>> = Map::new();
    for line in lines() {
        let Some(at) = at(&line) else { continue };
        let text = standing.entry(at).or_insert(line.source);
        *text = text.filter(|_| *text == line.source);
    }
    if standing.values().all(Option::is_none) {
        return;
    }
    let mut checks: Map<Text<'a>, TextCheck> = Map::new();
    for line in lines().filter(|line| line.source.is_some()) {
        let Some(file) = line.file else { continue };
        let check = checks.entry(file).or_insert(line.check);
        *check = line.check.min(*check);
    }
    if checks.values().any(|check| *check != TextCheck::Unknown) {
        for file in files {
            let check = checks.get(&file).copied().unwrap_or_default();
            out.byte(Field::HeatChecks, codes::code(&TextCheck::ALL, &check));
        }
    }
    let mut write = |field, line: Line<'a>| {
        if let Some(text) = at(&line).and_then(|at| standing.remove(&at)) {
            out.optional_text(field, text.map(|text| text.0));
        }
    };
    own.clone().for_each(|line| write(Field::HeatSource, line));
    origins.clone().for_each(|line| write(Field::HeatOriginSource, line));
}

/// What a selection keeps of the own code of functions.
struct SelectedCode {
    /// By call node.
    nodes: Vec<bool>,
    /// By function, a sum for each event.
    own: Map<FunctionId, Vec<Sum>>,
    events: usize,
}

impl SelectedCode {
    fn new(tree: &Tree, selection: &Selection, functions: &[FunctionId]) -> Self {
        let wanted: Set<FunctionId> = functions.iter().copied().collect();
        let events = tree.events();
        let mut kept = Self { nodes: vec![false; tree.nodes.len()], own: Map::new(), events };
        for &node in selection.nodes() {
            kept.nodes[node as usize] = true;
            let mut owners: Vec<_> = owners(tree, node).filter(|id| wanted.contains(id)).collect();
            sort(&mut owners);
            owners.dedup();
            for id in owners {
                let own = kept.own.entry(id).or_insert_with(|| vec![Sum::default(); events]);
                for (event, own) in own.iter_mut().enumerate() {
                    own.add(tree.own(node as usize, event));
                }
            }
        }
        kept
    }
}
