//! The leases of a client that extend themselves, by their due times.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::env::Moment;
use crate::model::limits::Renewal;
use crate::request::Request;

use super::due::{EARLIEST, RenewalTerms};
use super::renew::run;
use super::{Lease, LeaseHandle, Leases};

/// The renewals of a client.
#[derive(Default)]
pub(crate) struct Renewals {
    state: Mutex<RenewalsState>,
    /// Tells the task of a lease that is due before its next look.
    pub(super) sooner: Notify,
}

#[derive(Default)]
struct RenewalsState {
    leases: HashMap<RenewalId, RenewedLease>,
    /// The due time of each lease, except for leases that are being extended.
    due: BTreeSet<(Moment, RenewalId)>,
    last_id: u64,
    is_running: bool,
    /// The time of the task's next look.
    looks_at: Option<Moment>,
}

/// The number of a renewal. No other renewal of the client has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RenewalId(u64);

/// A renewed lease. It is a handle: it holds no lock.
pub(super) struct RenewedLease {
    lease: LeaseHandle,
    terms: RenewalTerms,
    due: Moment,
}

impl RenewedLease {
    fn new(lease: LeaseHandle, terms: RenewalTerms) -> Self {
        lease.shared.state.lock().renewals += 1;
        let due = lease.renewal_due(terms.ttl);
        Self { lease, terms, due }
    }
}

/// Never drop it under the mutex of the renewals.
impl Drop for RenewedLease {
    fn drop(&mut self) {
        self.lease.shared.state.lock().renewals -= 1;
    }
}

impl Lease {
    /// Starts the renewal that `request` asks for, counted from `began`. The renewal ends when this
    /// holder leaves, before the release is sent, or when the lease is over.
    pub(crate) fn renew(&mut self, request: &Request, began: Moment) {
        let max_hold = match request.renewal {
            Renewal::Never => return,
            Renewal::For(held) => held,
            Renewal::Unlimited => Duration::MAX,
        };
        let terms = RenewalTerms {
            ttl: request.ttl,
            max_hold,
            end: began.saturating_add(max_hold),
        };
        let entry = RenewedLease::new(self.handle(), terms);
        let id = Renewals::add(&self.shared.leases, entry);
        if let Some(earlier) = self.renewed.replace(id) {
            self.shared.leases.renewals.forget(earlier);
        }
    }

    /// Ends the renewal that this holder asked for.
    pub(super) fn stop_renewal(&mut self) {
        if let Some(id) = self.renewed.take() {
            self.shared.leases.renewals.forget(id);
        }
    }
}

impl Renewals {
    fn add(leases: &Arc<Leases>, entry: RenewedLease) -> RenewalId {
        let renewals = &leases.renewals;
        let (id, is_first, is_sooner) = {
            let mut state = renewals.state.lock();
            state.last_id += 1;
            let (id, due) = (RenewalId(state.last_id), entry.due);
            state.due.insert((due, id));
            state.leases.insert(id, entry);
            let is_sooner = state.looks_at.is_none_or(|looks_at| due < looks_at);
            (
                id,
                !std::mem::replace(&mut state.is_running, true),
                is_sooner,
            )
        };
        if is_first {
            let task = run(Arc::clone(leases));
            leases.context.environment.spawner.spawn(Box::pin(task));
        } else if is_sooner {
            renewals.sooner.notify_one();
        }
        id
    }

    /// Takes up to `room` leases: those that are due, and those that may be renewed with them.
    pub(super) fn take_due(
        &self,
        now: Moment,
        room: usize,
    ) -> Vec<(RenewalId, LeaseHandle, RenewalTerms)> {
        let mut state = self.state.lock();
        if state.due.first().is_none_or(|(due, _)| *due > now) {
            return Vec::new();
        }
        let RenewalsState { leases, due, .. } = &mut *state;
        let latest = now.saturating_add(EARLIEST);
        let mut ready = Vec::new();
        for (due, id) in due.iter().take(room).take_while(|(due, _)| *due <= latest) {
            if let Some(entry) = leases.get(id)
                && due.saturating_sub(entry.terms.earliness()) <= now
            {
                ready.push((*id, entry.lease.clone(), entry.terms));
            }
        }
        for (id, ..) in &ready {
            due.remove(&(leases[id].due, *id));
        }
        ready
    }

    /// Puts a lease back, unless its holder has left.
    pub(super) fn put_back(&self, id: RenewalId, due: Moment) {
        let mut state = self.state.lock();
        if let Some(entry) = state.leases.get_mut(&id) {
            entry.due = due;
            state.due.insert((due, id));
        }
    }

    /// Sets the due time `again` for all leases whose extensions were given up.
    pub(super) fn resume(&self, again: Moment) {
        let mut state = self.state.lock();
        let RenewalsState { leases, due, .. } = &mut *state;
        for (id, entry) in leases {
            if !due.contains(&(entry.due, *id)) {
                entry.due = again;
                due.insert((again, *id));
            }
        }
    }

    /// Removes a lease that is no longer renewed.
    pub(super) fn forget(&self, id: RenewalId) {
        // Dropped outside of the mutex: its handle may be the last one of the lease.
        let _entry = {
            let mut state = self.state.lock();
            let entry = state.leases.remove(&id);
            if let Some(entry) = &entry {
                state.due.remove(&(entry.due, id));
            }
            entry
        };
    }

    /// The next due time. `Err` if there are no leases left, and the task ends.
    pub(super) fn next_due(&self, is_idle: bool, has_room: bool) -> Result<Option<Moment>, ()> {
        let mut state = self.state.lock();
        let next = state.due.first().map(|(due, _)| *due);
        if next.is_none() && is_idle {
            state.is_running = false;
            state.looks_at = None;
            return Err(());
        }
        let next = next.filter(|_| has_room);
        state.looks_at = next;
        Ok(next)
    }
}
