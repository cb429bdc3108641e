//! What keys of a lock with readers and writers hold.

use crate::kinds::words::{integer, word};
use crate::node::READERS_MARKER;
use crate::node::store::Store;
use crate::node::value::Value;

pub(super) const WAITING: &[u8] = b"waiting";
pub(super) const TURN: &[u8] = b"turn";

/// The places of keys.
pub(super) const LOCK: usize = 0;
pub(super) const READERS: usize = 1;
pub(super) const INTENT: usize = 2;
pub(super) const TURNS: usize = 3;
pub(super) const COUNTER: usize = 4;
pub(super) const MARKER: usize = 5;

/// What the lock's key holds.
#[derive(PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// The readers' marker.
    Readers,
    /// The owner token of a writer or any other value.
    By(Box<[u8]>),
}

/// `held.lua`. Without keys, or if the lock's key is no string, the answer is 0.
pub(super) fn held(store: &Store, keys: &[&[u8]]) -> Result<Held, Value> {
    let value = keys.get(LOCK).map(|key| store.get(key));
    match value {
        None | Some(Err(_)) => Err(Value::Int(0)),
        Some(Ok(None)) => Ok(Held::Nothing),
        Some(Ok(Some(value))) if value == READERS_MARKER => Ok(Held::Readers),
        Some(Ok(Some(value))) => Ok(Held::By(value.into())),
    }
}

/// True if the key at `place` holds `text`.
pub(super) fn says(store: &Store, keys: &[&[u8]], place: usize, text: &[u8]) -> bool {
    keys.get(place).is_some_and(|key| store.says(key, text))
}

/// Sets the key at `place` for the ms that an argument says. This is advice, which may fail.
pub(super) fn advise(store: &mut Store, keys: &[&[u8]], place: usize, text: &[u8], ttl: &[&[u8]]) {
    if let (Ok(key), Ok(ttl)) = (word(keys, place), integer(ttl, 2)) {
        let _ = store.set(key, text, ttl);
    }
}
