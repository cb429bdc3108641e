//! Renewal: leases that extend themselves.
//!
//! One task of a client looks after all of them. It sleeps until the first one is due, takes those
//! along that soon will be, and sends their extensions together, so that the nodes are written to
//! once for many. While nothing is renewed there is no task.

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

/// A renewal that found no majority is tried again after a third of what is left, but not sooner.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// How much sooner than it is due a lease may be renewed, to go along with another one; never more
/// than a small part of its validity.
const EARLIEST: Duration = Duration::from_millis(20);

/// When renewal goes on behind a panic.
const BEHIND_A_PANIC: Duration = Duration::from_millis(100);

/// How many extensions may be under way at once.
const MOST_IN_FLIGHT: usize = 256;

/// What a client renews.
#[derive(Default)]
pub(crate) struct Renewals {
    state: Mutex<RenewalsState>,
    /// Tells the task that something is due before it would look.
    sooner: Notify,
}

#[derive(Default)]
struct RenewalsState {
    entries: BTreeMap<u64, RenewedLease>,
    /// When each of them is due, but for those that are being extended.
    due: BTreeSet<(Moment, u64)>,
    next_id: u64,
    is_running: bool,
    /// When the task will look.
    looks_at: Option<Moment>,
}

/// A lease that is renewed. It is a handle: it keeps no lock.
struct RenewedLease {
    lease: LeaseHandle,
    ttl: Duration,
    end: Moment,
    due: Moment,
}

/// A holder's renewal. It ends when this is dropped.
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
        // Its handle may be the last one of the lease, and is dropped outside of the lock.
        drop(state);
    }
}

impl Lease {
    /// Starts the renewal that `request` asks for, counted from `began`. It ends when this holder
    /// leaves, before the release is sent, or when the lease is over.
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
    /// When a third of what `ttl` gives has passed, whoever gave more meanwhile.
    fn renewal_due(&self, ttl: Duration) -> Moment {
        let validity = ttl.saturating_sub(drift(ttl, self.shared.clock_drift_factor));
        let rest = validity.saturating_sub(validity / 3);
        self.shared.deadline().saturating_sub(rest)
    }
}

/// An extension under way.
struct InFlight {
    id: u64,
    lease: LeaseHandle,
    /// The last one that the holder asked for.
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

    /// Takes up to `room` leases that are due, and those that may go along with them.
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

    /// Puts a lease back, unless its holder has left meanwhile.
    fn put_back(&self, id: u64, due: Moment) {
        let mut state = self.state.lock();
        if let Some(entry) = state.entries.get_mut(&id) {
            entry.due = due;
            state.due.insert((due, id));
        }
    }

    /// Has those leases looked at `again` whose extensions were given up.
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

    /// Forgets a lease that is renewed no more.
    fn forget(&self, id: u64) {
        let _entry = self.state.lock().entries.remove(&id);
    }

    /// When the next lease is due. `Err` where there is none any more, and the task ends.
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

/// Renews for as long as there is something to renew. Where that panics, it begins anew behind a pause.
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

/// Sends an extension; `None` where there is nothing to extend any more.
fn begin(
    leases: &Leases,
    id: u64,
    lease: LeaseHandle,
    ttl: Duration,
    end: Moment,
    now: Moment,
) -> Option<InFlight> {
    // Not beyond the end, and no less than a ttl may be, in whole milliseconds.
    let left = end.saturating_since(now).min(ttl);
    let left = Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    if lease.over().is_some() {
        return None;
    }
    // Too little for another validity.
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

/// What the votes come to: when the lease is due again, if it is.
fn conclude(one: &InFlight, now: Moment) -> Option<Moment> {
    let lease = &one.lease;
    match lease.end_extension(&one.extending) {
        // It has its last validity.
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
    // Otherwise its holder let go of it meanwhile.
    if !matches!(error, ExtendError::Ended(LeaseEnd::Released)) {
        log!(
            warn,
            resource = %lease.resource(), token = lease.token_id(), %error,
            "lease not renewed, and over",
        );
    }
}
