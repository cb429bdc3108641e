//! The rules about readers and writers at one node.

use std::time::Duration;

use crate::operation::{Operation, Want, beside};
use redlock_core::Resource;
use redlock_core::node::{Obstacle, READERS_MARKER, Vote};
use redlock_core::request::Kind;

use super::Broken;
use crate::history::{History, Invariant, Served, SharedState};
use crate::profile::Rules;
use crate::server::Server;

type Reader = (Vec<u8>, Duration);

impl SharedState {
    fn value(&self) -> Option<&[u8]> {
        self.key.as_ref().map(|(value, _)| &**value)
    }

    fn is_read(&self) -> bool {
        self.value() == Some(READERS_MARKER)
    }

    /// Returns the entry of `token`, if it counts.
    fn entry(&self, token: &[u8]) -> Option<&Reader> {
        let mut readers = self.readers.iter().filter(|_| self.is_read());
        readers.find(|(reader, _)| reader == token)
    }
}

impl Server {
    /// True if a reader has an entry with `token`.
    pub(crate) fn is_reader(&self, keys: &Resource, token: &[u8]) -> bool {
        let [readers, ..] = beside(keys);
        let readers = self.memory().entries(&readers);
        readers.iter().any(|(reader, _)| reader == token)
    }

    /// Returns what there is of readers and writers, if the profile has any.
    pub(crate) fn shared(&self, rules: &Rules, operation: &Operation) -> Option<SharedState> {
        let keys = operation.keys();
        let key = keys.names().next().filter(|_| keys.names().len() == 1)?;
        if !rules.sharing {
            return None;
        }
        let (memory, [readers, intent, _]) = (self.memory(), beside(keys));
        Some(SharedState {
            key: memory.get(key).zip(memory.remaining(key)),
            readers: memory.entries(&readers),
            intent: memory.get(&intent),
        })
    }
}

impl Served<'_> {
    /// True if the node has an entry of `token`.
    pub(crate) fn is_reading(&self, token: &[u8]) -> bool {
        let shared = self.shared.as_ref();
        shared.is_some_and(|[_, after]| after.entry(token).is_some())
    }
}

impl History {
    /// RW1, RW3, RW4, RW6 and RW7 of readers and writers, as far as one operation shows them.
    pub(crate) fn check_shared(&self, served: &Served<'_>, broken: &mut Broken) {
        let Some([before, after]) = &served.shared else {
            return;
        };
        self.count_shared(served, before);
        let (operation, seat) = (served.operation, served.seat);
        let (token, want) = (operation.token().as_bytes(), operation.want());
        let id = operation.token().short_id();
        let mut wrong = |what: &str| {
            let text = format!("n{seat} {what}, for {id} {want:?}");
            broken.push((Invariant::Entry, text));
        };
        // Entries of others stay as they are, while they count.
        let others = before.readers.iter().filter(|_| before.is_read());
        let mut others = others.filter(|(reader, _)| reader != token);
        if others.any(|other| !after.readers.contains(other) || !after.is_read()) {
            wrong("touched the entry of another reader");
        }
        let strangers = after.readers.iter().filter(|(reader, _)| reader != token);
        if strangers
            .clone()
            .any(|stranger| !before.readers.contains(stranger))
        {
            wrong("made an entry for another reader");
        }
        // The operation's own entry.
        let (own, now) = (before.entry(token), after.entry(token));
        let may = match (own, now, want) {
            (None, None, _) | (None, Some(_), Want::Acquire { .. } | Want::Restore { .. }) => true,
            (None, Some(_), _) => false,
            (Some(_), None, want) => matches!(want, Want::Release { .. }),
            // An acquisition may come late, behind an extension.
            (
                Some((_, was)),
                Some((_, is)),
                Want::Acquire { .. }
                | Want::Confirm { .. }
                | Want::Extend { .. }
                | Want::Restore { .. },
            ) => is >= was,
            (Some((_, was)), Some((_, is)), _) => is == was,
        };
        if !may {
            wrong("made, moved or removed an entry that it must not");
        }
        // The key lives exactly as long as the entry that lasts longest.
        let longest = after.readers.iter().map(|(_, left)| *left).max();
        let left = after.key.as_ref().map(|(_, left)| *left);
        if after.is_read() && left != longest {
            wrong(&format!(
                "keeps the key for {left:?}, and a reader for {longest:?}"
            ));
        }
        let is_exclusive = after.key.is_some() && !after.is_read();
        if is_exclusive && longest.is_some() {
            wrong("has a reader beside an exclusive key");
        }
        self.check_intent(served, before, after, broken);
    }

    /// Only a lease, or the caller as a whole, takes back the intent of a writer that waits.
    fn check_intent(
        &self,
        served: &Served<'_>,
        before: &SharedState,
        after: &SharedState,
        broken: &mut Broken,
    ) {
        let is_release = matches!(served.operation.want(), Want::Release { .. });
        if !is_release || before.intent.is_none() || before.intent == after.intent {
            return;
        }
        let has_lost = {
            let token = served.operation.token().as_bytes();
            let inner = self.lock();
            let mut attempts = inner.attempts.iter();
            let attempt = attempts.find(|attempt| *attempt.token == *token);
            // The caller as a whole has a token that asked for nothing.
            attempt.is_some_and(|attempt| {
                !attempt.ttl.is_zero() && attempt.votes.len() <= self.rules.nodes / 2
            })
        };
        if has_lost {
            let id = served.operation.token().short_id();
            let text = format!(
                "n{} dropped an intent for {id}, which has failed",
                served.seat
            );
            broken.push((Invariant::Intent, text));
        }
    }

    fn count_shared(&self, served: &Served<'_>, before: &SharedState) {
        let is_reader = served.operation.sharing() == Some(Kind::Read);
        if !matches!(served.operation.want(), Want::Acquire { .. }) {
            return;
        }
        let is_beside = is_reader && before.is_read() && !before.readers.is_empty();
        let obstacle = match served.answer {
            Vote::Held(holding) => Some(holding.obstacle),
            _ => None,
        };
        self.count(|coverage| {
            coverage.read_beside += u64::from(is_beside && obstacle.is_none());
            coverage.behind_a_writer += u64::from(obstacle == Some(Obstacle::WaitingWriter));
            coverage.behind_readers += u64::from(obstacle == Some(Obstacle::ReadersTurn));
        });
    }
}
