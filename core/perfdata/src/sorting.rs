//! Stable sorts whose code is there once, whatever is sorted.
//!
//! `slice::sort_by_key` and its like are compiled again for each type and each closure: about 6 kB of
//! WebAssembly a call, and a third of a megabyte for all of core before these took their place. Here one
//! sort orders places, and then what stands there is swapped. [`sort_by_numbers`] takes as long as the
//! slice's sort, or less, since it looks each number up once. The others compare through a pointer, and
//! take up to twice as long.
use std::cmp::Ordering;

/// As `slice::sort`.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// As `slice::sort_by_key`.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// As `slice::sort_by`.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let sources = order(items.len(), &|one, other| compare(&items[one], &items[other]));
    take_places(items, sources);
}

/// By two numbers, the first of which counts more: of a billion items as well as of two.
pub fn sort_by_numbers<T>(items: &mut [T], numbers: impl Fn(&T) -> (u64, u64)) {
    match items {
        [] | [_] => {}
        // Most call nodes have no more children.
        [one, other] if numbers(one) <= numbers(other) => {}
        [one, other] => std::mem::swap(one, other),
        // What is read from a table mostly is: the symbols of a kernel, the addresses of a function's lines.
        _ if items.is_sorted_by_key(&numbers) => {}
        _ => {
            let places = places_by_numbers(items, numbers);
            take_places(items, places);
        }
    }
}

/// Where they are that [`sort_by_numbers`] would put one after the other.
pub fn places_by_numbers<T>(items: &[T], numbers: impl Fn(&T) -> (u64, u64)) -> Vec<usize> {
    let numbered = items.iter().zip(0..).map(|(item, place)| (numbers(item), place));
    numerical(numbered.collect())
}

/// A number for [`sort_by_numbers`] that orders as `f64::total_cmp` does.
pub fn number_of(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

/// Puts items where they belong: `sources` has at each place the one that what belongs there is at.
pub fn take_places<T>(items: &mut [T], sources: Vec<usize>) {
    rearrange(sources, &mut |one, other| items.swap(one, other));
}

/// At each place the one that what belongs there is at.
fn numerical(mut numbered: Vec<((u64, u64), usize)>) -> Vec<usize> {
    numbered.sort_by_key(|&(numbers, _)| numbers);
    numbered.into_iter().map(|(_, place)| place).collect()
}

/// As [`numerical`], by comparing what stands at two places.
fn order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sources: Vec<usize> = (0..count).collect();
    sources.sort_by(|&one, &other| compare(one, other));
    sources
}

/// Goes around each cycle of places once.
fn rearrange(mut sources: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for first in 0..sources.len() {
        let mut place = first;
        loop {
            let source = std::mem::replace(&mut sources[place], place);
            if source == first || source == place {
                break;
            }
            swap(place, source);
            place = source;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_stays_in_its_order() {
        let mut state = 1_u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for count in (0..70).chain([1000]) {
            let items: Vec<(u32, u32)> = (0..count).map(|place| (random(40), place)).collect();
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_by_key(&mut ours, |item| item.0);
            // By both parts: what stood first has the lower number.
            theirs.sort_unstable();
            assert_eq!(ours, theirs);
            sort(&mut ours);
            assert_eq!(ours, theirs);
            sort_by(&mut ours, |one, other| other.cmp(one));
            theirs.reverse();
            assert_eq!(ours, theirs);
            sort_by_numbers(&mut ours, |item| (item.0.into(), 0));
            theirs.sort_by_key(|item| item.0);
            assert_eq!(ours, theirs);
            sort_by_numbers(&mut ours, |item| (7, item.1.into()));
            assert!(ours.iter().map(|item| item.1).eq(0..count));
        }
    }

    #[test]
    fn numbers_of_fractions_are_in_their_order() {
        let values =
            [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 0.5, 7.0, f64::INFINITY, f64::NAN];
        assert!(values.map(number_of).is_sorted());
        assert!(values.is_sorted_by(|one, other| one.total_cmp(other).is_lt()));
    }
}
