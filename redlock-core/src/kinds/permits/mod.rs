//! Locks that several holders have at a time, each with a permit.

mod acquire;
mod kind;
#[cfg(test)]
pub(crate) mod tests;
mod wanted;

use crate::kinds::Room;

pub(crate) use acquire::ACQUIRE_PERMIT;
#[cfg(any(test, feature = "testing"))]
pub(crate) use kind::key_of;
use kind::{AnyPermit, every_key};
pub use wanted::MAX_PERMITS;
pub(crate) use wanted::Permits;

/// The beginning of the keys of permits, but for the first one, after `redlock:`.
const PERMITS: &[u8] = b"permit:";

pub(crate) static ROOM: Room = Room {
    beside: &[PERMITS],
    keys: every_key,
    scripts: &[&ACQUIRE_PERMIT],
    #[cfg(test)]
    golden: (tests::golden, include_str!("golden.txt")),
    ..Room::EMPTY
};
