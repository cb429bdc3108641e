//! What an operation on a lock with readers and writers has beside its key and token.

use std::sync::Arc;
use std::time::Duration;

use crate::model::kind::Kind;
use crate::model::resource::{INTENTS, READERS, Resource, TURNS};
use crate::model::token::OwnerToken;

use super::hash_slot::key_beside;

/// The value of a lock's key while readers hold the lock. It keeps out every client that takes the lock
/// with `SET key value NX`. It is no owner token: which readers are in is in another key.
pub const READERS_MARKER: &[u8] = b"redlock:readers";

/// The time for which the readers that a writer kept out go first, once the writer has left.
pub const READERS_TURN: Duration = Duration::from_millis(50);

/// The keys beside the key of a lock with readers and writers, all in its hash slot.
#[derive(Debug, PartialEq, Eq)]
pub struct SharingKeys {
    readers: Box<[u8]>,
    intent: Box<[u8]>,
    turn: Box<[u8]>,
}

impl SharingKeys {
    /// The keys beside the first of `keys`, which have the key prefix `prefix`.
    pub fn beside(keys: &Resource, prefix: &[u8]) -> Self {
        let first = keys.names().next().unwrap_or_default();
        let key = |kind| key_beside(first, prefix, kind).into_boxed_slice();
        Self {
            readers: key(READERS),
            intent: key(INTENTS),
            turn: key(TURNS),
        }
    }

    /// The sorted set of the readers' tokens. The score of a token is the end of its entry, in ms since
    /// 1970 by the node's clock.
    pub fn readers(&self) -> &[u8] {
        &self.readers
    }

    /// The key with the id of one waiting writer. While it exists, no new reader goes in.
    pub fn intent(&self) -> &[u8] {
        &self.intent
    }

    /// The key that says `waiting` if readers were refused a moment ago, and `turn` while they go first.
    pub fn turn(&self) -> &[u8] {
        &self.turn
    }

    /// All of them.
    pub(crate) fn all(&self) -> Resource {
        Resource::all([&self.readers, &self.intent, &self.turn])
    }
}

/// The part of an [`Operation`](super::Operation) that is about readers and writers.
#[derive(Clone, Debug)]
pub struct Sharing {
    pub(crate) keys: Arc<SharingKeys>,
    pub(crate) kind: Kind,
    pub(crate) intent: Option<OwnerToken>,
    pub(crate) advice: Duration,
    pub(crate) is_last: bool,
}

impl Sharing {
    /// An operation of a reader or a writer, by `kind`, with these keys beside the lock's key.
    pub fn new(keys: Arc<SharingKeys>, kind: Kind) -> Self {
        Self {
            keys,
            kind,
            intent: None,
            advice: Duration::ZERO,
            is_last: false,
        }
    }

    /// The same with the id of a waiting writer. A writer's acquisition that is refused leaves it, and
    /// one that is granted deletes it. A release deletes it.
    #[must_use]
    pub fn intent(mut self, intent: Option<OwnerToken>) -> Self {
        self.intent = intent;
        self
    }

    /// The same for an acquisition that is repeated if it is refused: the node remembers the refusal for
    /// this time. Zero: the node does not remember it.
    #[must_use]
    pub fn advice(mut self, advice: Duration) -> Self {
        self.advice = advice;
        self
    }

    /// The same for the release of a lease, and not of an attempt that failed: readers that the writer
    /// kept out go in next.
    #[must_use]
    pub fn last(mut self, is_last: bool) -> Self {
        self.is_last = is_last;
        self
    }

    /// The keys beside the lock's key.
    pub fn keys(&self) -> &SharingKeys {
        &self.keys
    }

    /// Whether the holder reads or writes.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The id of a waiting writer.
    pub(crate) fn intent_id(&self) -> &[u8] {
        self.intent.as_ref().map_or(b"", OwnerToken::as_bytes)
    }

    /// True if the operation is a reader's.
    pub(crate) fn is_reading(&self) -> bool {
        self.kind == Kind::Read
    }

    /// The time for which a release gives the readers their turn.
    pub(crate) fn turn(&self) -> Duration {
        if self.is_last {
            READERS_TURN
        } else {
            Duration::ZERO
        }
    }
}
