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

use crate::env::Moment;
use crate::env::caught::{log, unless_it_panics};
use crate::error::{ExtendError, LeaseEnd};
use crate::model::request::{Renewal, Request, check_ttl, drift};

use super::extend::Extending;
use super::{Lease, LeaseHandle, Leases};

/// The shortest pause before the retry of a renewal without a majority. The pause is a third of the
/// validity that is left.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// How much earlier than due a lease may be renewed together with another one. It is never more than a
/// small part of its validity.
const EARLIEST: Duration = Duration::from_millis(20);

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
    ttl: Duration,
    end: Moment,
    due: Moment,
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
        let end = match request.renewal {
            Renewal::Never => return,
            Renewal::For(held) => began.saturating_add(held),
            Renewal::Unlimited => Moment::from_origin(Duration::MAX),
        };
        let lease = self.handle();
        let due = lease.renewal_due(request.ttl);
        let entry = RenewedLease {
            lease,
            ttl: request.ttl,
            end,
            due,
        };
        self.renewed = Some(Renewals::add(&self.shared.leases, entry));
    }
}

impl LeaseHandle {
    /// The moment when a third of the validity of `ttl` has passed, even if an extension with a longer
    /// ttl came in between.
    fn renewal_due(&self, ttl: Duration) -> Moment {
        let validity = ttl.saturating_sub(drift(ttl, self.shared.clock_drift_factor));
        let rest = validity.saturating_sub(validity / 3);
        self.shared.deadline().saturating_sub(rest)
    }
}

/// An extension in progress.
struct InFlight {
    id: u64,
    lease: LeaseHandle,
    /// True for the last extension that the holder asked for.
    is_last: bool,
    ttl: Duration,
    extending: Extending,
    until: Moment,
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
    fn take_due(&self, now: Moment, room: usize) -> Vec<(u64, LeaseHandle, Duration, Moment)> {
        let mut state = self.state.lock();
        if state.due.first().is_none_or(|(due, _)| *due > now) {
            return Vec::new();
        }
        let latest = now.saturating_add(EARLIEST);
        let soon = state.due.range(..=(latest, u64::MAX)).take(room);
        let is_ready = |(due, id): &(Moment, u64)| {
            let early = |entry: &RenewedLease| EARLIEST.min(entry.ttl / 30);
            let entry = state.entries.get(id);
            entry.is_some_and(|entry| due.saturating_sub(early(entry)) <= now)
        };
        let ready: Vec<_> = soon.copied().filter(is_ready).collect();
        let take = |(due, id)| {
            state.due.remove(&(due, id));
            let entry = state.entries.get(&id)?;
            Some((id, entry.lease.clone(), entry.ttl, entry.end))
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
        for (id, lease, ttl, end) in renewals.take_due(now, room) {
            match begin(leases, id, lease, ttl, end, now) {
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
            match conclude(&one, clock.now()) {
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
    let overdue = in_flight.iter().map(|one| one.until);
    let wakes_at = overdue.chain(next).min();
    let mut timer = wakes_at.map(|at| clock.sleep_until(at));
    poll_fn(|context| {
        let now = clock.now();
        let mut is_any_decided = false;
        for one in &mut *in_flight {
            let mut decided = one.extending.decided();
            one.is_decided = Pin::new(&mut decided).poll(context).is_ready() || now >= one.until;
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
    ttl: Duration,
    end: Moment,
    now: Moment,
) -> Option<InFlight> {
    // Not beyond the end, in whole milliseconds.
    let left = end.saturating_since(now).min(ttl);
    let left = Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    if lease.over().is_some() {
        return None;
    }
    // The rest is too short for another validity.
    check_ttl(left, lease.shared.clock_drift_factor).ok()?;
    let extending = match lease.begin_extension(left) {
        Ok(extending) => extending,
        Err(error) => {
            report_end(&lease, &error);
            return None;
        }
    };
    let until = now.saturating_add(leases.context.node_timeout);
    Some(InFlight {
        id,
        is_last: now.saturating_add(ttl) >= end,
        ttl,
        extending,
        until: until.min(lease.shared.deadline()),
        is_decided: false,
        lease,
    })
}

/// Concludes an extension by its votes. Returns the lease's next due time, if it has one.
fn conclude(one: &InFlight, now: Moment) -> Option<Moment> {
    let lease = &one.lease;
    match lease.end_extension(&one.extending) {
        // The lease has its last validity.
        Ok(()) if one.is_last => None,
        Ok(()) => Some(lease.renewal_due(one.ttl)),
        Err(ExtendError::Unavailable(error)) => {
            let left = lease.shared.deadline().saturating_since(now);
            log!(
                warn,
                resource = %lease.resource(), token = lease.token_id(), %error,
                "lease not renewed; its validity still stands",
            );
            Some(now.saturating_add((left / 3).max(SHORTEST_PAUSE)))
        }
        Err(error) => {
            report_end(lease, &error);
            None
        }
    }
}

fn report_end(lease: &LeaseHandle, error: &ExtendError) {
    // Otherwise its holder has released it.
    if !matches!(error, ExtendError::Ended(LeaseEnd::Released)) {
        log!(
            warn,
            resource = %lease.resource(), token = lease.token_id(), %error,
            "lease not renewed, and over",
        );
    }
}
