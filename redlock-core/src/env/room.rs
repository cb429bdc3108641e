//! Room in slabs that may have a million entries.

use slab::Slab;

/// The least number of entries for which room is made.
const FEWEST: usize = 16;

/// Room for this number of entries is kept once there are none.
const MOST_KEPT: usize = 1024;

/// Makes room for one more entry. The room grows by an eighth: if it doubled, as that of a `Vec` does, up to half of
/// it would be unused.
pub(crate) fn make_room<T>(slab: &mut Slab<T>) {
    if slab.len() == slab.capacity() {
        slab.reserve_exact(FEWEST.max(slab.len() / 8));
    }
}

/// Gives the memory back if the last entry was removed. The room for a few entries stays: otherwise each call of a
/// process that has one at a time would allocate it again. True if the memory was given back.
pub(crate) fn give_room_back<T>(slab: &mut Slab<T>) -> bool {
    let is_large = slab.is_empty() && slab.capacity() > MOST_KEPT;
    if is_large {
        *slab = Slab::new();
    }
    is_large
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_room_is_unused_and_much_room_is_given_back() {
        let mut slab = Slab::new();
        let fill = |slab: &mut Slab<usize>, count| {
            for entry in 0..count {
                make_room(slab);
                slab.insert(entry);
                assert!(slab.capacity() <= FEWEST + slab.len() / 8 * 9);
            }
        };
        fill(&mut slab, 10 * MOST_KEPT);
        slab.remove(0);
        assert!(!give_room_back(&mut slab), "there are entries");
        slab.clear();
        assert!(give_room_back(&mut slab));
        assert_eq!(slab.capacity(), 0);
        fill(&mut slab, FEWEST);
        slab.clear();
        assert!(!give_room_back(&mut slab), "a few");
        assert_eq!(slab.capacity(), FEWEST);
    }
}
