//! Where a file has code.

use super::elf::Elf;
use super::kernel_module::ModuleLayout;
use perftab_perfdata::sorting::sort;

/// The sections of code of a file, in the addresses that symbols and DWARF have.
#[derive(Clone, Debug, Default)]
pub(super) struct CodeRanges(
    /// Where each begins and ends, ascending.
    Vec<(u64, u64)>,
);

impl CodeRanges {
    /// Of a file; of a relocatable one as `layout` places its sections.
    pub fn of(elf: &Elf, layout: Option<&ModuleLayout>) -> Self {
        let mut ranges: Vec<_> = match layout {
            Some(layout) => layout.code(elf).collect(),
            None => {
                let code = elf.sections.iter().filter(|section| section.is_executable());
                code.map(|code| (code.address, code.address.saturating_add(code.size))).collect()
            }
        };
        sort(&mut ranges);
        Self(ranges)
    }

    /// Of ranges in ascending order.
    pub fn of_ranges(ranges: Vec<(u64, u64)>) -> Self {
        Self(ranges)
    }

    /// These without some.
    pub fn without(mut self, others: &[(u64, u64)]) -> Self {
        for &(from, to) in others.iter().filter(|(from, to)| from < to) {
            let parts = |(start, end): (u64, u64)| match start < to && from < end {
                true => [(start, from.max(start)), (to.min(end), end)],
                false => [(start, end), (end, end)],
            };
            let parts = self.0.into_iter().flat_map(parts);
            self.0 = parts.filter(|(start, end)| start < end).collect();
        }
        self
    }

    /// Where each begins and ends, ascending.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Whether code can be at an address. Where a file tells of none, everywhere.
    pub fn may_hold(&self, address: u64) -> bool {
        self.0.is_empty() || self.end_of(address).is_some()
    }

    /// Where the section ends that holds an address.
    pub fn end_of(&self, address: u64) -> Option<u64> {
        let next = self.0.partition_point(|&(start, _)| start <= address);
        let (_, end) = *self.0.get(next.checked_sub(1)?)?;
        (address < end).then_some(end)
    }

    /// The longest section.
    pub fn longest(&self) -> Option<(u64, u64)> {
        self.0.iter().copied().max_by_key(|(start, end)| end.saturating_sub(*start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_in_none_of_the_others() {
        let of = |left_out: &[(u64, u64)]| {
            CodeRanges::of_ranges(vec![(10, 20), (30, 40)]).without(left_out).0
        };
        assert_eq!(of(&[]), [(10, 20), (30, 40)]);
        assert_eq!(of(&[(12, 15)]), [(10, 12), (15, 20), (30, 40)]);
        assert_eq!(of(&[(10, 12), (38, 45)]), [(12, 20), (30, 38)]);
        assert_eq!(of(&[(15, 35)]), [(10, 15), (35, 40)]);
        assert_eq!(of(&[(20, 30), (13, 13), (16, 14)]), [(10, 20), (30, 40)]);
        assert_eq!(of(&[(0, 50)]), []);
    }
}
