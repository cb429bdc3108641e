//! The questions to a [`Node`] and its answers, for custom nodes; and the health of a node.
//!
//! A node gets [`Operation`]s, each with a [`Reply`] for its [`Answer`], and [`Watch`]es, in which it
//! reports what becomes of keys. [`NodeStatus`] says whether it votes, [`NodeHealth`] how well.

pub(crate) mod contract;
pub(crate) mod hash_slot;
mod health;
pub(crate) mod observe;
pub(crate) mod operation;
mod permits;
mod reply;
pub(crate) mod sharing;
pub(crate) mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use crate::model::permits::{CountRecord, PermitReport};
use crate::model::resource::Shown;
use crate::model::token;
pub use crate::model::token::OwnerToken;
pub use contract::EpochListener;
pub(crate) use contract::{Node, NodeSet};
pub use health::{ClockOffset, ErrorCounts, LastError, Latency, NodeHealth};
pub use observe::ObserveAnswers;
pub use operation::{COUNTER_IDLE, HINT_WINDOW, Operation, Want};
pub use permits::{PermitKey, PermitOrder};
pub(crate) use reply::Answers;
pub use reply::Reply;
pub use sharing::{READERS_MARKER, READERS_TURN, Sharing, SharingKeys};
pub use watch::{KeyReport, Watch};

/// The seat of `node` in `nodes`, if it is one of them. Two nodes of one name are not the same.
pub fn seat_of(nodes: &NodeSet, node: &Arc<dyn Node>) -> Option<usize> {
    nodes.iter().position(|it| identity(it) == identity(node))
}

/// The identity of a node: its address in memory, without the vtable, as one type may have several.
pub(crate) fn identity(node: &Arc<dyn Node>) -> usize {
    Arc::as_ptr(node).cast::<()>().addr()
}

/// A node's clock, by what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeTime {
    /// The clock is not compared with those of other nodes.
    Uncompared,
    /// The clock is compared, but was not read on this connection yet.
    Unread,
    /// The clock shows this time since 1970.
    Shows(Duration),
}

/// Whether a node votes, and the reason if it does not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeStatus {
    /// It votes.
    Voting,
    /// The node votes no, for this reason: on every operation, or, in a Redis Cluster, on keys of some
    /// of its slots.
    Abstaining(NodeError),
}

/// A node's answer to one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Done: the keys are ours (acquire), live on (extend), or were ours and are deleted (release).
    Granted {
        /// The node's counter after this acquisition, if a fencing token was asked for.
        counter: Option<u64>,
        /// The [epoch](Node::epoch) in which the node served the operation.
        epoch: u32,
        /// To an acquisition of permits: the permits that are ours now.
        permits: Option<Arc<PermitReport>>,
    },
    /// A key holds another value than our token.
    Held(Holding),
    /// No key holds another token. To an extension or a confirmation: at least one key is missing. To
    /// another operation: no key exists.
    Absent,
    /// The node did not serve the operation, or it is unknown whether it did.
    Failed(NodeError),
}

impl Answer {
    /// A grant without a counter, of a node that never begins a new epoch.
    pub const GRANTED: Self = Self::Granted {
        counter: None,
        epoch: 0,
        permits: None,
    };
}

/// The key of another holder, by what is known of it.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holding {
    /// The holder's token, or the beginning of another value. It is the right to release and therefore
    /// never shown; see [`Self::owner`].
    pub(crate) value: Option<Arc<[u8]>>,
    /// The key's remaining time.
    pub(crate) remaining: Remaining,
    /// To an acquisition of permits: the permits of the resource.
    pub(crate) permits: Option<Arc<PermitReport>>,
    /// What stands in the way.
    pub(crate) obstacle: Obstacle,
}

/// What stands in the way of an acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// A client that holds the lock alone.
    #[default]
    Holder,
    /// Readers hold the lock.
    Readers,
    /// Nobody keeps a reader out, but a writer waits, and goes first.
    WaitingWriter,
    /// The lock is free, but readers that a writer kept out go first.
    ReadersTurn,
}

impl Obstacle {
    /// True if the lock may be free, and others only go first.
    pub(crate) const fn is_advice(self) -> bool {
        matches!(self, Self::WaitingWriter | Self::ReadersTurn)
    }
}

/// The remaining time of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remaining {
    /// The node was not asked, or did not say.
    #[default]
    Unknown,
    /// The key expires after this time.
    Expires(Duration),
    /// The key has no expiry. No lock of any Redlock client is like that.
    Never,
    /// The key is not a string. No lock of any Redlock client is like that.
    NotALock,
}

impl Holding {
    /// A key that holds `value`, for an unknown time. Of a value that is longer than any token, only
    /// the beginning is kept.
    pub fn by(value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        let kept = value.len().min(token::LONGEST + 1);
        let obstacle = if value == READERS_MARKER {
            Obstacle::Readers
        } else {
            Obstacle::Holder
        };
        Self {
            value: Some(value[..kept].into()),
            obstacle,
            ..Self::default()
        }
    }

    /// A key that readers hold.
    pub(crate) fn readers() -> Self {
        Self::by(READERS_MARKER)
    }

    /// Nobody holds the lock in a way that excludes us, but others go first; a waiting writer by its id.
    pub(crate) fn advice(obstacle: Obstacle, writer: Option<&[u8]>) -> Self {
        Self {
            value: writer.map(Into::into),
            obstacle,
            ..Self::default()
        }
    }

    /// A key with an unknown value.
    pub fn unknown(remaining: Remaining) -> Self {
        Self {
            remaining,
            ..Self::default()
        }
    }

    /// The same as the answer to an acquisition of permits that found too few of them free.
    #[must_use]
    pub fn with_permits(self, report: PermitReport) -> Self {
        Self {
            permits: Some(Arc::new(report)),
            ..self
        }
    }

    /// The same with a remaining time.
    #[must_use]
    pub fn for_time(self, remaining: Remaining) -> Self {
        Self { remaining, ..self }
    }

    /// What stands in the way.
    pub fn obstacle(&self) -> Obstacle {
        self.obstacle
    }

    /// True if the two keys may belong to one holder. Whoever only goes first holds no key.
    pub(crate) fn may_be_the_same(&self, other: &Self) -> bool {
        if self.obstacle.is_advice() || other.obstacle.is_advice() {
            return true;
        }
        match (&self.value, &other.value) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        }
    }

    /// The holder's `host/pid`, if the token is of this library's format.
    pub fn owner(&self) -> Option<&str> {
        token::owner_of(self.value.as_deref()?)
    }

    /// To an acquisition of permits: what the node says of the permits.
    pub fn permits(&self) -> Option<&PermitReport> {
        self.permits.as_deref()
    }

    /// The remaining time, if the node told it.
    pub fn remaining(&self) -> Remaining {
        self.remaining
    }
}

/// Without the value: it is the right to release.
impl fmt::Debug for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding")
            .field("owner", &self.owner())
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

/// The reason why a node did not serve an operation. It is never mixed with "held by another".
#[derive(Clone, PartialEq, Eq)]
pub struct NodeError {
    kind: NodeErrorKind,
    sent: bool,
    detail: Arc<str>,
}

/// The kind of a node's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeErrorKind {
    /// There is no connection; one is being made in the background.
    NotConnected,
    /// The server refuses the login, for its password, its user or what the user may do. Another try
    /// fails too, until the URL or the server's ACL is mended.
    Denied,
    /// The connection broke before the answer came.
    Disconnected,
    /// No answer in time.
    TimedOut,
    /// Too many operations are in progress on the node.
    Saturated,
    /// The server answered with an error: READONLY, NOPERM, OOM, LOADING …
    Server,
    /// The server's answer does not fit the question.
    Protocol,
    /// The node may have forgotten locks, and abstains until the longest ttl has passed.
    Quarantined,
    /// A lock may not rely on the server: it is a replica, the server of another pool, or it evicts
    /// keys.
    Refused,
    /// The node's clock is too far from those of the other nodes for a fenced lock.
    Clock,
}

impl NodeError {
    /// An error for an operation that certainly never reached the node. There is nothing to undo.
    pub fn unsent(kind: NodeErrorKind, detail: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            sent: false,
            detail: detail.into(),
        }
    }

    /// An error for an operation that the node may have served.
    pub fn sent(kind: NodeErrorKind, detail: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            sent: true,
            detail: detail.into(),
        }
    }

    /// An error text of a server, cut to one printable line. Arguments that the server repeats are left
    /// out, as they may contain an owner token.
    pub fn server(text: &[u8]) -> Self {
        let cut = text
            .windows(b", with args".len())
            .position(|window| window == b", with args")
            .unwrap_or(text.len());
        Self::sent(NodeErrorKind::Server, Shown(&text[..cut]).to_string())
    }

    /// The same error for an operation that was in progress at the time.
    pub(crate) fn into_sent(mut self) -> Self {
        self.sent = true;
        self
    }

    /// The same error for an operation that the node certainly did not run.
    pub(crate) fn into_unsent(mut self) -> Self {
        self.sent = false;
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> NodeErrorKind {
        self.kind
    }

    /// True if the node may have served the operation.
    pub fn was_sent(&self) -> bool {
        self.sent
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeError({:?}: {})", self.kind, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_error_never_repeats_the_arguments() {
        let error = NodeError::server(
            b"ERR unknown command 'SET', with args beginning with: 'order:1' 'web/1/secret' ",
        );
        assert_eq!(error.to_string(), "ERR unknown command 'SET'");
    }

    #[test]
    fn debug_of_a_holding_hides_the_value() {
        let value = format!("web-7/3121/{}", "ab".repeat(16));
        let shown = format!("{:?}", Answer::Held(Holding::by(value.into_bytes())));
        assert!(
            shown.contains("web-7/3121") && !shown.contains("abab"),
            "{shown}"
        );
    }
}
