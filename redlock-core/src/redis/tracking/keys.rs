//! Who waits for which keys, and what is known of these.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::env::{Clock, Moment};
use crate::model::resource::Resource;
use crate::node::Remaining;
use crate::node::watch::{KeyReport, Watch};

/// So many watches come at least before all keys are gone through for those that nobody waits for
/// any more.
const SWEEP_AFTER: usize = 64;

/// Several watches of a key share an entry.
pub(super) struct TrackedKeys {
    clock: Arc<dyn Clock>,
    keys: BTreeMap<Arc<[u8]>, TrackedKey>,
    /// Keys that the server is to be asked for.
    questions: Vec<Arc<[u8]>>,
    /// Keys that the server answered with an error: it tells of no change of these.
    refused: Vec<Arc<[u8]>>,
    /// How many watches may come until the next sweep.
    sweep_in: usize,
}

struct TrackedKey {
    seen: Seen,
    /// Questions that are to be sent, or answered.
    asked: usize,
    watches: Vec<Arc<Watch>>,
}

/// What the server last said of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Unknown,
    Gone,
    Until(Moment),
    /// There is no expiry.
    Stays,
}

impl TrackedKeys {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            keys: BTreeMap::new(),
            questions: Vec::new(),
            refused: Vec::new(),
            sweep_in: SWEEP_AFTER,
        }
    }

    /// Asks for the keys of `watch`, also for those that are known: what was seen before the caller
    /// was refused tells it nothing. A caller that comes again and again also finds out that way that
    /// a connection died in silence.
    pub(super) fn add(&mut self, watch: Watch) {
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
                watches: Vec::new(),
            });
            entry.watches.retain(|watch| watch.is_wanted());
            entry.watches.push(Arc::clone(&watch));
            entry.asked += 1;
            self.questions.push(key);
        }
    }

    /// The keys to ask for now.
    pub(super) fn take_questions(&mut self) -> Vec<Arc<[u8]>> {
        std::mem::take(&mut self.questions)
    }

    /// What a server says of a key that goes in `left`, now. It counts in whole milliseconds, and
    /// deletes the key when the last one of them is over.
    pub(super) fn until(&self, left: Duration) -> Seen {
        let left = left.saturating_add(Duration::from_millis(1));
        Seen::Until(self.clock.now().saturating_add(left))
    }

    /// The answer to a question.
    pub(super) fn answered(&mut self, key: &[u8], seen: Seen) {
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
    pub(super) fn refused(&mut self, key: Arc<[u8]>) {
        if self.record(&key, Seen::Unknown) {
            for watch in self.watches_of(&key) {
                watch.report(KeyReport::Unknown);
            }
            self.refused.push(key);
        }
    }

    /// Asks for the keys again that were refused, if somebody still waits for them.
    pub(super) fn ask_again(&mut self) {
        for key in std::mem::take(&mut self.refused) {
            self.changed(&key);
        }
    }

    /// False if nobody waits for the key any more.
    fn record(&mut self, key: &[u8], seen: Seen) -> bool {
        let Some(entry) = self.keys.get_mut(key) else {
            return false;
        };
        entry.asked = entry.asked.saturating_sub(1);
        entry.seen = seen;
        true
    }

    /// The server said that a key has changed, and will not say so again until it is asked. If a
    /// question is out, its answer is later than that.
    pub(super) fn changed(&mut self, key: &[u8]) {
        let Some((key, _)) = self.keys.get_key_value(key) else {
            return;
        };
        let key = Arc::clone(key);
        if let Some(entry) = self.keys.get_mut(&key) {
            entry.watches.retain(|watch| watch.is_wanted());
            if entry.watches.is_empty() {
                self.keys.remove(&key);
            } else if entry.asked == 0 {
                entry.asked = 1;
                self.questions.push(key);
            }
        }
    }

    /// The server forgot all keys.
    pub(super) fn all_changed(&mut self) {
        let keys: Vec<_> = self.keys.keys().cloned().collect();
        for key in keys {
            self.changed(&key);
        }
    }

    /// The connection is gone. On the next one everything is asked for again.
    pub(super) fn forget_answers(&mut self) {
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

    /// Whether anybody waits.
    pub(super) fn is_wanted(&mut self) -> bool {
        self.sweep();
        !self.keys.is_empty()
    }

    /// Forgets those who do not wait any more. The server goes on remembering the key, and says once
    /// more that it changed.
    fn sweep(&mut self) {
        self.keys.retain(|_, entry| {
            entry.watches.retain(|watch| watch.is_wanted());
            !entry.watches.is_empty()
        });
        self.sweep_in = SWEEP_AFTER.max(self.keys.len());
    }

    /// How many keys it remembers.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.keys.len()
    }

    fn watches_of(&self, key: &[u8]) -> &[Arc<Watch>] {
        self.keys.get(key).map_or(&[], |entry| &entry.watches)
    }

    /// `None` where one of the keys was not seen yet.
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
