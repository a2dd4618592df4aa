//! Maps and sets whose code is there once, whatever is in them.
//!
//! `std`'s tables are compiled again for each type of key and value, with all that they do to grow: about 1.5 kB of
//! WebAssembly each, of which core had a hundred. Here what is in a map lies in a [`Vec`], in the order in which it
//! came, and one kind of index finds it. So what is gone through is in the same order everywhere. Where that
//! has to be the order of keys, they are sorted once, at the end: a `BTreeMap` is 3 kB for each type.
//!
//! Hashes are of a few multiplications by a number that is another each time perftab runs ([`seed`]): SipHash takes
//! several times as long, and without a secret a file could have keys that all collide.

mod index;
mod set;

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::ops::Index as At;

use index::hash_of;
use serde::{Serialize, Serializer};

pub use index::{Index, secret, seed};
pub use set::Set;

use crate::sorting::sort_by;

/// As `std`'s `HashMap`, but that it is gone through in the order in which keys came; where one was removed, the
/// last one has its place.
#[derive(Clone)]
pub struct Map<K, V> {
    entries: Vec<(K, V)>,
    index: Index,
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: Index::default() }
    }
}

impl<K, V> Map<K, V> {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many keys it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V)> + DoubleEndedIterator + Clone {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// All keys.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// All values.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &V> + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// All values, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// All keys, and nothing else.
    pub fn into_keys(self) -> impl ExactSizeIterator<Item = K> {
        self.entries.into_iter().map(|(key, _)| key)
    }

    /// All values, and nothing else.
    pub fn into_values(self) -> impl ExactSizeIterator<Item = V> {
        self.entries.into_iter().map(|(_, value)| value)
    }

    /// Bytes of memory held, without what is in them.
    pub fn memory(&self) -> usize {
        let Self { entries, index } = self;
        entries.capacity() * size_of::<(K, V)>() + index.memory()
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.index.clear();
    }

    /// Empties it and gives what was in it.
    pub fn drain(&mut self) -> impl Iterator<Item = (K, V)> + '_ {
        self.index.clear();
        self.entries.drain(..)
    }
}

impl<K: Ord, V> Map<K, V> {
    /// All of them in the order of keys.
    pub fn sorted(&self) -> Vec<(&K, &V)> {
        let mut entries: Vec<_> = self.iter().collect();
        sort_by(&mut entries, |one, other| one.0.cmp(other.0));
        entries
    }

    /// The same, and nothing else.
    pub fn into_sorted(self) -> Vec<(K, V)> {
        let mut entries = self.entries;
        sort_by(&mut entries, |one, other| one.0.cmp(&other.0));
        entries
    }
}

impl<K: Hash + Eq, V> Map<K, V> {
    fn place<Q: Hash + Eq + ?Sized>(&self, hash: u32, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        self.index.find_seldom(hash, &|place| self.entries[place].0.borrow() == key)
    }

    fn add(&mut self, hash: u32, key: K, value: V) -> &mut V {
        let place = self.entries.len();
        self.index.add(hash, place);
        self.entries.push((key, value));
        &mut self.entries[place].1
    }

    /// The value of a key.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        Some(&self.entries[self.place(hash_of(key), key)?].1)
    }

    /// The value of a key, to change it.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(hash_of(key), key)?;
        Some(&mut self.entries[place].1)
    }

    /// Whether it has the key.
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(hash_of(key), key).is_some()
    }

    /// Gives a key a value; the answer is what it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = hash_of(&key);
        match self.place(hash, &key) {
            Some(place) => Some(std::mem::replace(&mut self.entries[place].1, value)),
            None => {
                self.add(hash, key, value);
                None
            }
        }
    }

    /// Takes a key out, with its value.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = hash_of(key);
        let place = self.place(hash, key)?;
        let last = self.entries.len() - 1;
        let moved = (hash_of(&self.entries[last].0), last);
        self.index.remove((hash, place), moved);
        Some(self.entries.swap_remove(place).1)
    }

    /// Keeps what `keep` says, in its order.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
        self.index.clear();
        for (place, (key, _)) in self.entries.iter().enumerate() {
            self.index.add(hash_of(key), place);
        }
    }

    /// A key, and its value if it has one.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let hash = hash_of(&key);
        match self.place(hash, &key) {
            Some(place) => Entry::Occupied(OccupiedEntry { map: self, place }),
            None => Entry::Vacant(VacantEntry { map: self, hash, key }),
        }
    }
}

/// A key, and whether it has a value.
pub enum Entry<'a, K, V> {
    /// It has.
    Occupied(OccupiedEntry<'a, K, V>),
    /// It has none.
    Vacant(VacantEntry<'a, K, V>),
}

/// The value of a key.
pub struct OccupiedEntry<'a, K, V> {
    map: &'a mut Map<K, V>,
    place: usize,
}

/// Where a value would be.
pub struct VacantEntry<'a, K, V> {
    map: &'a mut Map<K, V>,
    hash: u32,
    key: K,
}

impl<'a, K, V> OccupiedEntry<'a, K, V> {
    /// What it is.
    pub fn get(&self) -> &V {
        &self.map.entries[self.place].1
    }

    /// To change it for as long as the map can be.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.entries[self.place].1
    }
}

impl<'a, K: Hash + Eq, V> VacantEntry<'a, K, V> {
    /// Gives the key its value.
    pub fn insert(self, value: V) -> &'a mut V {
        self.map.add(self.hash, self.key, value)
    }
}

impl<'a, K: Hash + Eq, V> Entry<'a, K, V> {
    /// The value, or what is made of the key now.
    pub fn or_insert_with_key(self, value: impl FnOnce(&K) -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => {
                let value = value(&entry.key);
                entry.insert(value)
            }
        }
    }

    /// The value, or what it gets now.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        self.or_insert_with_key(|_| value())
    }

    /// The value, or this one.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, or the default one.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K: Hash + Eq, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(key, value)| {
            self.insert(key, value);
        });
    }
}

impl<K: Hash + Eq, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        map.extend(entries);
        map
    }
}

impl<K: Hash + Eq, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter().map(|(key, value)| (key, value))
    }
}

impl<K: Hash + Eq + Borrow<Q>, V, Q: Hash + Eq + ?Sized> At<&Q> for Map<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the map has the key")
    }
}

impl<K: Hash + Eq, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<K: Hash + Eq, V: Eq> Eq for Map<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// In the order of keys.
impl<K: Serialize + Ord, V: Serialize> Serialize for Map<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.sorted())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::hash::Hasher;

    use super::*;

    /// All that changes a map, at random, beside `std`'s. Hashes of these keys have few values, so that they collide,
    /// and runs of slots go around the end.
    #[test]
    fn a_map_has_what_stds_has() {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        struct Key(u32);
        impl Hash for Key {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (self.0 % 5).hash(state);
            }
        }
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            ((state >> 33) % u64::from(below)) as u32
        };
        for keys in [3, 30, 300] {
            let (mut ours, mut theirs) = (Map::new(), HashMap::new());
            for _ in 0..20_000 {
                let (key, value) = (Key(random(keys)), random(1000));
                match random(20) {
                    0..8 => assert_eq!(ours.insert(key, value), theirs.insert(key, value)),
                    8..13 => assert_eq!(ours.remove(&key), theirs.remove(&key)),
                    13 => {
                        *ours.entry(key).or_insert(7) += 1;
                        *theirs.entry(key).or_insert(7) += 1;
                    }
                    14 => assert_eq!(ours.get(&key), theirs.get(&key)),
                    15 => {
                        *ours.entry(key).or_default() += 1;
                        *theirs.entry(key).or_default() += 1;
                    }
                    16 => assert_eq!(ours.contains_key(&key), theirs.contains_key(&key)),
                    17 => assert_eq!(ours.get_mut(&key), theirs.get_mut(&key)),
                    18 if value < 20 => {
                        ours.retain(|key, _| key.0 % 3 > 0);
                        theirs.retain(|key, _| key.0 % 3 > 0);
                    }
                    _ if value < 5 => assert_eq!(ours.drain().count(), theirs.drain().count()),
                    _ => {}
                }
                if random(2) == 0 {
                    theirs.insert(key, value);
                    ours.insert(key, value);
                }
                assert_eq!(ours.len(), theirs.len());
            }
            assert!(!theirs.is_empty());
            assert!(theirs.iter().all(|(key, value)| ours[key] == *value));
            assert_eq!(ours, theirs.into_iter().collect());
        }
    }

    #[test]
    fn a_map_is_gone_through_in_the_order_in_which_keys_came() {
        let mut map: Map<String, u32> = (0..100).map(|it| (format!("key {it}"), it)).collect();
        assert!(map.values().copied().eq(0..100));
        map.insert("key 7".to_owned(), 1000);
        assert_eq!(map.remove("key 9"), Some(9));
        let expected = (0..99).map(|it| match it {
            7 => 1000,
            9 => 99,
            it => it,
        });
        assert!(map.values().copied().eq(expected));
        assert_eq!(map.remove("key 9"), None);
    }

    #[test]
    fn what_is_sorted_or_written_is_in_the_order_of_keys() {
        let map: Map<&str, u32> = [("b", 1), ("c", 2), ("a", 3)].into();
        assert_eq!(map.sorted(), [(&"a", &3), (&"b", &1), (&"c", &2)]);
        assert_eq!(serde_json::to_string(&map).expect("JSON"), r#"{"a":3,"b":1,"c":2}"#);
        assert_eq!(map.into_sorted(), [("a", 3), ("b", 1), ("c", 2)]);
        let set: Set<u32> = [3, 1, 2].into();
        assert_eq!(set.sorted(), [&1, &2, &3]);
        let written = serde_json::to_string(&set).expect("JSON");
        assert_eq!(written, "[1,2,3]");
        assert_eq!(serde_json::from_str::<Set<u32>>(&written).expect("numbers"), set);
    }

    #[test]
    fn keys_that_are_alike_have_hashes_of_their_own() {
        let shifted = |bits: u32| (0..1 << 16).map(move |number: u64| hash_of(&(number << bits)));
        let texts = (0..1 << 16).map(|number| hash_of(&format!("/usr/lib/lib{number}.so")));
        let pairs = (0..1 << 16).map(|number: u32| hash_of(&(number & 0xff, number >> 8)));
        let numbers = [0, 12, 30, 44, 48].map(|bits| shifted(bits).collect::<Vec<_>>());
        for mut hashes in numbers.into_iter().chain([texts.collect(), pairs.collect()]) {
            // Of the bits that an index looks at first, about as many values as by chance: 63 %, which is 41,427.
            hashes.iter_mut().for_each(|hash| *hash &= 0xffff);
            hashes.sort_unstable();
            hashes.dedup();
            assert!(hashes.len() > 40_000, "{}", hashes.len());
        }
    }
}
