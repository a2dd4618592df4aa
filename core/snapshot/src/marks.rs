//! Moments worth a mark, beside single samples.

use perftab_profile::{Mark, Marks, Profile, StringId};

use super::codes::{self, code};
use super::decode::{at_most, entry, invalid};
use super::fields::{Field, Reader, Writer, unzigzag, zigzag};
use super::{Facts, SnapshotError};

/// Writes the marks of the time that is written. `group` knows the numbers of processes by name; a process
/// without samples has none.
pub(super) fn write(
    out: &mut Writer,
    marks: &Marks,
    facts: &Facts,
    group: impl Fn(StringId) -> Option<u64>,
) {
    let Some((first, last)) = facts.time else { return };
    // What was before the first sample stands at its time, unless this is a part.
    let from = if facts.part_of.is_empty() { 0 } else { first };
    let marks = marks.between(from, last.saturating_add(1));
    out.number(Field::Marks, marks.len() as u64);
    let mut before = first;
    for mark in marks {
        out.number(Field::Marks, zigzag(mark.time_nanos.wrapping_sub(before) as i64));
        out.byte(Field::Marks, code(&codes::MARK_KINDS, &mark.kind));
        out.number(Field::Marks, mark.count);
        let process = mark.process.and_then(&group);
        out.number(Field::Marks, process.map_or(0, |number| number + 1));
        before = mark.time_nanos;
    }
}

/// Reads them; `groups` are names of processes.
pub(super) fn read(
    read: &mut Reader<'_>,
    profile: &mut Profile,
    facts: &Facts,
    groups: &[&str],
) -> Result<(), SnapshotError> {
    let Some((mut time, _)) = facts.time.filter(|_| read.left(Field::Marks) > 0) else {
        return Ok(());
    };
    let count = at_most(Marks::MOST, read.count(Field::Marks, Field::Marks)?)?;
    for _ in 0..count {
        time = time.wrapping_add(unzigzag(read.number(Field::Marks)?) as u64);
        let kind = entry(&codes::MARK_KINDS, read.byte(Field::Marks)?)?;
        let count = read.number(Field::Marks)?;
        let process = match read.number(Field::Marks)?.checked_sub(1) {
            None => None,
            Some(group) => match usize::try_from(group).ok().and_then(|group| groups.get(group)) {
                Some(name) => Some(profile.strings.intern(name)),
                None => return invalid("a process"),
            },
        };
        profile.marks.push(Mark { time_nanos: time, kind, count, process });
    }
    Ok(())
}
