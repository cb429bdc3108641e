//! Nodes that may have forgotten locks, or whose clocks step: when a node may vote.
//!
//! A node that restarted empty, was flushed, or is a promoted replica must not vote until every
//! lock that it may have forgotten has expired. Uptime is a wall-clock figure and misses a flush,
//! so a *marker* key on each node holds the `run_id` of the process that the node was when it was
//! last found in order, and until when it is in *quarantine*. On every connection, and now and then
//! on a live one, a client *checks*: it asks the node for its `TIME` and its marker.
//!
//! Nothing in here does I/O or reads a clock: a [`NodeCheck`] is fed with each check and says what to
//! do. A driver of real servers and a simulated node use it alike.
//!
//! # What the node has to offer
//! The check is one atomic step: *optionally, if the marker is `expected` (or missing, where that is
//! `None`) and the node's clock is not past `not_after`, set it to `new`; then answer the time and
//! the marker.* [`Action::Write`] asks for one with, everything else for one without a write. The
//! answer to either is a [`CheckAnswer`], and is fed to the node check.
//!
//! # Why clients do not disagree unsafely
//! * Not voting is always safe, so only the steps that lead to a vote matter. A vote takes a marker
//!   of this very process of the node, whose quarantine is over.
//! * Markers are written by compare-and-set against what the check saw, so of two clients that
//!   found the same thing one writes, and the other is answered what was written and follows it. A
//!   quarantine that lost against another's finds that other's marker; one that lost against an
//!   opening of what this client knows to have forgotten still holds on this client's own clock.
//! * A write counts only for a moment, by the node's own clock. Otherwise a client that was paused
//!   between check and write, or a network that was, could open a node that forgot meanwhile.
//! * A restart in between breaks the connection, and the write with it.
//! * A new set is opened in two steps. A client that finds a majority blank and no node in use marks
//!   all nodes that it reaches as being opened. When they are marked, it opens them. If two clients do
//!   this at the same time, one of them loses the compare-and-set, finds the nodes marked, and goes on
//!   with them. So if a node votes, a majority was marked before. If the only nodes are blank or being
//!   opened, the set was not in use. If a client stands still between the steps, another one goes on.
//! * A blank node beside a node that is in use counts as restarted. Another client that is opening the set
//!   has marked all nodes that it reaches before it opened any, and a write against a blank node does
//!   nothing to a marked one.
//! * A node that is first reached after its set was opened counts as restarted. It may have been
//!   opened, have granted and have forgotten before this client reached it.
//! * A client that saw a node in use never takes it for new, even if another client does. It waits for
//!   a quarantine on its own clock. If the set is still being opened, it writes the quarantine.
//! * An operator's word says that no lock is held. It ends what a client saw before the word, also on
//!   the client's own clock. It does not end what the client sees in the same answer or later. The
//!   first client that finds the word replaces it with a marker that says so. A client that did not
//!   see the word heeds that marker once. A node answers in order, so what a client saw before is older
//!   than the word.
//!
//! # Whose clock stepped
//! A step of a node's clock is one against this host's. Where all connected nodes moved alike, and
//! they are a majority, it was this host that stood still: its leases are given up, and no node is
//! closed to anybody else.
//!
//! # Clocks that run too fast
//! A clock that runs faster than the drift allowance covers drops keys early, and so do small steps. Such
//! a node votes no until the allowance has made up for what its clock gained, or no lock can be held any
//! more that was granted before. No marker is written for it. If the gain is more than [`CLOCK_WINDOW`],
//! a new epoch begins, as with a step. If all nodes gained alike, this host's clock runs slow: no node is
//! closed, and leases are given up for each [`CLOCK_WINDOW`] that it lost.
//!
//! # What it cannot tell
//! A set of which a majority lost its memory, and nobody is left who saw its markers, looks new.
//! Neither is a flush noticed that falls within the few seconds in which its set is first opened.
//! [`RestartCheck::Strict`] closes both.
//!
//! # Clients of different settings
//! Each client writes its settings into the marker's second version. Every quarantine lasts for the
//! longest `max_ttl`. If one client is strict, no set is opened as new. If one client does not trust a
//! node, no client renews the marker of that node when it restarted. A node may have been opened or
//! renewed before a stricter client said so. Then that client waits for its own quarantine, counted
//! from the opening, and writes it.

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

/// The drift allowance of the restart check: a node whose clock runs faster than this host's by a larger
/// part does not vote. A lock whose [`clock_drift_factor`](crate::Request::clock_drift_factor) is smaller
/// is not covered.
pub const DRIFT_FACTOR: f64 = 0.01;

/// For how long, by the node's clock, a marker may still be written after its check.
const WRITES_WITHIN: Duration = Duration::from_secs(2);

/// What is done about nodes that may have forgotten locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartCheck {
    /// They vote only once the longest ttl has passed. A set of which a majority is reachable and
    /// none has a marker is new, and opened at once.
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
