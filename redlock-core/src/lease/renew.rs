//! Renewal: leases that extend themselves.
//!
//! One task of a client renews all its leases. The task sleeps until the first lease is due, takes
//! along the leases that are due soon, and sends their extensions together, so that one write to a node
//! serves many leases. While no lease is renewed there is no task.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::env::caught::{unless_it_panics, warn_throttled};
use crate::env::{About, Moment};
use crate::error::{ExtendError, LeaseEnd};
use crate::model::request::{Renewal, Request, check_ttl};

use super::due::{EARLIEST, RenewalTerms};
use super::extend::Extending;
use super::{Lease, LeaseHandle, Leases, Unproved};

/// The pause after a panic.
const BEHIND_A_PANIC: Duration = Duration::from_millis(100);

/// The most extensions in progress at once.
const MOST_IN_FLIGHT: usize = 256;

/// The renewals of a client.
#[derive(Default)]
pub(crate) struct Renewals {
    state: Mutex<RenewalsState>,
    /// Tells the task of a lease that is due before its next look.
    sooner: Notify,
}

#[derive(Default)]
struct RenewalsState {
    entries: BTreeMap<u64, RenewedLease>,
    /// The due time of each lease, except for leases that are being extended.
    due: BTreeSet<(Moment, u64)>,
    next_id: u64,
    is_running: bool,
    /// The time of the task's next look.
    looks_at: Option<Moment>,
}

/// A renewed lease. It is a handle: it holds no lock.
struct RenewedLease {
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

/// A holder's renewal. Dropping it ends the renewal.
pub(crate) struct Renewed {
    leases: Arc<Leases>,
    id: u64,
}

impl Drop for Renewed {
    fn drop(&mut self) {
        let mut state = self.leases.renewals.state.lock();
        let entry = state.entries.remove(&self.id);
        if let Some(entry) = &entry {
            state.due.remove(&(entry.due, self.id));
        }
        // Dropped outside of the mutex: the handle may be the last one of the lease.
        drop(state);
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
        self.renewed = Some(Renewals::add(&self.shared.leases, entry));
    }
}

/// An extension in progress.
struct InFlight {
    id: u64,
    lease: LeaseHandle,
    /// True for the last extension that the holder asked for.
    is_last: bool,
    terms: RenewalTerms,
    extending: Extending,
    is_decided: bool,
}

impl Renewals {
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().entries.is_empty()
    }

    fn add(leases: &Arc<Leases>, entry: RenewedLease) -> Renewed {
        let renewals = &leases.renewals;
        let (id, is_first, is_sooner) = {
            let mut state = renewals.state.lock();
            state.next_id += 1;
            let (id, due) = (state.next_id, entry.due);
            state.due.insert((due, id));
            state.entries.insert(id, entry);
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
        Renewed {
            leases: Arc::clone(leases),
            id,
        }
    }

    /// Takes up to `room` leases: those that are due, and those that may be renewed with them.
    fn take_due(&self, now: Moment, room: usize) -> Vec<(u64, LeaseHandle, RenewalTerms)> {
        let mut state = self.state.lock();
        if state.due.first().is_none_or(|(due, _)| *due > now) {
            return Vec::new();
        }
        let latest = now.saturating_add(EARLIEST);
        let soon = state.due.range(..=(latest, u64::MAX)).take(room);
        let is_ready = |(due, id): &(Moment, u64)| {
            let early = |entry: &RenewedLease| EARLIEST.min(entry.terms.ttl / 30);
            let entry = state.entries.get(id);
            entry.is_some_and(|entry| due.saturating_sub(early(entry)) <= now)
        };
        let ready: Vec<_> = soon.copied().filter(is_ready).collect();
        let take = |(due, id)| {
            state.due.remove(&(due, id));
            let entry = state.entries.get(&id)?;
            Some((id, entry.lease.clone(), entry.terms))
        };
        ready.into_iter().filter_map(take).collect()
    }

    /// Puts a lease back, unless its holder has left.
    fn put_back(&self, id: u64, due: Moment) {
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.get_mut(&id) {
            entry.due = due;
            state.due.insert((due, id));
        }
    }

    /// Sets the due time `again` for all leases whose extensions were given up.
    fn resume(&self, again: Moment) {
        let mut state = self.state.lock();
        let RenewalsState { entries, due, .. } = &mut *state;
        for (id, entry) in entries {
            if !due.contains(&(entry.due, *id)) {
                entry.due = again;
                due.insert((again, *id));
            }
        }
    }

    /// Removes a lease that is no longer renewed.
    fn forget(&self, id: u64) {
        let _entry = self.state.lock().entries.remove(&id);
    }

    /// The next due time. `Err` if there are no leases left, and the task ends.
    fn next_due(&self, is_idle: bool, has_room: bool) -> Result<Option<Moment>, ()> {
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

/// Renews while there are leases to renew. After a panic it starts again with a pause.
async fn run(leases: Arc<Leases>) {
    while unless_it_panics("the renewal of leases", renew(&leases))
        .await
        .is_none()
    {
        let clock = leases.context.clock();
        let again = clock.now().saturating_add(BEHIND_A_PANIC);
        leases.renewals.resume(again);
        clock.sleep_until(again).await;
    }
}

async fn renew(leases: &Leases) {
    let (renewals, clock) = (&leases.renewals, leases.context.clock());
    let mut in_flight: Vec<InFlight> = Vec::new();
    loop {
        let now = clock.now();
        let room = MOST_IN_FLIGHT.saturating_sub(in_flight.len());
        for (id, lease, terms) in renewals.take_due(now, room) {
            let mut under_way = in_flight.iter().map(|one| &one.lease);
            let is_under_way = under_way.any(|other| other.lock_id() == lease.lock_id());
            if let Some(due) = lease.renewed_by_another(terms.ttl, now, is_under_way) {
                renewals.put_back(id, due);
                continue;
            }
            match begin(leases, id, lease, terms, now) {
                Some(begun) => in_flight.push(begun),
                None => renewals.forget(id),
            }
        }
        let has_room = in_flight.len() < MOST_IN_FLIGHT;
        let Ok(next) = renewals.next_due(in_flight.is_empty(), has_room) else {
            return;
        };
        wait(leases, &mut in_flight, next).await;
        let (decided, rest) = in_flight.into_iter().partition(|one| one.is_decided);
        in_flight = rest;
        for one in decided {
            let id = one.id;
            match conclude(leases, &one, clock.now()) {
                Some(due) => renewals.put_back(id, due),
                None => renewals.forget(id),
            }
        }
    }
}

/// Waits until an extension is decided, or the next lease is due.
async fn wait(leases: &Leases, in_flight: &mut [InFlight], next: Option<Moment>) {
    let clock = leases.context.clock();
    let mut sooner = pin!(leases.renewals.sooner.notified());
    let overdue = in_flight.iter().map(|one| one.extending.sent.until);
    let wakes_at = overdue.chain(next).min();
    let mut timer = wakes_at.map(|at| clock.sleep_until(at));
    poll_fn(|context| {
        let now = clock.now();
        let mut is_any_decided = false;
        for one in &mut *in_flight {
            let mut decided = one.extending.decided();
            let is_overdue = now >= one.extending.sent.until;
            one.is_decided = Pin::new(&mut decided).poll(context).is_ready() || is_overdue;
            is_any_decided |= one.is_decided;
        }
        let is_due = timer
            .as_mut()
            .is_some_and(|timer| Pin::new(timer).poll(context).is_ready());
        if is_any_decided || is_due || sooner.as_mut().poll(context).is_ready() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Sends an extension; `None` if there is nothing left to extend.
fn begin(
    leases: &Leases,
    id: u64,
    lease: LeaseHandle,
    terms: RenewalTerms,
    now: Moment,
) -> Option<InFlight> {
    // Not beyond the end, in whole milliseconds.
    let left = terms.end.saturating_since(now).min(terms.ttl);
    let left = Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    if let Some(over) = lease.over() {
        if over == LeaseEnd::StoodStill {
            // The renewal goes, and the reason stays.
            lease.shared.state.lock().unproved = Some(Unproved::NotSent);
        }
        report_end(leases, &lease, &over);
        return None;
    }
    if check_ttl(left, lease.shared.clock_drift_factor).is_err() {
        // The rest is too short for another validity.
        lease.shared.state.lock().max_hold = Some(terms.max_hold);
        return None;
    }
    let until = now.saturating_add(leases.context.node_timeout);
    let extending = match lease.begin_extension(left, until) {
        Ok(extending) => extending,
        Err(ExtendError::Ended(over)) => {
            report_end(leases, &lease, &over);
            return None;
        }
        // The ttl was checked, and nothing was asked for yet.
        Err(ExtendError::Unavailable(_) | ExtendError::Invalid(_)) => return None,
    };
    let sent = extending.sent.clone();
    lease.shared.state.lock().unproved = Some(Unproved::Sent(sent));
    Some(InFlight {
        id,
        is_last: now.saturating_add(terms.ttl) >= terms.end,
        terms,
        extending,
        is_decided: false,
        lease,
    })
}

/// Concludes an extension by its votes. Returns the lease's next due time, if it has one.
fn conclude(leases: &Leases, one: &InFlight, now: Moment) -> Option<Moment> {
    let lease = &one.lease;
    match lease.end_extension(&one.extending) {
        Ok(()) if one.is_last => {
            // The lease has its last validity.
            lease.shared.state.lock().max_hold = Some(one.terms.max_hold);
            None
        }
        Ok(()) => Some(lease.renewal_due(one.terms.ttl)),
        Err(ExtendError::Unavailable(error)) => {
            warn_throttled!(
                leases.throttles,
                About::pools(lease.shared.pools()),
                "lease not renewed; it is still valid",
                resource = %lease.resource(), token = lease.token_id(), %error
            );
            Some(lease.retry_due(one.terms.ttl, now))
        }
        Err(ExtendError::Ended(over)) => {
            report_end(leases, lease, &over);
            None
        }
        Err(ExtendError::Invalid(_)) => None,
    }
}

fn report_end(leases: &Leases, lease: &LeaseHandle, over: &LeaseEnd) {
    // Otherwise the lease was released, or is about to be.
    if !matches!(
        over,
        LeaseEnd::Released | LeaseEnd::Revoked | LeaseEnd::Transferred
    ) {
        warn_throttled!(
            leases.throttles,
            About::pools(lease.shared.pools()).reason(over.as_str()),
            "lease not renewed; it is over",
            resource = %lease.resource(), token = lease.token_id(), reason = %over
        );
    }
}
