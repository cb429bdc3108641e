//! Exclusive locks with fencing tokens, for which nodes have counters.

mod acquire;
mod confirm;
pub(super) mod counters;
mod kind;
#[cfg(test)]
pub(crate) mod tests;

use crate::kinds::Room;

pub(crate) use acquire::ACQUIRE_FENCED;
pub(crate) use confirm::CONFIRM;
pub(crate) use kind::{Counters, Fenced, counter_ttl};

/// The beginning of the keys of fencing counters, after `redlock:`.
const COUNTERS: &[u8] = b"fence:";

pub(crate) static ROOM: Room = Room {
    beside: &[COUNTERS],
    scripts: &[&ACQUIRE_FENCED, &CONFIRM],
    #[cfg(test)]
    golden: (tests::golden, include_str!("golden.txt")),
    ..Room::EMPTY
};
