//! Remembers the keys of a node that may hold huge values.

use std::collections::HashSet;

use crate::model::token;
use crate::node::{Call, Effect, Value};

use super::Inbox;

/// The most keys that are remembered. A full set is emptied.
const MOST_HUGE_KEYS: usize = 1024;

/// Keys that may hold huge values of other programs. Calls read only the beginnings of such values.
#[derive(Default)]
pub(in crate::redis) struct HugeKeys(HashSet<Box<[u8]>>);

impl HugeKeys {
    /// True if one of these keys is a key of `call`.
    pub(in crate::redis) fn has_any_of(&self, call: &Call) -> bool {
        !self.0.is_empty() && call.keys().any(|key| self.0.contains(key))
    }

    /// Adds the keys of `call`.
    pub(in crate::redis) fn add(&mut self, call: &Call) {
        if self.0.len() + call.keys().len() > MOST_HUGE_KEYS {
            self.0.clear();
        }
        self.0.extend(call.keys().map(Box::from));
    }

    /// Updates the set by the `answer` to `call`. Adds the call's keys if the answer is too long for a token. Any other
    /// answer to an acquisition removes its keys.
    pub(in crate::redis) fn note(&mut self, call: &Call, answer: &Value) {
        let is_known = self.has_any_of(call);
        let is_huge = matches!(answer, Value::Text(text) if text.len() > token::LONGEST_TOKEN);
        if is_huge && !is_known {
            self.add(call);
        } else if is_known && !is_huge && call.effect == Effect::Takes {
            call.keys().for_each(|key| _ = self.0.remove(key));
        }
    }
}

impl Inbox {
    /// Takes out the known keys, for a new connection.
    pub(in crate::redis) fn take_huge_keys(&self) -> HugeKeys {
        std::mem::take(&mut self.state.lock().huge)
    }

    /// Stores the known keys of a closed connection, for the next one.
    pub(in crate::redis) fn keep_huge_keys(&self, keys: HugeKeys) {
        self.state.lock().huge.0.extend(keys.0);
    }
}
