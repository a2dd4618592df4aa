//! Reads where in the code of functions samples ended.

use perftab_perfdata::map::{Map, Set};
use std::num::NonZeroU32;

use perftab_names::{FileId, FunctionId, Symbols};
use perftab_profile::{DsoId, Profile};
use perftab_views::hot_lines::{KnownFunction, KnownHeat, KnownPlace, Origin, SourceLine};
use perftab_views::place_texts::{PlaceTexts, TextCheck};
use perftab_views::weights::Sum;

use super::codes;
use super::decode::{at_most, invalid};
use super::fields::{Field, Reader, unzigzag};
use super::origins::{self, Origins};
use super::samples::Unit;
use super::{MAX_HOT_FUNCTIONS, MAX_HOT_PLACES, MAX_NODES, SnapshotError};

/// Reads it, if it is there, and what stands at places, if that is told. `functions` are those of the
/// table, where they have a name.
pub(super) fn read_heat(
    read: &mut Reader<'_>,
    profile: &Profile,
    symbols: &mut Symbols,
    functions: &[Option<FunctionId>],
    units: &[Unit],
) -> Result<(KnownHeat, PlaceTexts), SnapshotError> {
    if read.left(Field::HeatFunctions) == 0 {
        return Ok(Default::default());
    }
    let counted = read_functions(read, functions)?;
    let all: usize = counted.iter().map(|&(_, count)| count).sum();
    // Each has a sum for each event, and few bytes make many events.
    at_most(MAX_NODES, (counted.len() + all).saturating_mul(units.len()))?;
    let (files, mut places) = read_places(read, symbols, all)?;
    read_origins(read, &files, (functions, &counted), &mut places)?;
    let dsos = counted.iter().flat_map(|&(id, count)| {
        let dso = symbols.function(id).dso;
        std::iter::repeat_n(dso, count)
    });
    let mut texts = read_texts(read, dsos.zip(&places))?;
    read_checks(read, &files, &mut texts)?;
    for (event, &Unit { unit, is_regular }) in units.iter().enumerate() {
        for place in &mut places {
            let samples = read.number(Field::HeatCounts)?;
            let units = if is_regular { samples } else { read.number(Field::HeatWeights)? };
            let Some(weight) = units.checked_mul(unit) else { return invalid("a weight") };
            place.sums.resize(event, Sum::default());
            place.sums.push(Sum { weight, samples });
        }
    }
    let own = own_code(profile, symbols, counted.iter().map(|&(id, _)| id), units.len());
    let mut places = places.into_iter();
    let (mut known, mut twice) = (Map::new(), Set::new());
    for (id, count) in counted {
        let places: Vec<KnownPlace> = places.by_ref().take(count).collect();
        let own_code = own.get(&id).cloned().unwrap_or_default();
        if (0..units.len()).any(|event| !is_within(&places, event, own_code[event])) {
            return invalid("more in a function than ended there");
        }
        // Functions that were renamed may be called the same here: which is which is not known.
        if known.insert(id, KnownFunction { own_code, places }).is_some() {
            twice.insert(id);
        }
    }
    known.retain(|id, _| !twice.contains(id));
    Ok((KnownHeat::new(known), texts))
}

/// Functions, and how many places each has.
fn read_functions(
    read: &mut Reader<'_>,
    functions: &[Option<FunctionId>],
) -> Result<Vec<(FunctionId, usize)>, SnapshotError> {
    let count = read.count(Field::HeatFunctions, Field::HeatFunctions)?;
    let count = at_most(MAX_HOT_FUNCTIONS, count)?;
    let (mut code, mut all) = (0u64, 0);
    let mut counted = Vec::new();
    for _ in 0..count {
        let further = read.number(Field::HeatFunctions)?;
        code = code.saturating_add(further);
        let id = function(functions, code).filter(|_| further > 0);
        let Some(id) = id else { return invalid("a function") };
        let places = read.count(Field::HeatFunctions, Field::HeatPlaces)?;
        all = at_most(MAX_HOT_PLACES, all + places)?;
        counted.push((id, places));
    }
    Ok(counted)
}

/// The one of a number, if it has a name.
fn function(functions: &[Option<FunctionId>], code: u64) -> Option<FunctionId> {
    let index = usize::try_from(code.checked_sub(codes::CODE_FUNCTIONS)?).ok()?;
    *functions.get(index)?
}

/// A source file by its place in the table + 1; 0 is none.
fn file(files: &[FileId], number: u64) -> Result<Option<FileId>, SnapshotError> {
    let Some(at) = number.checked_sub(1) else { return Ok(None) };
    match files.get(usize::try_from(at).unwrap_or(usize::MAX)) {
        Some(&file) => Ok(Some(file)),
        None => invalid("a source file"),
    }
}

/// Places of all functions, without sums, and their files.
fn read_places(
    read: &mut Reader<'_>,
    symbols: &mut Symbols,
    count: usize,
) -> Result<(Vec<FileId>, Vec<KnownPlace>), SnapshotError> {
    let mut files: Vec<FileId> = Vec::new();
    while read.left(Field::HeatFiles) > 0 {
        // Each place may have one for its line and one for what it was made of.
        at_most(2 * MAX_HOT_PLACES, files.len())?;
        files.push(symbols.file_of_path(&read.text(Field::HeatFiles)?));
    }
    let has_addresses = read.left(Field::HeatAddresses) > 0;
    let has_lines = read.left(Field::HeatLines) > 0;
    let (mut address, mut line) = (0u64, 0i64);
    let mut places = Vec::new();
    for _ in 0..count {
        let place = read.number(Field::HeatPlaces)?;
        let file = file(&files, place >> 1)?;
        if has_addresses {
            let further = unzigzag(read.number(Field::HeatAddresses)?);
            address = address.wrapping_add_signed(further);
        }
        if has_lines {
            line = line.wrapping_add(unzigzag(read.number(Field::HeatLines)?));
        }
        places.push(KnownPlace {
            address: has_addresses.then_some(address),
            line: has_lines.then_some(SourceLine { file, line: line_number(line) }),
            is_inlined: place & 1 != 0,
            origin: None,
            sums: Vec::new(),
        });
    }
    Ok((files, places))
}

fn line_number(line: i64) -> Option<NonZeroU32> {
    u32::try_from(line).ok().and_then(NonZeroU32::new)
}

/// What the code of places was made of, if that is told.
fn read_origins(
    read: &mut Reader<'_>,
    files: &[FileId],
    (functions, counted): (&[Option<FunctionId>], &[(FunctionId, usize)]),
    places: &mut [KnownPlace],
) -> Result<(), SnapshotError> {
    if read.left(Field::HeatOrigins) == 0 {
        return Ok(());
    }
    let (mut origins, mut line) = (Origins::default(), 0i64);
    let mut places = places.iter_mut();
    for &(_, count) in counted {
        origins.begin_function();
        for place in places.by_ref().take(count) {
            let number = read.number(Field::HeatOrigins)?;
            place.origin = match origins.origin(number, place.is_inlined) {
                origins::Origin::Untold => None,
                origins::Origin::Own => {
                    Some(Origin { inlined: None, line: place.line.unwrap_or_default() })
                }
                origins::Origin::Inlined(code) => {
                    let inlined = function(functions, code);
                    if code != 0 && inlined.is_none() {
                        return invalid("a function");
                    }
                    let file = file(files, read.number(Field::HeatOriginFiles)?)?;
                    line = line.wrapping_add(unzigzag(read.number(Field::HeatOriginLines)?));
                    Some(Origin { inlined, line: SourceLine { file, line: line_number(line) } })
                }
            };
        }
    }
    Ok(())
}

/// What speaks for the text of each file, if that is told.
fn read_checks(
    read: &mut Reader<'_>,
    files: &[FileId],
    texts: &mut PlaceTexts,
) -> Result<(), SnapshotError> {
    if read.left(Field::HeatChecks) == 0 {
        return Ok(());
    }
    for &file in files {
        let check = TextCheck::ALL.get(usize::from(read.byte(Field::HeatChecks)?));
        texts.add_check(file, check.copied().unwrap_or_default());
    }
    Ok(())
}

/// What stands at places, in the order in which they come: at each line once, at each line that code was made of and
/// that was none of those, at each address.
fn read_texts<'p>(
    read: &mut Reader<'_>,
    places: impl Iterator<Item = (DsoId, &'p KnownPlace)>,
) -> Result<PlaceTexts, SnapshotError> {
    let mut texts = PlaceTexts::default();
    let mut met = Set::new();
    let places: Vec<(DsoId, &KnownPlace)> = places.collect();
    let own = places.iter().map(|(_, place)| (Field::HeatSource, place.line));
    let origins = places
        .iter()
        .map(|(_, place)| (Field::HeatOriginSource, place.origin.map(|origin| origin.line)));
    let is_told = |field| read.left(field) > 0;
    let told = [Field::HeatSource, Field::HeatOriginSource].map(is_told);
    for (field, at) in own.chain(origins) {
        let at = at.and_then(|at| Some((at.file?, at.line?)));
        let is_told = told[usize::from(field == Field::HeatOriginSource)];
        if let Some((file, line)) = at.filter(|line| met.insert(*line) && is_told) {
            texts.add_line(file, line, &read.text(field)?);
        }
    }
    if read.left(Field::HeatAssembly) > 0 {
        for &(dso, place) in &places {
            if let Some(address) = place.address {
                texts.add_instruction(dso, address, &read.text(Field::HeatAssembly)?);
            }
        }
    }
    Ok(texts)
}

/// By function, what the call tree has in its own code of each event.
fn own_code(
    profile: &Profile,
    symbols: &Symbols,
    functions: impl Iterator<Item = FunctionId>,
    events: usize,
) -> Map<FunctionId, Vec<Sum>> {
    let mut own: Map<FunctionId, Vec<Sum>> =
        functions.map(|id| (id, vec![Sum::default(); events])).collect();
    let samples = &profile.samples;
    let is_hot = |(id, _)| symbols.levels(id).iter().any(|level| own.contains_key(&level.function));
    let is_hot: Vec<bool> = profile.frames.iter().map(is_hot).collect();
    for row in 0..samples.len() {
        let Some((_, frame)) = profile.stacks.get(samples.stack[row]) else { continue };
        if !is_hot[frame.index()] {
            continue;
        }
        let sum = Sum { weight: samples.weight.at(row), samples: samples.count(row) };
        let levels = symbols.levels(frame);
        for (depth, level) in levels.iter().enumerate() {
            let is_met = levels[..depth].iter().any(|met| met.function == level.function);
            let own = own.get_mut(&level.function).filter(|_| !is_met);
            if let Some(own) = own.and_then(|own| own.get_mut(usize::from(samples.event[row]))) {
                own.add(sum);
            }
        }
    }
    own
}

/// Whether places have no more of an event together than this.
fn is_within(places: &[KnownPlace], event: usize, own: Sum) -> bool {
    let mut all = Sum::default();
    places.iter().for_each(|place| all.add(place.sums[event]));
    all.samples <= own.samples && all.weight <= own.weight
}
