//! Run records: nodes remember the last run of a job that runs once a period.
#![doc = include_str!("runs.md")]

mod record_text;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::error::LastRun;
use crate::kinds::exclusive::read_done;
use crate::model::resource::Resource;
use crate::model::token::{OwnerToken, owner_of};
use crate::node::hash_slot::{AuxiliaryKeys, auxiliary_key};
use crate::node::store::parse_integer;
use crate::node::{Argument, Call, Effect, Remaining, Script, Value, Vote};
use crate::quorum::majority;

/// The prefix of the keys that remember runs, after `redlock:`.
pub(super) const RUNS: &[u8] = b"once:";

/// Returns the time for which a run is remembered, counted from its beginning. The time is nine tenths of the period,
/// so that a clock that ticks a little early finds the record gone.
pub(crate) fn remembered_for(period: Duration) -> Duration {
    period.saturating_sub(period / 10)
}

/// Returns the key of the run record for the lock on `keys`, with the key prefix `prefix`. If the lock has several
/// names, the key contains a digest of all names. In the digest each name follows its length, so two locks never share
/// a record.
pub(crate) fn run_key(keys: &Resource, prefix: &[u8]) -> Resource {
    let first = keys.names().next().unwrap_or_default();
    let mut kind = RUNS.to_vec();
    if keys.names().count() > 1 {
        let mut digest = sha1_smol::Sha1::new();
        for name in keys.names() {
            digest.update(format!("{}:", name.len()).as_bytes());
            digest.update(name);
        }
        kind.extend(format!("{}:", digest.digest()).bytes());
    }
    Resource::all([auxiliary_key(first, prefix, &kind)])
}

/// Returns the key of the run record, which has to be in the hash slot of the lock on `keys`.
pub(crate) fn record_key(keys: &Resource, prefix: &[u8]) -> AuxiliaryKeys {
    AuxiliaryKeys {
        keys: run_key(keys, prefix),
        parameter: "`once_per`",
        key: "record of its runs",
    }
}

/// Sets a key to the record of a run. The script is sent with its text, because a reply `NOSCRIPT` would delay the
/// record until after the release of its lock.
pub(super) static REMEMBER: Script = Script::whole(
    "remember",
    include_str!("remember.lua"),
    |store, keys, arguments| {
        let (left, ttl) = (store.pttl(keys[0]), parse_integer(arguments[1])?);
        if left < ttl || left > parse_integer(arguments[2])? {
            store.del(keys[0]);
            store.set(keys[0], arguments[0], ttl)?;
        }
        Ok(Value::Int(1))
    },
)
.shaped("run", "text ttl life");

/// The record of a run that nodes have to keep.
pub(crate) struct RunRecord<'a> {
    /// The token of the holder whose run it was.
    pub(crate) token: &'a OwnerToken,
    /// The time at which the run began, in ms since 1970.
    pub(crate) began: u64,
    /// The time for which nodes have to remember the run from now on.
    pub(crate) ttl: Duration,
    /// The longest time for which nodes remember a run of this period. A record that has more time left is replaced.
    pub(crate) longest: Duration,
}

/// Builds the call that keeps `record` at `key`. An existing record stays if it expires later, but within `longest`.
pub(crate) fn remember(key: &Resource, record: &RunRecord<'_>) -> Call {
    let owner = owner_of(record.token.as_bytes()).unwrap_or_default();
    Call::new(&REMEMBER, Effect::Keeps, key, read_done).with([
        Argument::text(record_text::write(owner, record.began)),
        Argument::millis(record.ttl),
        Argument::millis(record.longest),
    ])
}

/// Returns the run that a majority remembers, by the nodes' answers about its key. `period` is that of the caller's
/// job. A failed or silent node counts as a node that remembers nothing. So does a node whose record has more time left
/// than a run of this period can have, because the node's clock was set back or the run had a longer period.
pub(crate) fn last_run(answers: &[Option<Vote>], period: Duration) -> Option<LastRun> {
    let longest = remembered_for(period);
    let holdings = answers.iter().flatten().filter_map(Vote::holding);
    let remembered = holdings.filter_map(|holding| match holding.remaining {
        Remaining::Expires(left) if left <= longest => Some((left, holding)),
        _ => None,
    });
    let mut remembered: Vec<_> = remembered.collect();
    remembered.sort_by_key(|(left, _)| *left);
    // The decisive node completes a majority: once it forgets the run too, too few nodes remember it.
    let decisive = remembered.len().checked_sub(majority(answers.len()))?;
    let (next_in, holding) = remembered[decisive];
    let record = holding.value.as_deref().and_then(record_text::read);
    Some(LastRun {
        owner: record.map(|(owner, _)| owner.into()),
        began: record.map(|(_, began)| began),
        next_in,
    })
}
