//! Locks with readers and writers: a writer excludes all, and readers exclude writers.
//!
//! Keys of scripts are the lock's key, the readers, the intent and the turn; a fenced acquisition, its confirmation and
//! its extension have the counter as the fifth, and a checked acquisition the node's marker as the sixth. A reader's
//! release has the first two only.
//!
//! At one node there is never a writer's key beside a reader's entry that has not ended, except if the key was lost:
//! then old entries are of no account, and the next reader that creates the key removes them. An entry counts only
//! beside the readers' marker.

mod acquire;
mod entries;
mod keep;
mod kind;
mod release;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod wanted;

use crate::kinds::Room;
use crate::kinds::looks::INTENTS;

pub(crate) use acquire::{ACQUIRE_READ, ACQUIRE_WRITE};
pub(crate) use keep::{CONFIRM_READ, EXTEND_READ, RESTORE_READ};
use kind::{Reader, Writer, every_key};
pub(crate) use release::RELEASE_SHARED;
pub(crate) use wanted::{Read, Write};

/// The beginning of the keys that list readers, after `redlock:`.
const READERS: &[u8] = b"readers:";
/// The beginning of the keys that say whether readers go first, after `redlock:`.
const TURNS: &[u8] = b"turn:";

pub(crate) static ROOM: Room = Room {
    commands: include_str!("commands.lua"),
    beside: &[READERS, INTENTS, TURNS],
    keys: every_key,
    scripts: &[
        &ACQUIRE_READ,
        &ACQUIRE_WRITE,
        &EXTEND_READ,
        &CONFIRM_READ,
        &RESTORE_READ,
        &RELEASE_SHARED,
    ],
    #[cfg(test)]
    golden: (tests::golden, include_str!("golden.txt")),
};
