//! Reports of nodes about the keys for which a caller waits.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::task::Waker;

use crate::debug::debug_in_part;
use crate::model::resource::Resource;
use crate::model::token::OwnerId;
use crate::panics::wake;

use super::Remaining;

/// A node's report about the keys for which a caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyReport {
    /// All keys are missing.
    Free,
    /// At least one key exists. The time is the longest remaining time of the keys, if known.
    Held(Remaining),
    /// The node cannot report: it has no connection or no permission, or is too old. Its last report of an expiry still
    /// counts.
    Unknown,
}

/// The identity of the values of keys. It tells a new holder from the last one. The expiry of a key cannot tell the
/// two apart, because both may have the same ttl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldValue {
    hash: u64,
    /// The process that holds the key, if the token names one.
    pub(crate) owner: Option<OwnerId>,
}

impl HeldValue {
    /// Returns the identity of a value. The value may be cut.
    pub(crate) fn of(value: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        Self {
            hash: hasher.finish(),
            owner: OwnerId::of_token(value),
        }
    }

    /// Returns the identity of the values of several keys, in their order.
    pub(crate) fn all(values: impl IntoIterator<Item = Self>) -> Self {
        let (mut hasher, mut owner) = (DefaultHasher::new(), None);
        for value in values {
            value.hash.hash(&mut hasher);
            owner = owner.or(value.owner);
        }
        Self {
            hash: hasher.finish(),
            owner,
        }
    }
}

/// A caller's watch, as one node receives it by [`Node::watch`](crate::Node::watch). The node reports to the watch
/// while it [is wanted](Self::is_wanted). Dropping the watch reports [`Unknown`](KeyReport::Unknown).
pub struct Watch {
    to: Arc<dyn ReportSink>,
    seat: usize,
}

/// Receives the report of each node at its own seat.
pub(crate) trait ReportSink: Send + Sync {
    /// Returns the keys that the caller waits for.
    fn keys(&self) -> &Resource;

    /// True while the caller waits.
    fn is_wanted(&self) -> bool;

    /// Records the report of the node at `seat`, with the identity of the keys' values if known. Returns the caller's
    /// waker if the caller has to check again.
    fn record(&self, seat: usize, report: KeyReport, value: Option<HeldValue>) -> Option<Waker>;
}

impl Watch {
    pub(crate) fn new(to: Arc<dyn ReportSink>, seat: usize) -> Self {
        Self { to, seat }
    }

    /// Returns the keys, with the configured prefix.
    pub fn keys(&self) -> &Resource {
        self.to.keys()
    }

    /// True while a caller waits. Once it is false, it stays false.
    pub fn is_wanted(&self) -> bool {
        self.to.is_wanted()
    }

    /// Reports the present state, which replaces the last report. May wake the waiting caller, so do not call this
    /// while holding a mutex that the caller might need.
    pub fn report(&self, key_report: KeyReport) {
        self.report_of(key_report, None);
    }

    /// Reports the present state, with the value that the keys hold.
    pub(crate) fn report_of(&self, key_report: KeyReport, value: Option<HeldValue>) {
        if let Some(waker) = self.record(key_report, value) {
            wake(waker);
        }
    }

    /// Records the present state, and returns the waker of the caller. The node wakes the caller after it has unlocked
    /// its own mutex.
    #[must_use = "somebody waits for it"]
    pub(crate) fn record(&self, key_report: KeyReport, value: Option<HeldValue>) -> Option<Waker> {
        let record = || self.to.record(self.seat, key_report, value);
        self.is_wanted().then(record).flatten()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.report(KeyReport::Unknown);
    }
}

debug_in_part!(Watch, it => keys: it.keys(), seat: it.seat);
