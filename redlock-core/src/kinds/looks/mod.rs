//! What is asked of a lock of any kind.

mod force_release;
mod holders;
mod kind;
mod peek;
#[cfg(test)]
pub(crate) mod tests;

use crate::kinds::Room;

pub(crate) use force_release::FORCE_RELEASE;
pub(crate) use holders::Holders;
pub(crate) use kind::{force_release, inspect, number, peek};
pub(crate) use peek::PEEK;

/// The beginning of the keys with the name of a waiting caller, after `redlock:`.
pub(in crate::kinds) const INTENTS: &[u8] = b"intent:";

pub(crate) static ROOM: Room = Room {
    scripts: &[&PEEK, &FORCE_RELEASE],
    #[cfg(test)]
    golden: (tests::golden, include_str!("golden.txt")),
    ..Room::EMPTY
};
