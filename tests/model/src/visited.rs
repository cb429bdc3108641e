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
    let mut mixer = Mixer(0);
    state.hash(&mut mixer);
    mixer.finish()
}

struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.write(&value.to_le_bytes());
    }

    // What derived implementations write for an enum's variant.
    fn write_isize(&mut self, value: isize) {
        self.write(&value.to_le_bytes());
    }

    fn finish(&self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
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
