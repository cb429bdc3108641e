//! How a node tells what becomes of keys that a caller waits for.

use std::fmt;
use std::sync::Arc;
use std::task::Waker;

use crate::env::timers::wake;
use crate::model::resource::Resource;

use super::Remaining;

/// What a node says of the keys that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyReport {
    /// None of the keys is there.
    Free,
    /// One is at least; for so much longer, as far as is known (the longest of them).
    Held(Remaining),
    /// The node cannot tell: no connection, no permission, too old. What it last said of a key's
    /// expiry stands.
    Unknown,
}

/// One seat's part of a watch, handed to a node by [`Node::watch`](crate::Node::watch), which
/// reports into it for as long as it [is wanted](Self::is_wanted). Dropping it says that the node
/// is [`Unknown`](KeyReport::Unknown).
pub struct Watch {
    to: Arc<dyn Sightings>,
    seat: usize,
}

/// What the nodes report to, each at its own seat.
pub(crate) trait Sightings: Send + Sync {
    /// The keys that the caller waits for.
    fn keys(&self) -> &Resource;

    /// Whether the caller still waits.
    fn is_wanted(&self) -> bool;

    /// Takes note of what the node at `seat` sees. Returns the caller's waker if the caller has to
    /// look again.
    fn record(&self, seat: usize, key_report: KeyReport) -> Option<Waker>;
}

impl Watch {
    pub(crate) fn new(to: Arc<dyn Sightings>, seat: usize) -> Self {
        Self { to, seat }
    }

    /// The keys, with the configured prefix in them.
    pub fn keys(&self) -> &Resource {
        self.to.keys()
    }

    /// Whether anybody still waits. Once it is false, it stays so.
    pub fn is_wanted(&self) -> bool {
        self.to.is_wanted()
    }

    /// Tells what the node sees now, in place of what it told before. May wake the waiting caller, so
    /// do not call it with a lock held that the caller might want.
    pub fn report(&self, key_report: KeyReport) {
        if let Some(waker) = self.record(key_report) {
            wake(waker);
        }
    }

    /// The same for a node that keeps its reports in order by a lock of its own: it wakes the caller
    /// once that is free.
    #[must_use = "somebody waits for it"]
    pub(crate) fn record(&self, key_report: KeyReport) -> Option<Waker> {
        if self.is_wanted() {
            self.to.record(self.seat, key_report)
        } else {
            None
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.report(KeyReport::Unknown);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("keys", self.keys())
            .field("seat", &self.seat)
            .finish_non_exhaustive()
    }
}
