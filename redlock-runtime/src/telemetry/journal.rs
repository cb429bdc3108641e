//! Records what calls did, for the testing kit. Only a registry of the kit has a journal.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::error::{Brief, LeaseEnd};
use redlock_core::lease::FencingToken;
use redlock_core::{LeaseHandle, Resource};
use tokio::sync::Notify;

use super::AcquireArgs;
use crate::error::LockError;
use crate::site::Site;

/// The acquisition of a lock by one call, with its outcome.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Acquisition {
    /// The resource that the call asked for, without the key prefix.
    pub resource: Resource,
    /// The annotated function, or the place in the source that called [`lock`](crate::lock()).
    pub site: &'static Site,
    /// The pools of the lock. The list is empty if the call was refused for an unknown pool or an invalid value, before
    /// its pools were decided.
    pub pools: Vec<String>,
    /// The ttl of the call. Zero if `pools` is empty.
    pub ttl: Duration,
    /// True if the call ran below a holder of the same resource and shared that lease.
    pub is_shared: bool,
    /// The fencing token, if the call asked for one.
    pub fencing_token: Option<FencingToken>,
    /// The result of the acquisition, or its present state.
    pub outcome: Outcome,
}

/// The result of an acquisition, or its present state.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// The call is waiting for the lock.
    Waiting,
    /// The caller dropped the call while it waited.
    Dropped,
    /// The call was refused. With `if_locked = "skip"` it was skipped, if the error
    /// is [contended](LockError::is_contended) or the job [ran already](LockError::is_already_run).
    Refused(LockError),
    /// The call holds the lock now.
    Held,
    /// The call held the lock until its body returned, or until the lease was released or dropped.
    Released,
    /// The body was cut off: the caller dropped the call, or the body panicked.
    CutOff,
    /// The lease ended before the call released it.
    Lost(LeaseEnd),
}

impl Acquisition {
    /// True if the call got the lock, even if only briefly.
    pub fn was_locked(&self) -> bool {
        matches!(
            self.outcome,
            Outcome::Held | Outcome::Released | Outcome::CutOff | Outcome::Lost(_)
        )
    }

    /// True if the call holds the lock now.
    pub fn is_held(&self) -> bool {
        matches!(self.outcome, Outcome::Held)
    }
}

/// Writes a line such as `` `order:42` by `shop::charge` on a, b, c for 1 min: released ``.
impl fmt::Display for Acquisition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` by `{}`", self.resource, self.site.name())?;
        if !self.pools.is_empty() {
            write!(f, " on {} for {}", self.pools.join(", "), Brief(self.ttl))?;
        }
        if self.is_shared {
            f.write_str(", shared with its caller")?;
        }
        write!(f, ": {}", self.outcome)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("waiting"),
            Self::Dropped => f.write_str("dropped while it waited"),
            Self::Refused(error) => write!(f, "refused, as {error}"),
            Self::Held => f.write_str("held now"),
            Self::Released => f.write_str("released"),
            Self::CutOff => f.write_str("cut off while its body ran"),
            Self::Lost(over) => write!(f, "lost: {over}"),
        }
    }
}

/// The acquisitions of one registry, in the order in which they began.
#[derive(Default)]
pub(crate) struct Journal {
    entries: Mutex<Vec<JournalEntry>>,
    /// Wakes the callers of the kit's `until_…` methods when an entry changes.
    pub(crate) changed: Notify,
}

struct JournalEntry {
    acquisition: Acquisition,
    /// `None` unless the lock is held now.
    lease: Option<LeaseHandle>,
    /// The outcome that the entry gets once the release has been sent.
    ending: Option<Outcome>,
}

impl Journal {
    /// Adds an entry. `args` is `None` if the call is refused before its values are decided.
    pub(crate) fn begin(
        self: &Arc<Self>,
        site: &'static Site,
        resource: &Resource,
        args: Option<AcquireArgs<'_>>,
    ) -> JournalLine {
        let nodes = args.iter().flat_map(|args| args.nodes.iter());
        let acquisition = Acquisition {
            resource: resource.clone(),
            site,
            pools: nodes.map(|node| node.name().to_owned()).collect(),
            ttl: args.map(|args| args.request.ttl).unwrap_or_default(),
            is_shared: args.is_some_and(|args| args.is_joined),
            fencing_token: None,
            outcome: Outcome::Waiting,
        };
        let index = {
            let mut entries = self.entries.lock();
            entries.push(JournalEntry {
                acquisition,
                lease: None,
                ending: None,
            });
            entries.len() - 1
        };
        self.changed.notify_waiters();
        JournalLine {
            journal: Arc::clone(self),
            index,
        }
    }

    pub(crate) fn acquisitions(&self) -> Vec<Acquisition> {
        let entries = self.entries.lock();
        entries.iter().map(|it| it.acquisition.clone()).collect()
    }

    /// Returns the leases that are held right now.
    pub(crate) fn leases(&self) -> Vec<LeaseHandle> {
        let entries = self.entries.lock();
        entries.iter().filter_map(|it| it.lease.clone()).collect()
    }
}

/// Writes one entry of a journal. Dropping the line ends the entry, after the release has been sent.
pub(crate) struct JournalLine {
    journal: Arc<Journal>,
    index: usize,
}

impl JournalLine {
    /// Records that the acquisition was refused.
    pub(crate) fn record_refusal(&self, error: &LockError) {
        self.change(|entry| entry.acquisition.outcome = Outcome::Refused(error.clone()));
    }

    /// Records that the acquisition got its lock.
    pub(crate) fn record_lease(&self, lease: &LeaseHandle) {
        self.change(|entry| {
            entry.acquisition.outcome = Outcome::Held;
            entry.acquisition.fencing_token = lease.fencing_token();
            entry.lease = Some(lease.clone());
        });
    }

    /// Records how the lease ends. `over` is the reason if the lease ended before its release.
    pub(crate) fn record_end(&self, over: Option<LeaseEnd>, is_cut_off: bool) {
        if let Some(entry) = self.journal.entries.lock().get_mut(self.index) {
            entry.ending = Some(match over {
                Some(over) => Outcome::Lost(over),
                None if is_cut_off => Outcome::CutOff,
                None => Outcome::Released,
            });
        }
    }

    fn change(&self, change: impl FnOnce(&mut JournalEntry)) {
        if let Some(entry) = self.journal.entries.lock().get_mut(self.index) {
            change(entry);
        }
        self.journal.changed.notify_waiters();
    }
}

impl Drop for JournalLine {
    fn drop(&mut self) {
        // Drop the handle outside of the mutex: the last handle of a lease may send its release.
        let mut _lease = None;
        self.change(|entry| {
            _lease = entry.lease.take();
            let ending = entry.ending.take();
            match entry.acquisition.outcome {
                Outcome::Held => {
                    entry.acquisition.outcome = ending.unwrap_or(Outcome::Released);
                }
                Outcome::Waiting => entry.acquisition.outcome = Outcome::Dropped,
                _ => {}
            }
        });
    }
}
