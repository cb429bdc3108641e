//! The set of states that were seen.

use std::hash::{Hash, Hasher};

/// An open-addressed table of places in the search's list of states: 8 bytes a slot, and the states
/// themselves are stored once. Exact: equal hashes are compared in full.
pub(crate) struct Visited {
    /// Half a hash above, a place + 1 below; 0 is empty.
    slots: Vec<u64>,
    len: usize,
}

const PLACE: u64 = 0xffff_ffff;

impl Visited {
    pub(crate) fn new() -> Self {
        Self {
            slots: vec![0; 1 << 16],
            len: 0,
        }
    }

    /// Adds `place` under `hash`, unless one is there for which `same` holds.
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        place: u32,
        mut same: impl FnMut(usize) -> bool,
    ) -> bool {
        if self.len * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let hash = hash & !PLACE;
        let mut slot = self.home(hash);
        while self.slots[slot] != 0 {
            let found = self.slots[slot];
            if found & !PLACE == hash && same(to_place(found)) {
                return false;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = hash | (u64::from(place) + 1);
        self.len += 1;
        true
    }

    fn home(&self, hash: u64) -> usize {
        to_usize(hash >> 32) & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        let larger = vec![0; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        for entry in old.into_iter().filter(|entry| *entry != 0) {
            let mut slot = self.home(entry & !PLACE);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (self.slots.len() - 1);
            }
            self.slots[slot] = entry;
        }
    }
}

fn to_place(slot: u64) -> usize {
    to_usize((slot & PLACE) - 1)
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).expect("half a hash, or a place in a list")
}

/// A quick hash for small states. Nobody chooses states to make it collide, and a collision costs
/// a comparison.
pub(crate) fn hash_of(state: &impl Hash) -> u64 {
    let mut mixer = Mixer {
        mixed: 0,
        word: 0,
        bytes: 0,
    };
    state.hash(&mut mixer);
    mixer.finish()
}

/// Collects bytes to words of eight: states are made of bytes, and a multiplication for each would
/// be most of a search's time.
struct Mixer {
    mixed: u64,
    word: u64,
    bytes: u32,
}

impl Mixer {
    fn mix(&mut self, word: u64) {
        self.mixed = (self.mixed.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, byte: u8) {
        self.word = self.word << 8 | u64::from(byte);
        self.bytes += 1;
        if self.bytes.is_multiple_of(8) {
            self.mix(self.word);
        }
    }

    // What derived implementations write for an enum's variant: one of a few.
    fn write_isize(&mut self, variant: isize) {
        self.write_u8(variant.to_le_bytes()[0]);
    }

    // The length of a slice, which arrays hash as: always the same one for a model.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        let rest = (self.mixed.rotate_left(5) ^ self.word).wrapping_mul(0x517c_c1b7_2722_0a95);
        let mixed = (rest ^ (rest >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 29)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_exactly_what_was_added_however_hashes_collide() {
        let mut visited = Visited::new();
        let numbers: Vec<u32> = (0..200_000).collect();
        // All in 64 chains.
        let hash = |number: u32| u64::from(number % 64) << 32;
        for number in numbers.iter().step_by(50) {
            assert!(visited.insert(hash(*number), *number, |place| place == *number as usize));
        }
        for number in numbers.iter().step_by(50) {
            assert!(!visited.insert(hash(*number), 0, |place| place == *number as usize));
        }
        let mut spread = Visited::new();
        for number in &numbers {
            assert!(spread.insert(hash_of(number), *number, |place| place == *number as usize));
        }
        assert_eq!(spread.len, numbers.len());
    }
}
