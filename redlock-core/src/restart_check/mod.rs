//! The rules for nodes that may have forgotten locks, or whose clocks step.
//!
//! A node must not vote while a lock may be valid that the node granted and forgot. So each node has a *marker* key.
//! The marker names the server process that last was in order, and says until when the node is in *quarantine*. A
//! [`RestartCheck`] chooses how strict the rules are.
//!
//! [`RedisNode`](crate::RedisNode) obeys the rules if its [`checked_set`](crate::redis::RedisOptions::checked_set) is
//! set. A node of another kind passes each answer of its server to a [`NodeCheck`], on each new connection and every
//! few seconds, and obeys the [`Verdict`]. A [`CheckedSet`] holds what the nodes of one client know of each other. The
//! rules need neither I/O nor a clock.
//!
//! **A node has to offer** one atomic step, a check. Its first half is optional: it sets the marker to `new` if the
//! marker is `expected` (missing, for `None`) and the node's clock is not past `not_after`. Its second half answers the
//! time and the marker. [`Action::Write`] asks for a check with the write, and each other action for one without it.
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
//! // The state of a server, its clock, and the client's clock.
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

/// The largest unnoticed step of a node's clock. A clock has stepped if, between two checks, it moves against the
/// client's clock by more than this plus a thousandth of the time between them.
pub const CLOCK_WINDOW: Duration = Duration::from_millis(500);

/// Chooses how a client treats nodes that may have forgotten locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartCheck {
    /// A node that may have forgotten locks votes once the longest ttl has passed. A set of nodes counts as new, and
    /// opens at once, if a majority is reachable and no node has a marker.
    Standard,
    /// As `Standard`, but even a new set waits for the longest ttl.
    Strict,
    /// Every node votes at once, unless it is the same server as another node. The client writes no markers.
    Off,
}

impl RestartCheck {
    /// Returns the default mode for `pools` pools. A single pool has no quorum that could do without it, so its default
    /// is `Off`.
    pub const fn default_for(pools: usize) -> Self {
        if pools < 2 { Self::Off } else { Self::Standard }
    }
}

#[cfg(test)]
mod tests;
