//! Nodes that may have forgotten locks, or whose clocks step: when a node may vote.
//!
//! A node that restarted empty, was flushed, or is a promoted replica must not vote until every
//! lock that it may have forgotten has expired. Uptime is a wall-clock figure and misses a flush,
//! so a *marker* key on each node holds the `run_id` of the process that the node was when it was
//! last found in order, and until when it is in *quarantine*. On every connection, and now and then
//! on a live one, a client *checks*: it asks the node for its `TIME` and its marker.
//!
//! Nothing in here does I/O or reads a clock: a [`Sentry`] is fed with each check and says what to
//! do. A driver of real servers and a simulated node use it alike.
//!
//! # What the node has to offer
//! The check is one atomic step: *optionally, if the marker is `expected` (or missing, where that is
//! `None`) and the node's clock is not past `not_after`, set it to `new`; then answer the time and
//! the marker.* [`Action::Write`] asks for one with, everything else for one without a write. The
//! answer to either is a [`Check`], and is fed to the sentry.
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
//! * A whole fleet of processes that boots on a new set: the first to find a majority blank, and no
//!   node in use, marks all that it reaches as being opened, and opens them once they are. Another
//!   one that had the same idea loses the compare-and-set and finds marked nodes, with which it goes
//!   on. So where a node votes, a majority was marked before, and blank nodes beside such as are
//!   being opened were not in use: a process that stands still meanwhile closes nothing.
//! * A blank node beside one that is in use is what a restarted node looks like. Another process may
//!   be opening what this one has not looked at since, so it waits for a [grace](GRACE) before it
//!   calls the node that.
//! * A node that is first reached after its set was opened counts as restarted: it may have been
//!   opened, have granted, and have forgotten, all unseen.
//! * Who saw a node in use does not take it for new, whoever does: it sits out a quarantine by its
//!   own clock, and writes that down where the others are still opening the set.
//! * An operator's word that no lock is held ends what was seen before it, also on clients'
//!   own clocks, and nothing that is seen along with it or later. It is replaced by a marker that
//!   says so; that one is new to whoever has not seen it or the word itself. Of what was seen before,
//!   the node's answer was older than the word, as a node answers in order.
//!
//! # Whose clock stepped
//! A step of a node's clock is one against this host's. Where all connected nodes moved alike, and
//! they are a majority, it was this host that stood still: its leases are given up, and no node is
//! closed to anybody else.
//!
//! # What it cannot tell
//! A set of which a majority lost its memory, and nobody is left who saw its markers, looks new.
//! Neither is a flush noticed that falls within the few seconds in which its set is first opened.
//! [`RestartGuard::Strict`] closes both.
//!
//! # Clients of different settings
//! What they say of themselves is in the marker's second version. The longest `max_ttl`
//! is how long every quarantine lasts, no set is opened as new where one client is strict, and no
//! client renews a restarted node's marker where another does not trust the node. What was opened or
//! renewed before that was said counts for a stricter client only once its own quarantine has passed
//! since; until then it writes one.

mod agreement;
mod check;
mod clock;
mod fleet;
mod marker;
mod note;
mod opening;
mod quarantine;
mod sentry;
mod settings;
mod steps;

use std::time::Duration;

pub use check::{Action, Aside, Check, Verdict};
pub(crate) use clock::micros;
pub use fleet::Fleet;
pub use marker::{Marker, marker_key};
pub use sentry::{Sentry, SentryOptions};

/// A node's clock that moves against the client's by more than this between two checks has stepped.
pub const CLOCK_WINDOW: Duration = Duration::from_millis(500);

/// How long a blank node beside marked ones may be one that another process is about to open.
pub const GRACE: Duration = Duration::from_secs(3);

/// For how long, by the node's clock, a marker may still be written after its check.
const WRITES_WITHIN: Duration = Duration::from_secs(2);

/// What is done about nodes that may have forgotten locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RestartGuard {
    /// They vote only once the longest ttl has passed. A set of which a majority is reachable and
    /// none has a marker is new, and opened at once.
    Standard,
    /// The same, and a set without markers has to wait too.
    Strict,
    /// Nothing: each node is taken at its word, and no marker is written.
    Off,
}

impl RestartGuard {
    /// The guard of so many pools where none is configured. A single node is for efficiency: there
    /// is no quorum that could do without it.
    pub const fn default_for(pools: usize) -> Self {
        if pools < 2 { Self::Off } else { Self::Standard }
    }
}

#[cfg(test)]
mod tests;
