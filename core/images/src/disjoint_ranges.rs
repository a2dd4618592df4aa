//! Ranges that overlap, cut so that a look-up is one binary search whatever a file holds.

use std::ops::Range;

/// Where parts begin, and which range has each: the one that begins last of those around it, by its number.
/// `nothing` has what is in none. Ranges come in ascending order of their starts.
pub(super) fn disjoint(
    ranges: impl Iterator<Item = Range<u64>>,
    nothing: u32,
) -> (Vec<u64>, Vec<u32>) {
    let mut parts = Parts { starts: Vec::new(), owners: Vec::new(), nothing };
    // Innermost last: number and end.
    let mut open: Vec<(u32, u64)> = Vec::new();
    for (number, Range { start, end }) in (0..).zip(ranges) {
        parts.close_until(&mut open, start);
        parts.begin(start, number);
        open.push((number, end));
    }
    parts.close_until(&mut open, u64::MAX);
    let Parts { mut starts, mut owners, .. } = parts;
    starts.shrink_to_fit();
    owners.shrink_to_fit();
    (starts, owners)
}

struct Parts {
    starts: Vec<u64>,
    owners: Vec<u32>,
    nothing: u32,
}

impl Parts {
    /// From `start` on, `owner` has the addresses.
    fn begin(&mut self, start: u64, owner: u32) {
        if self.starts.last() == Some(&start) {
            self.starts.pop();
            self.owners.pop();
        }
        if self.owners.last() != Some(&owner) {
            self.starts.push(start);
            self.owners.push(owner);
        }
    }

    /// Ends the open ranges that end at or before `limit`, innermost first, and gives what follows
    /// to the one around them.
    fn close_until(&mut self, open: &mut Vec<(u32, u64)>, limit: u64) {
        while let Some((_, end)) = open.pop_if(|&mut (_, end)| end <= limit) {
            // One that ended earlier, inside the one just closed, has nothing left.
            while open.pop_if(|&mut (_, outer)| outer <= end).is_some() {}
            self.begin(end, open.last().map_or(self.nothing, |&(outer, _)| outer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_of_the_range_that_begins_last_around_it() {
        let ranges = [0..10, 2..4, 3..8, 3..3, 20..30, 20..25, 28..40];
        let (starts, owners) = disjoint(ranges.iter().cloned(), u32::MAX);
        for address in 0..50 {
            let of = |range: &Range<u64>| range.contains(&address);
            let expected = ranges.iter().rposition(of).map_or(u32::MAX, |number| number as u32);
            let part = starts.partition_point(|&start| start <= address);
            let found = part.checked_sub(1).map_or(u32::MAX, |part| owners[part]);
            assert_eq!(found, expected, "{address}");
        }
        assert!(starts.is_sorted_by(|one, next| one < next), "{starts:?}");
    }
}
