//! Locks that one holder has at a time: one key, or several at once.

mod acquire;
pub(super) mod extend;
mod kind;
mod many;
mod release;
#[cfg(test)]
pub(crate) mod tests;

use crate::kinds::Room;

pub(crate) use acquire::{ACQUIRE_ALL, PTTL, SET};
pub(crate) use extend::{EXTEND, RESTORE};
pub(crate) use kind::{Exclusive, Plain, done, extend, extended, plain, release, restore};
pub(crate) use many::MANY;
pub(crate) use release::{RELEASE, RELEASE_MANY};

pub(crate) static ROOM: Room = Room {
    scripts: &[
        &SET,
        &PTTL,
        &ACQUIRE_ALL,
        &EXTEND,
        &RESTORE,
        &RELEASE,
        &RELEASE_MANY,
        &MANY,
    ],
    #[cfg(test)]
    golden: (tests::golden, include_str!("golden.txt")),
    ..Room::EMPTY
};
