//! Nodes that may have forgotten locks, or whose clocks step: the rules for their votes.
//!
//! A [`NodeCheck`] is the state of one node's check, and a [`CheckedSet`] is what the nodes of one client
//! know of each other.
#![doc = include_str!("protocol.md")]

mod agreement;
mod check;
mod checked_set;
mod clock;
mod details;
mod marker;
mod node_check;
mod opening;
mod pace;
mod process;
mod quarantine;
mod settings;
mod steps;

use std::time::Duration;

pub use check::{Action, CheckAnswer, SettingsWrite, Verdict};
pub use checked_set::CheckedSet;
pub use marker::{Marker, marker_key};
pub use node_check::{NodeCheck, NodeCheckOptions};

/// A node's clock that moves against the client's by more than this between two checks, and by more
/// than a slew moves it, has stepped.
pub const CLOCK_WINDOW: Duration = Duration::from_millis(500);

/// The drift allowance of the restart check. A node whose clock runs faster than this host's by a
/// larger factor does not vote. The check does not cover a lock with a smaller
/// [`clock_drift_factor`](crate::Request::clock_drift_factor).
pub const DRIFT_FACTOR: f64 = 0.01;

/// For how long, by the node's clock, a marker may still be written after its check.
const WRITES_WITHIN: Duration = Duration::from_secs(2);

/// What is done about nodes that may have forgotten locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartCheck {
    /// They vote only once the longest ttl has passed. A set is new, and opened at once, if a majority
    /// of its nodes is reachable and no node has a marker.
    Standard,
    /// The same, and a set without markers has to wait too.
    Strict,
    /// Nothing: each node is taken at its word, and no marker is written.
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
