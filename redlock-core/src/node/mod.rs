//! The contract of a node, with its calls and answers, for authors of nodes.
//!
//! [`Node`] lists the methods and the duties. The crate `redlock-conformance` checks that a node keeps them. A service
//! gives its node to `Config::pool_node` of `redlock-runtime`. A user of this crate puts the node into a [`NodeSet`].
//!
//! # A node receives
//! * A [`Submission`] is a [`Call`] and the duty to answer it. The call's [`Script`] is the command or the Lua text for
//!   a server. [`Script::run`] does the same in Rust over a [`Store`]. The call's [`Effect`] says whether the node may
//!   repeat it, and for how long the node must try to deliver it.
//! * A [`Watch`] has the keys for which a caller waits. The node reports their state, and each change of it, by a
//!   [`KeyReport`].
//!
//! # A node tells
//! * An [`Answer`] to each call: a [`Value`], which [`Answer::of_reply`] reads, or a [`NodeError`].
//! * A [`NodeStatus`], which says whether the node votes, and a [`NodeHealth`] with figures for operators.
//! * An [epoch](Node::epoch), which increases each time that the node may have forgotten locks.
//!   [`restart_check`](crate::restart_check) has the rules for a server that can forget.
//!
//! A node takes time, randomness and background tasks from the [`Environment`](crate::Environment).
//!
//! # Example: a node over a store of its own
//! ```
//! use std::sync::{Arc, Mutex, PoisonError};
//! use redlock_core::env::{Clock, Environment};
//! use redlock_core::node::{Answer, Argument, Node, NodeSet, NodeStatus, Store, Submission};
//! # use redlock_core::{Client, IoThread, Request};
//!
//! struct InProcess {
//!     clock: Arc<dyn Clock>,
//!     store: Mutex<Store>,
//! }
//!
//! impl Node for InProcess {
//!     fn name(&self) -> &str {
//!         "a"
//!     }
//!
//!     fn submit(&self, submission: Submission) {
//!         let call = submission.call();
//!         let keys: Vec<_> = call.keys().collect();
//!         let arguments: Vec<_> = call.arguments().iter().map(Argument::as_bytes).collect();
//!         let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
//!         store.begin(self.clock.now(), self.clock.wall());
//!         let reply = call.script.run(&mut store, &keys, &arguments);
//!         // Unlock first: the caller that the answer wakes may submit its release at once.
//!         drop(store);
//!         let answer = Answer::of_reply(call, reply, self.epoch());
//!         submission.answer(answer);
//!     }
//!
//!     fn status(&self) -> NodeStatus {
//!         NodeStatus::Voting
//!     }
//!
//!     fn drained(&self) -> bool {
//!         true
//!     }
//! }
//!
//! fn make(environment: Environment) -> Arc<dyn Node> {
//!     let (clock, store) = (environment.clock, Mutex::default());
//!     Arc::new(InProcess { clock, store })
//! }
//! # let io = IoThread::start().unwrap();
//! # io.handle().block_on(async {
//! # let nodes: NodeSet = [make(io.environment())].into();
//! # let client = Client::new(io.environment());
//! # let request = Request::new("order:42").retry_limit(0);
//! # let lease = client.acquire(&nodes, &request).await.unwrap();
//! # assert!(client.acquire(&nodes, &request).await.is_err());
//! # lease.release().await;
//! # client.acquire(&nodes, &request).await.unwrap();
//! # });
//! ```

pub(crate) mod call;
pub(crate) mod contract;
pub(crate) mod hash_slot;
mod health;
mod holding;
pub(crate) mod observe;
pub(crate) mod script;
pub(crate) mod store;
mod submission;
pub(crate) mod value;
mod vote;
pub(crate) mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Shown;
pub use crate::model::token::OwnerToken;
pub use call::{Argument, Call, Effect};
pub use contract::{EpochListener, Node, NodeSet};
pub use health::{ClockOffset, LastError, NodeHealth};
pub use holding::{Holding, Obstacle, READERS_MARKER, Remaining};
pub use observe::ObserveAnswers;
pub use script::{Code, Script, Twin};
pub use store::Store;
pub use submission::Submission;
pub(crate) use submission::VoteSink;
pub use value::Value;
pub use vote::{Counter, Vote};
pub use watch::{KeyReport, Watch};

/// The number of the wire format, with which each marker begins. The number changes if two versions would not exclude
/// each other, or could not read each other's markers.
pub const WIRE_FORMAT: u32 = 1;

/// Returns the identity of a node, its address in memory. The vtable is left out, because one type may have several.
pub(crate) fn identity(node: &Arc<dyn Node>) -> usize {
    Arc::as_ptr(node).cast::<()>().addr()
}

/// Returns a seat as a bit. Each seat has one, because a client refuses larger sets.
pub(crate) fn bit(seat: usize) -> u64 {
    let seat = u32::try_from(seat).unwrap_or(u32::MAX);
    1_u64.checked_shl(seat).unwrap_or(0)
}

/// The status of a node: voting, or abstaining for a reason.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeStatus {
    /// The node votes.
    Voting,
    /// The node refuses operations for this reason: all of them, or, in a Redis Cluster, those on some hash slots.
    Abstaining(NodeError),
}

/// Writes `votes`, or `does not vote (…)` with the reason.
impl fmt::Display for NodeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Voting => f.write_str("votes"),
            Self::Abstaining(reason) => write!(f, "does not vote ({reason})"),
        }
    }
}

/// A node's answer to one call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// The server's reply.
    Reply {
        /// The server's value. An error here is `WRONGTYPE`: a key has another type, so the lock counts as held.
        value: Value,
        /// The [epoch](Node::epoch) in which the node served the call.
        epoch: u32,
    },
    /// The node failed to serve the call. If the call [was sent](NodeError::was_sent), it may have run nevertheless.
    Failed(NodeError),
}

impl Answer {
    /// Reads the reply `value` of a server to `call`, in the node's present `epoch`. An error of the server is a
    /// failure, except for `WRONGTYPE`, which says that something else has the lock's key.
    pub fn of_reply(call: &Call, value: Value, epoch: u32) -> Self {
        match value {
            Value::Error(text) if !value::is_wrong_type(&text) => {
                Self::Failed(NodeError::of_reply(call, &text))
            }
            value => Self::Reply { value, epoch },
        }
    }
}

/// The reason why a node failed to serve an operation. If another client holds the lock, the answer is no error: the
/// vote is then [`Held`](Vote::Held).
#[derive(Clone, PartialEq, Eq)]
pub struct NodeError {
    kind: NodeErrorKind,
    sent: bool,
    detail: Arc<str>,
    /// The remaining time of a quarantine; zero if its end is unknown.
    pub(crate) quarantine_left: Duration,
}

/// The kind of a node's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NodeErrorKind {
    /// The node has no connection. It connects in the background.
    NotConnected,
    /// The server refuses the login, the database or the operation, or its certificate is not trusted. Retries fail
    /// until somebody corrects the URL, the server's ACL or the certificate.
    Denied,
    /// The connection broke before the answer came.
    Disconnected,
    /// The answer did not come in time.
    TimedOut,
    /// The node has too many operations in progress.
    Saturated,
    /// The server answered with an error: READONLY, OOM, LOADING …
    Server,
    /// The server's answer does not fit the question.
    Protocol,
    /// The node may have forgotten locks, and abstains until the longest ttl has passed.
    Quarantined,
    /// A lock cannot rely on the server: it evicts keys, is a replica or the server of another pool, or has the marker
    /// of another wire format.
    Refused,
}

impl NodeError {
    /// Returns an error for an operation that certainly never reached the node. Nothing has to be undone. Errors and
    /// logs show the `detail`, so it must contain no secret.
    pub fn unsent(kind: NodeErrorKind, detail: impl Into<Arc<str>>) -> Self {
        Self {
            kind,
            sent: false,
            detail: detail.into(),
            quarantine_left: Duration::ZERO,
        }
    }

    /// Returns an error for an operation that the node may have served.
    pub fn sent(kind: NodeErrorKind, detail: impl Into<Arc<str>>) -> Self {
        Self::unsent(kind, detail).into_sent()
    }

    /// Returns the error for the error text of a server, cut to one printable line. Arguments that the server repeats
    /// are left out, because they may contain an owner token. The kind is [`Denied`](NodeErrorKind::Denied) if the
    /// server refuses the login, the database or, by its ACL, the operation. Otherwise it is
    /// [`Server`](NodeErrorKind::Server).
    pub fn server(text: &[u8]) -> Self {
        if text.starts_with(b"NOAUTH") {
            // The server's own text is about the protocol.
            let detail = "NOAUTH: the server wants a password; write it into the URL, as in \
                          redis://:password@host or redis://user:password@host (a sentinel's as `?sentinel_login=user:password`), or into a `password_file`";
            return Self::sent(NodeErrorKind::Denied, detail);
        }
        let cut = text
            .windows(b", with args".len())
            .position(|window| window == b", with args")
            .unwrap_or(text.len());
        let kind = if is_denial(text) {
            NodeErrorKind::Denied
        } else {
            NodeErrorKind::Server
        };
        // Old servers quote with backticks, which `Shown` would escape.
        let text = String::from_utf8_lossy(&text[..cut]).replace('`', "'");
        Self::sent(kind, Shown(text.as_bytes()).to_string())
    }

    /// Returns the error for a server's error reply to `call`. A first word such as `OOM`, `NOPERM` or `NOREPLICAS`
    /// proves that the command did not run. `ERR` proves nothing: a proxy that lost its server also writes it.
    fn of_reply(call: &Call, text: &[u8]) -> Self {
        if text.starts_with(b"NOMARKER") {
            let detail = "its marker is gone, or has another process's quarantine; its restart \
                          check is under way";
            return Self::unsent(NodeErrorKind::Quarantined, detail);
        }
        let error = Self::server(text);
        let is_command = matches!(call.script.code, Code::Command(..));
        if call.effect == Effect::Takes && is_command && was_not_run(text) || is_elsewhere(text) {
            return error.into_unsent();
        }
        error
    }

    /// Returns this error for an operation that may have reached the node.
    pub(crate) fn into_sent(mut self) -> Self {
        self.sent = true;
        self
    }

    /// Returns this error for an operation that the node certainly did not run.
    pub(crate) fn into_unsent(mut self) -> Self {
        self.sent = false;
        self
    }

    /// True if this error, instead of a vote, means that the node abstains from all operations. Some errors concern one
    /// operation only, so the node still votes: a command that the user may not run, keys in several slots or in a slot
    /// of another master, and a missing script.
    pub(crate) fn concerns_the_node(&self) -> bool {
        const OF_THE_OPERATION: &str = "NOSCRIPT|CROSSSLOT|WRONGTYPE|MOVED|ASK|TRYAGAIN";
        match self.kind {
            NodeErrorKind::Denied => self.detail.starts_with("NOAUTH"),
            NodeErrorKind::Server => !begins_with(self.detail.as_bytes(), OF_THE_OPERATION),
            _ => false,
        }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> NodeErrorKind {
        self.kind
    }

    /// True if the node may have served the operation.
    pub fn was_sent(&self) -> bool {
        self.sent
    }
}

/// True if the error's first word says that the server did not run the command.
pub(crate) fn was_not_run(text: &[u8]) -> bool {
    let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
    code != b"ERR" && !code.is_empty() && code.iter().all(u8::is_ascii_uppercase)
}

/// True if a server of a Cluster ran nothing, because the slot is elsewhere, or nowhere.
fn is_elsewhere(text: &[u8]) -> bool {
    begins_with(text, "MOVED |ASK |TRYAGAIN |CLUSTERDOWN ")
}

/// True if `text` begins with one of `beginnings`, a list separated by `|`.
fn begins_with(text: &[u8], beginnings: &str) -> bool {
    let mut beginnings = beginnings.split('|');
    beginnings.any(|it| text.starts_with(it.as_bytes()))
}

/// True if the server refuses the login, the database or, by its ACL, the operation. The text has to be searched,
/// because Redis 7.0 gives no code for that in the error of a script, and the crate drops the code for a `SELECT`.
fn is_denial(text: &[u8]) -> bool {
    const BEGINS: &str = "WRONGPASS|NOPERM|ERR DB index is out of range|ERR invalid DB index|ERR SELECT is not allowed";
    const PARTS: &str = "can't run this command or subcommand|has no permissions to run";
    let has = |part: &str| text.windows(part.len()).any(|it| it == part.as_bytes());
    begins_with(text, BEGINS) || PARTS.split('|').any(has)
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
    fn a_refused_login_database_or_operation_is_denied() {
        let kind = |text: &str| NodeError::server(text.as_bytes()).kind();
        for text in [
            "ERR DB index is out of range",
            "ERR SELECT is not allowed in cluster mode",
            "ERR User locker has no permissions to run the 'select' command",
            "NOPERM User locker has no permissions to run the 'set' command",
            "NOAUTH Authentication required.",
            "ERR The user executing the script can't run this command or subcommand script: f_1",
        ] {
            assert_eq!(kind(text), NodeErrorKind::Denied, "{text}");
        }
        for text in ["OOM command not allowed", "ERR NOPERMS", "READONLY no"] {
            assert_eq!(kind(text), NodeErrorKind::Server, "{text}");
        }
    }

    #[test]
    fn an_operation_that_may_not_run_says_nothing_of_the_node() {
        let of_the_node = [
            "OOM command not allowed when used memory > 'maxmemory'.",
            "MISCONF Errors writing to the AOF file",
            "NOREPLICAS Not enough good replicas to write.",
            "LOADING Redis is loading the dataset in memory",
            "READONLY You can't write against a read only replica.",
            "BUSY Redis is busy running a script.",
            "ERR proxy lost its server",
            "NOAUTH Authentication required.",
        ];
        let of_the_operation = [
            "NOPERM User locker has no permissions to run the 'zadd' command",
            "NOPERM this user has no permissions to access one of the keys",
            "NOPERM its ACL has to allow +zadd",
            "ERR The user executing the script can't run this command or subcommand script: f_1",
            "CROSSSLOT Keys in request don't hash to the same slot",
            "NOSCRIPT No matching script.",
        ];
        let concerns_the_node = |text: &str| NodeError::server(text.as_bytes()).concerns_the_node();
        for text in of_the_node {
            assert!(concerns_the_node(text), "{text}");
        }
        for text in of_the_operation {
            assert!(!concerns_the_node(text), "{text}");
        }
        for kind in [NodeErrorKind::TimedOut, NodeErrorKind::Quarantined] {
            assert!(!NodeError::sent(kind, "late").concerns_the_node());
        }
    }

    #[test]
    fn debug_hides_the_value_of_a_key() {
        let value = format!("web-7/3121/{}", "ab".repeat(16));
        let shown = format!("{:?}", Vote::Held(Holding::by(value.into_bytes())));
        assert!(
            shown.contains("web-7/3121") && !shown.contains("abab"),
            "{shown}"
        );
        let epoch = 0;
        for value in [Value::text(*b"secret"), Value::error("ERR 'secret'")] {
            let values = Value::List(vec![value.clone()]);
            for value in [value, values] {
                let shown = format!("{:?}", Answer::Reply { value, epoch });
                assert!(!shown.contains("secret"), "{shown}");
            }
        }
    }
}
