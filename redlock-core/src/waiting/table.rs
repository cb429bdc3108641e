//! The lines of a client, by their keys and by their places.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use slab::Slab;

use crate::env::room::{give_room_back, make_room};

use super::LineKey;
use super::line::Line;

/// The place of a line in the table, until the line is forgotten. Another line may have it then: tell them apart
/// by the ticket of the turn, or by the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinePlace(u32);

impl LinePlace {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "no memory has room for that many lines"
    )]
    fn of(at: usize) -> Self {
        Self(at as u32)
    }

    fn at(self) -> usize {
        self.0 as usize
    }
}

/// Every held lock has a line, and there may be a million of them. So the lines lie side by side in memory that
/// grows by an eighth, and the hash table, which is up to half empty, has eight bytes for each. A caller that
/// knows the place of its line needs no hash.
pub(super) struct LineTable<S = RandomState> {
    lines: Slab<(LineKey, Line)>,
    by_hash: HashMap<u32, LinePlace, BuildHasherDefault<Spread>>,
    /// Lines that came while another line was there under the same hash.
    alike: HashMap<LineKey, LinePlace, S>,
}

impl<S: Default> Default for LineTable<S> {
    fn default() -> Self {
        Self {
            lines: Slab::new(),
            by_hash: HashMap::default(),
            alike: HashMap::default(),
        }
    }
}

impl<S: BuildHasher> LineTable<S> {
    /// Each client has a hash of its own: names from outside cannot be chosen to have the same hash.
    fn hash(&self, key: &LineKey) -> u32 {
        let [a, b, c, d, ..] = self.alike.hasher().hash_one(key).to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    fn has(&self, place: LinePlace, key: &LineKey) -> bool {
        let entry = self.lines.get(place.at());
        entry.is_some_and(|(known, _)| known == key)
    }

    fn place_of(&self, hash: u32, key: &LineKey) -> Option<LinePlace> {
        let place = self.by_hash.get(&hash).copied();
        let place = place.filter(|place| self.has(*place, key));
        place.or_else(|| self.alike.get(key).copied())
    }

    /// The line of `key` and its place.
    pub(super) fn find(&mut self, key: &LineKey) -> Option<(LinePlace, &mut Line)> {
        let place = self.place_of(self.hash(key), key)?;
        self.at(place).map(|line| (place, line))
    }

    /// The same for a line that was at `place` when the caller came.
    pub(super) fn find_from(
        &mut self,
        place: LinePlace,
        key: &LineKey,
    ) -> Option<(LinePlace, &mut Line)> {
        if !self.has(place, key) {
            return self.find(key);
        }
        self.at(place).map(|line| (place, line))
    }

    pub(super) fn at(&mut self, place: LinePlace) -> Option<&mut Line> {
        self.lines.get_mut(place.at()).map(|(_, line)| line)
    }

    /// The line at `place`, if the turn there has `ticket`. No turn has the ticket of an earlier one, so that line
    /// gave it out. 0 is no ticket.
    pub(super) fn with_turn(&mut self, place: LinePlace, ticket: u64) -> Option<&mut Line> {
        self.at(place)
            .filter(|line| ticket != 0 && line.turn == ticket)
    }

    /// The line of `key`, which is `new` if there was none, and its place.
    pub(super) fn find_or_insert(&mut self, key: &LineKey, new: Line) -> (LinePlace, &mut Line) {
        let hash = self.hash(key);
        if let Some(place) = self.place_of(hash, key) {
            return (place, &mut self.lines[place.at()].1);
        }
        make_room(&mut self.lines);
        let vacant = self.lines.vacant_entry();
        let place = LinePlace::of(vacant.key());
        match self.by_hash.entry(hash) {
            Entry::Vacant(free) => {
                free.insert(place);
            }
            Entry::Occupied(_) => {
                self.alike.insert(key.clone(), place);
            }
        }
        (place, &mut vacant.insert((key.clone(), new)).1)
    }

    /// Returns the line and its key, to be dropped outside of the mutex.
    pub(super) fn remove(&mut self, place: LinePlace) -> Option<(LineKey, Line)> {
        let (key, line) = self.lines.try_remove(place.at())?;
        match self.by_hash.entry(self.hash(&key)) {
            Entry::Occupied(occupied) if *occupied.get() == place => {
                occupied.remove();
            }
            _ => {
                self.alike.remove(&key);
            }
        }
        if give_room_back(&mut self.lines) {
            self.by_hash = HashMap::default();
        }
        Some((key, line))
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }
}

/// Spreads a hash over 64 bits. A table uses the lowest and the highest of them.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u32(&mut self, hash: u32) {
        self.0 = u64::from(hash) << 32 | u64::from(hash);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::env::Moment;
    use crate::model::kind::Kind;

    /// All keys have the same hash.
    #[derive(Default)]
    struct Same;

    impl Hasher for Same {
        fn write(&mut self, _: &[u8]) {}

        fn finish(&self) -> u64 {
            7
        }
    }

    fn key(name: usize) -> LineKey {
        LineKey {
            keys: name.to_string().into(),
            kind: Kind::Exclusive,
            nodes: Arc::new([]),
        }
    }

    fn line(ticket: u64) -> Line {
        Line::new(ticket, Moment::from_origin(Duration::ZERO))
    }

    /// Adds lines, and removes them in another order.
    fn come_and_go<S: BuildHasher + Default>(count: usize) {
        let mut table = LineTable::<S>::default();
        let mut places = Vec::new();
        let tickets = |number| number as u64 + 1;
        for number in 0..count {
            let ticket = tickets(number);
            let (place, line) = table.find_or_insert(&key(number), line(ticket));
            assert_eq!(line.turn, ticket);
            places.push(place);
        }
        let mut left: Vec<_> = (0..count).collect();
        while !left.is_empty() {
            let gone = left.remove(left.len() * 2 / 3);
            let (known, line) = table.remove(places[gone]).unwrap();
            assert!(known == key(gone) && line.turn == tickets(gone));
            assert!(table.remove(places[gone]).is_none());
            assert!(table.find(&key(gone)).is_none());
            assert!(table.with_turn(places[gone], tickets(gone)).is_none());
            for number in &left {
                let (place, line) = table.find(&key(*number)).unwrap();
                assert_eq!((place, line.turn), (places[*number], tickets(*number)));
                let (place, _) = table.find_from(places[gone], &key(*number)).unwrap();
                assert_eq!(place, places[*number]);
                assert!(table.with_turn(place, tickets(*number)).is_some());
                assert!(table.with_turn(place, tickets(gone)).is_none());
            }
        }
        assert_eq!(
            (table.len(), table.by_hash.len(), table.alike.len()),
            (0, 0, 0)
        );
    }

    #[test]
    fn lines_are_found_by_key_and_by_place_until_they_are_forgotten() {
        come_and_go::<RandomState>(60);
    }

    #[test]
    fn lines_of_one_hash_are_told_apart_in_whichever_order_they_leave() {
        come_and_go::<BuildHasherDefault<Same>>(60);
    }

    #[test]
    fn the_place_of_a_forgotten_line_is_another_lines_later() {
        let mut table: LineTable = LineTable::default();
        let (place, _) = table.find_or_insert(&key(1), line(1));
        table.remove(place);
        let (again, _) = table.find_or_insert(&key(2), line(2));
        assert_eq!(again, place);
        assert!(table.with_turn(place, 1).is_none());
        assert!(table.find_from(place, &key(1)).is_none());
    }

    /// Every held lock has one.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn a_line_is_small() {
        assert!(size_of::<Option<(LineKey, Line)>>() <= 88);
    }

    /// The hash table takes its places from the lowest bits, and tells its entries apart by the highest ones.
    #[test]
    fn both_ends_of_a_spread_hash_differ() {
        let spread = |hash: u32| BuildHasherDefault::<Spread>::default().hash_one(hash);
        for bit in 0..32 {
            let changed = spread(0) ^ spread(1 << bit);
            assert_eq!(changed, 1 << bit | 1 << (bit + 32));
        }
    }
}
