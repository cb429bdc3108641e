//! Jobs that run once a period: nodes remember runs.

mod kind;
mod record;
mod run_record;
#[cfg(test)]
pub(crate) mod tests;

use crate::kinds::Room;

pub(crate) use kind::{beside, last_run, recall, remember, remembered_for, run_keys};
pub(crate) use record::{RECALL, REMEMBER};

/// The beginning of the keys that remember runs, after `redlock:`.
const RUNS: &[u8] = b"once:";

pub(crate) static ROOM: Room = Room {
    beside: &[RUNS],
    scripts: &[&REMEMBER, &RECALL],
    #[cfg(test)]
    golden: (tests::golden, include_str!("golden.txt")),
    ..Room::EMPTY
};
