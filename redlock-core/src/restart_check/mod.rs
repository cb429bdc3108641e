//! Nodes that may have forgotten locks, or whose clocks step: the rules for their votes.
//!
//! A node must not vote while a lock may be valid that it granted and forgot. So a *marker* key on each
//! node names the server process that the node was when it was last in order, and says until when it is
//! in *quarantine*. A [`RestartCheck`] chooses how strict the rules are.
//!
//! [`RedisNode`](crate::RedisNode) obeys the rules if its
//! [`checked_set`](crate::redis::RedisOptions::checked_set) is set. A node of another kind
//! feeds a [`NodeCheck`] with each answer of its server, on each new connection and every few seconds, and
//! obeys the [`Verdict`]. A [`CheckedSet`] is what the nodes of one client know of each other. The rules do
//! no I/O and read no clock.
//!
//! **What a node has to offer** is one atomic step: optionally, if the marker is `expected` (or missing,
//! if that is `None`) and the node's clock is not past `not_after`, set it to `new`; then answer the time
//! and the marker. [`Action::Write`] asks for a check with that write, each other action for a check
//! without one.
//!
//! # Example: a new node is opened at once
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use redlock_core::env::Moment;
//! use redlock_core::restart_check::{
//!     Action, CheckAnswer, CheckedSet, NodeCheck, RestartCheck,
//! };
//!
//! let max_ttl = Duration::from_secs(300);
//! let set = Arc::new(CheckedSet::new(RestartCheck::Standard, max_ttl, 1, b""));
//! let mut check = NodeCheck::new(set, "a", false);
//!
//! // What a server would hold, and what the clocks would show.
//! let mut marker: Option<Vec<u8>> = None;
//! let (time, now) = (Duration::from_secs(1_700_000_000), Moment::from_origin(Duration::ZERO));
//! let may_vote = loop {
//!     let answer = CheckAnswer::new(time, now, now).run_id("run1").marker(marker.as_deref());
//!     match check.check(&answer)?.action {
//!         Action::Vote => break true,
//!         Action::Write(write) if write.expected == marker => marker = Some(write.new),
//!         _ => break false,
//!     }
//! };
//! assert!(may_vote && marker.is_some());
//! # Ok::<(), String>(())
//! ```

mod checked_set;
mod clock;
mod marker;
mod node_check;

use std::time::Duration;

pub use checked_set::CheckedSet;
pub use marker::{Marker, marker_key};
pub use node_check::{Action, CheckAnswer, MarkerWrite, NodeCheck, Verdict};

/// A node's clock that moves against the client's by more than this between two checks, and a thousandth
/// of the time between them, has stepped.
pub const CLOCK_WINDOW: Duration = Duration::from_millis(500);

/// The treatment of nodes that may have forgotten locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartCheck {
    /// Such nodes vote only once the longest ttl has passed. A set is new, and opened at once, if a majority
    /// of its nodes is reachable and no node has a marker.
    Standard,
    /// As `Standard`, and a set without markers has to wait too.
    Strict,
    /// Nothing is checked: each node is taken at its word, and no marker is written.
    Off,
}

impl RestartCheck {
    /// The mode of `pools` pools if none is configured. A single node is for efficiency: there
    /// is no quorum that could do without it.
    pub const fn default_for(pools: usize) -> Self {
        if pools < 2 { Self::Off } else { Self::Standard }
    }
}

#[cfg(test)]
mod tests;
