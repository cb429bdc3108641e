//! Seats as bits of a word.

/// The most nodes of a lock: a seat is a bit of a word.
pub(crate) const MOST_NODES: usize = 64;

/// A seat as a bit. A client refuses sets with more nodes than there are bits.
pub(crate) fn bit(seat: usize) -> u64 {
    u32::try_from(seat)
        .ok()
        .and_then(|seat| 1_u64.checked_shl(seat))
        .unwrap_or(0)
}

/// The number of seats in a set.
pub(crate) const fn seats_in(seats: u64) -> usize {
    seats.count_ones() as usize
}

/// The votes of an acquisition by seat, as far as they matter after the attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seats {
    pub(crate) answered: u64,
    pub(crate) granted: u64,
    /// The seats that granted in time, or before the lease was made.
    pub(crate) in_time: u64,
    /// The seats where a release has something to undo: all but those that the operation certainly
    /// never reached.
    pub(crate) reached: u64,
}
