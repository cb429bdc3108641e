//! The seam between the algorithm and a node.

pub(crate) mod hash_slot;
mod health;
pub(crate) mod observe;
pub(crate) mod operation;
mod reply;
pub(crate) mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Shown;
use crate::model::token;
pub use health::{ClockOffset, ErrorCounts, LastError, Latency, NodeHealth};
use operation::Operation;
pub(crate) use reply::Answers;
pub use reply::Reply;
use watch::{KeyReport, Watch};

/// One independent node: a Redis server, an in-process store, or a simulated one.
///
/// # Contract
/// * Operations of one connection are served in the order in which they were submitted. A release
///   submitted behind an acquisition undoes it, even where the acquisition's answer never came.
/// * Where a connection breaks, a release whose answer is missing is repeated on the next one,
///   before anything else, until the ttl that it names has passed. One that is answered with an error
///   is repeated, too.
/// * What is in flight is bounded. Beyond the bound, and while there is no connection, the node
///   votes no at once; a release is always accepted.
/// * Every reply is answered exactly once, be it by being dropped.
pub trait Node: Send + Sync + 'static {
    /// The pool's name, as errors and logs show it.
    fn name(&self) -> &str;

    /// Hands `operation` to the node. Returns at once, never blocks, and may be called from
    /// `Drop` and from any thread; the answer comes through `reply`, possibly before this returns.
    /// A panic in here is logged; the outcome is then unknown, unless `reply` says more.
    fn submit(&self, operation: Arc<Operation>, reply: Reply);

    /// Whether the node would vote now, as far as is known: also not where it has just answered one
    /// acquisition after the other with an error.
    fn status(&self) -> NodeStatus;

    /// How the node has been doing, for whoever looks after it.
    fn health(&self) -> NodeHealth {
        NodeHealth::of_status(&self.status())
    }

    /// Tells `watch` what becomes of its keys, for as long as it is wanted: whether they are there,
    /// for how much longer, and each change of that, whoever makes it. Returns at once, never
    /// blocks, and may be called from any thread. Whoever waits tries again by itself now and then,
    /// so a report that is late, missing or wrong costs time and nothing else.
    fn watch(&self, watch: Watch) {
        watch.report(KeyReport::Unknown);
    }

    /// Whether the node keeps keys by hash slots, as a Redis Cluster does, and serves an operation
    /// only where all its keys are in one.
    fn has_hash_slots(&self) -> bool {
        false
    }

    /// Over how many connections, each with an order of its own, operations are spread by their keys.
    fn lanes(&self) -> usize {
        1
    }

    /// Hands `operation` to the node on one of its connections, whatever its keys: a barrier behind all
    /// that was submitted there. It fails where a release is still owed to the node. Otherwise as
    /// [`submit`](Self::submit).
    fn submit_on(&self, lane: usize, operation: Arc<Operation>, reply: Reply) {
        let _ = lane;
        self.submit(operation, reply);
    }

    /// Goes up whenever the node may have forgotten what it granted, or dropped it early: it
    /// restarted, was flushed, or its clock stepped. What it granted in an earlier epoch counts no
    /// more.
    fn epoch(&self) -> u32 {
        0
    }

    /// What the node's clock shows now, as far as checks of this connection tell.
    fn time(&self) -> NodeTime {
        NodeTime::Uncompared
    }

    /// Calls `listener`, on whichever thread, each time that the epoch goes up. It must not block.
    fn on_new_epoch(&self, listener: EpochListener) {
        let _ = listener;
    }
}

/// The nodes of a lock, as configured. A majority of these decides, whether they are up or not.
pub type NodeSet = Arc<[Arc<dyn Node>]>;

/// The seat of `node` in `nodes`, if it is one of them. Two nodes of one name are not the same.
pub fn seat_of(nodes: &NodeSet, node: &Arc<dyn Node>) -> Option<usize> {
    nodes.iter().position(|it| identity(it) == identity(node))
}

/// What tells a node from all others: where it is in memory, without its vtable, of which one type
/// may have several.
pub(crate) fn identity(node: &Arc<dyn Node>) -> usize {
    Arc::as_ptr(node).cast::<()>().addr()
}

/// See [`Node::on_new_epoch`].
pub type EpochListener = Arc<dyn Fn() + Send + Sync>;

/// What is known of a node's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeTime {
    /// Nobody compares it with those of the other nodes.
    Uncompared,
    /// It is compared, and was not read on this connection yet.
    Unread,
    /// It shows so much since 1970.
    Shows(Duration),
}

/// Whether a node votes, and why not.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeStatus {
    /// It votes.
    Voting,
    /// It votes no, for this reason: on everything, or, a Redis Cluster, on keys of some of its slots.
    Abstaining(NodeError),
}

/// A node's answer to one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// Done: the keys are ours (acquire), live on (extend), or were ours and are gone (release).
    Granted {
        /// The node's counter after this acquisition, where a fencing token was wanted.
        counter: Option<u64>,
        /// The [epoch](Node::epoch) in which the node served the operation.
        epoch: u32,
    },
    /// A key holds something that is not our token.
    Held(Holding),
    /// None of the keys is there.
    Absent,
    /// The node did not serve the operation, or nobody knows whether it did.
    Failed(NodeError),
}

impl Answer {
    /// A yes without a counter, of a node that never begins a new epoch.
    pub const GRANTED: Self = Self::Granted {
        counter: None,
        epoch: 0,
    };
}

/// What is known of the key that stands in the way.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holding {
    /// The holder's token, or the beginning of what is there in its place. It is a capability and
    /// therefore never shown; see [`Self::owner`].
    pub(crate) value: Option<Arc<[u8]>>,
    /// For how much longer.
    pub(crate) remaining: Remaining,
}

/// How long a key will still be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remaining {
    /// The node was not asked, or did not say.
    #[default]
    Unknown,
    /// It goes away by itself.
    Expires(Duration),
    /// It has no expiry: no lock of any Redlock client looks like that.
    Never,
    /// It is not even a string: no lock of any Redlock client looks like that.
    NotALock,
}

impl Holding {
    /// A key that holds `value`, for an unknown time. Of what is longer than any token, no more is
    /// kept than shows that.
    pub fn by(value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        let kept = value.len().min(token::LONGEST + 1);
        Self {
            value: Some(value[..kept].into()),
            remaining: Remaining::Unknown,
        }
    }

    /// A key of whose value nothing is known.
    pub fn unknown(remaining: Remaining) -> Self {
        Self {
            value: None,
            remaining,
        }
    }

    /// Whether the two keys may be one holder's.
    pub(crate) fn may_be_the_same(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        }
    }

    /// `host/pid` of the holder, where the token is of this library's format.
    pub fn owner(&self) -> Option<&str> {
        token::owner_of(self.value.as_deref()?)
    }

    /// For how much longer, as far as the node said.
    pub fn remaining(&self) -> Remaining {
        self.remaining
    }
}

/// Without the value: it is the holder's capability.
impl fmt::Debug for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding")
            .field("owner", &self.owner())
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

/// Why a node did not serve an operation. Kept apart from "held by another" all the way up.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeError {
    kind: NodeErrorKind,
    sent: bool,
    detail: Arc<str>,
}

/// What went wrong at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeErrorKind {
    /// There is no connection; one is being made in the background.
    NotConnected,
    /// The connection broke while the answer was out.
    Disconnected,
    /// No answer in time.
    TimedOut,
    /// Too much is in flight on the node already.
    Saturated,
    /// The server answered with an error: READONLY, NOPERM, OOM, LOADING …
    Server,
    /// The server's answer made no sense for what was asked.
    Protocol,
    /// The node may have forgotten locks, and abstains until the longest ttl has passed.
    Quarantined,
    /// The server is none that a lock may rely on: a replica, another pool's server, one that
    /// evicts keys.
    Refused,
    /// Its clock is too far from those of the other nodes for a fenced lock.
    Clock,
}

impl NodeError {
    /// An error for an operation that certainly never reached the node: nothing is to be undone.
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

    /// An error that a server answered, its text cut to one printable line. Arguments that the
    /// server echoes are left out: they may hold an owner token.
    pub fn server(text: &[u8]) -> Self {
        let cut = text
            .windows(b", with args".len())
            .position(|window| window == b", with args")
            .unwrap_or(text.len());
        Self::sent(NodeErrorKind::Server, Shown(&text[..cut]).to_string())
    }

    /// The same error for an operation that was under way when it came up.
    pub(crate) fn into_sent(mut self) -> Self {
        self.sent = true;
        self
    }

    /// The same error for an operation that the node certainly did not run.
    pub(crate) fn into_unsent(mut self) -> Self {
        self.sent = false;
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> NodeErrorKind {
        self.kind
    }

    /// Whether the node may have served the operation.
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
