//! The keys that callers wait for, and the server's last answers about them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::env::{Clock, Moment};
use crate::model::resource::Resource;
use crate::node::Remaining;
use crate::node::watch::{KeyReport, Watch};

/// The least number of new watches between two sweeps, which forget the keys without a waiting caller.
const SWEEP_AFTER: usize = 64;

/// The keys that callers wait for. Several watches of a key share an entry.
pub(in crate::redis) struct TrackedKeys {
    clock: Arc<dyn Clock>,
    keys: BTreeMap<Arc<[u8]>, TrackedKey>,
    /// Keys to ask the server about.
    questions: Vec<Arc<[u8]>>,
    /// Keys that are asked for later: the server answered with an error and tells of no change, or named them without a
    /// reason.
    refused: Vec<Arc<[u8]>>,
    /// The number of watches until the next sweep.
    sweep_in: usize,
}

struct TrackedKey {
    seen: Seen,
    /// The number of questions that are still to be sent or answered.
    asked: usize,
    /// True if the last answer said what was known before: the server named the key without a reason.
    is_unchanged: bool,
    watches: Vec<Arc<Watch>>,
}

/// The server's last answer about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redis) enum Seen {
    Unknown,
    Gone,
    Until(Moment),
    /// The key has no expiry.
    Stays,
}

impl Seen {
    /// True if both say the same. Expiries are known to some ms.
    fn is_like(self, before: Self) -> bool {
        let near = Duration::from_millis(20);
        match (self, before) {
            (Self::Until(one), Self::Until(other)) => {
                one.saturating_since(other) < near && other.saturating_since(one) < near
            }
            _ => self == before,
        }
    }
}

impl TrackedKeys {
    pub(in crate::redis) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            keys: BTreeMap::new(),
            questions: Vec::new(),
            refused: Vec::new(),
            sweep_in: SWEEP_AFTER,
        }
    }

    /// Asks about the keys of `watch`, also about known keys: a state from before the caller's refusal
    /// tells the caller nothing. A caller that comes again and again also finds out in this way that a
    /// connection died in silence.
    pub(in crate::redis) fn add(&mut self, watch: Watch) {
        match self.sweep_in.checked_sub(1) {
            Some(left) => self.sweep_in = left,
            None => {
                self.sweep();
            }
        }
        if !watch.is_wanted() {
            return;
        }
        let watch = Arc::new(watch);
        for name in watch.keys().names() {
            let known = self.keys.get_key_value(name);
            let key = known.map_or_else(|| name.into(), |(key, _)| Arc::clone(key));
            let entry = self.keys.entry(Arc::clone(&key)).or_insert(TrackedKey {
                seen: Seen::Unknown,
                asked: 0,
                is_unchanged: false,
                watches: Vec::new(),
            });
            entry.watches.retain(|watch| watch.is_wanted());
            entry.watches.push(Arc::clone(&watch));
            entry.asked += 1;
            self.questions.push(key);
        }
    }

    /// Takes the keys to ask about now.
    pub(in crate::redis) fn take_questions(&mut self) -> Vec<Arc<[u8]>> {
        std::mem::take(&mut self.questions)
    }

    /// The state of a key that the server deletes in `left`, counted from now. The server counts in
    /// whole milliseconds, and deletes the key when the last millisecond is over.
    pub(in crate::redis) fn until(&self, left: Duration) -> Seen {
        let left = left.saturating_add(Duration::from_millis(1));
        Seen::Until(self.clock.now().saturating_add(left))
    }

    /// Records the server's answer about a key, and reports to the key's watches.
    pub(in crate::redis) fn answered(&mut self, key: &[u8], seen: Seen) {
        if self.record(key, seen) {
            let now = self.clock.now();
            for watch in self.watches_of(key) {
                if let Some(key_report) = self.key_report(watch.keys(), now) {
                    watch.report(key_report);
                }
            }
        }
    }

    /// A question was answered with an error.
    pub(in crate::redis) fn refused(&mut self, key: Arc<[u8]>) {
        if self.record(&key, Seen::Unknown) {
            for watch in self.watches_of(&key) {
                watch.report(KeyReport::Unknown);
            }
            self.refused.push(key);
        }
    }

    /// Asks again for the keys that were refused, if a caller still waits for them.
    pub(in crate::redis) fn ask_again(&mut self) {
        for key in std::mem::take(&mut self.refused) {
            self.changed(&key);
        }
    }

    /// False if no caller waits for the key any longer.
    fn record(&mut self, key: &[u8], seen: Seen) -> bool {
        let Some(entry) = self.keys.get_mut(key) else {
            return false;
        };
        entry.asked = entry.asked.saturating_sub(1);
        entry.is_unchanged = seen.is_like(entry.seen);
        entry.seen = seen;
        true
    }

    /// Asks about a key that changed, if a caller waits for it: the server does not report another
    /// change until it is asked. If a question is in flight, its answer is later than the change.
    pub(in crate::redis) fn changed(&mut self, key: &[u8]) {
        let Some((key, _)) = self.keys.get_key_value(key) else {
            return;
        };
        let key = Arc::clone(key);
        if let Some(entry) = self.keys.get_mut(&key) {
            entry.watches.retain(|watch| watch.is_wanted());
            if entry.watches.is_empty() {
                self.keys.remove(&key);
            } else if std::mem::take(&mut entry.is_unchanged) {
                self.refused.push(key);
            } else if entry.asked == 0 {
                entry.asked = 1;
                self.questions.push(key);
            }
        }
    }

    /// Asks about all keys: the server dropped all of them.
    pub(in crate::redis) fn all_changed(&mut self) {
        let keys: Vec<_> = self.keys.keys().cloned().collect();
        for key in keys {
            self.changed(&key);
        }
    }

    /// Forgets the answers: the connection is gone. On the next connection everything is asked again.
    pub(in crate::redis) fn forget_answers(&mut self) {
        self.sweep();
        self.refused.clear();
        for entry in self.keys.values_mut() {
            entry.seen = Seen::Unknown;
            entry.asked = 1;
            for watch in &entry.watches {
                watch.report(KeyReport::Unknown);
            }
        }
        self.questions = self.keys.keys().cloned().collect();
    }

    /// True if a caller waits.
    pub(in crate::redis) fn is_wanted(&mut self) -> bool {
        self.sweep();
        !self.keys.is_empty()
    }

    /// Forgets watches without a waiting caller. The server still remembers the key, and reports one
    /// more change.
    fn sweep(&mut self) {
        self.keys.retain(|_, entry| {
            entry.watches.retain(|watch| watch.is_wanted());
            !entry.watches.is_empty()
        });
        self.sweep_in = SWEEP_AFTER.max(self.keys.len());
    }

    /// The number of keys.
    #[cfg(test)]
    pub(in crate::redis) fn known(&self) -> usize {
        self.keys.len()
    }

    fn watches_of(&self, key: &[u8]) -> &[Arc<Watch>] {
        self.keys.get(key).map_or(&[], |entry| &entry.watches)
    }

    /// `None` if the state of one of the keys is unknown.
    fn key_report(&self, keys: &Resource, now: Moment) -> Option<KeyReport> {
        let (mut last, mut stays) = (None, false);
        for key in keys.names() {
            match self.keys.get(key)?.seen {
                Seen::Unknown => return None,
                Seen::Gone => {}
                Seen::Until(until) => last = last.max(Some(until)),
                Seen::Stays => stays = true,
            }
        }
        Some(match last {
            _ if stays => KeyReport::Held(Remaining::Never),
            None => KeyReport::Free,
            Some(until) => KeyReport::Held(Remaining::Expires(until.saturating_since(now))),
        })
    }
}
