//! Renewal: leases that extend themselves.
//!
//! One task of a client renews all its leases. The task sleeps until the first lease is due, takes
//! along the leases that are due soon, and sends their extensions together, so that one write to a node
//! serves many leases. While no lease is renewed there is no task.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::env::caught::{unless_it_panics, warn_throttled};
use crate::env::{About, Moment};
use crate::error::{ExtendError, LeaseEnd};
use crate::model::request::check_ttl;

use super::due::RenewalTerms;
use super::extend::Extending;
use super::renewals::RenewalId;
use super::{LeaseHandle, Leases, Unproved};

/// The pause after a panic.
const BEHIND_A_PANIC: Duration = Duration::from_millis(100);

/// The most extensions in progress at once.
const MOST_IN_FLIGHT: usize = 256;

/// An extension in progress.
struct InFlight {
    id: RenewalId,
    lease: LeaseHandle,
    /// True for the last extension that the holder asked for.
    is_last: bool,
    terms: RenewalTerms,
    extending: Extending,
    is_decided: bool,
}

/// Renews while there are leases to renew. After a panic it starts again with a pause.
pub(super) async fn run(leases: Arc<Leases>) {
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
        let mut at = 0;
        while let Some(one) = in_flight.get(at) {
            if !one.is_decided {
                at += 1;
                continue;
            }
            let one = in_flight.swap_remove(at);
            match conclude(leases, &one, clock.now()) {
                Some(due) => renewals.put_back(one.id, due),
                None => renewals.forget(one.id),
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
    id: RenewalId,
    lease: LeaseHandle,
    terms: RenewalTerms,
    now: Moment,
) -> Option<InFlight> {
    // Not beyond the end, in whole milliseconds.
    let ttl = terms.ttl;
    let left = terms.end.saturating_since(now).min(ttl);
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
    let sent = Arc::clone(&extending.sent);
    lease.shared.state.lock().unproved = Some(Unproved::Sent(sent));
    Some(InFlight {
        id,
        is_last: now.saturating_add(ttl) >= terms.end,
        terms,
        extending,
        is_decided: false,
        lease,
    })
}

/// Concludes an extension by its votes. Returns the lease's next due time, if it has one.
fn conclude(leases: &Leases, one: &InFlight, now: Moment) -> Option<Moment> {
    let (lease, ttl) = (&one.lease, one.terms.ttl);
    match lease.end_extension(&one.extending) {
        Ok(()) if one.is_last => {
            // The lease has its last validity.
            lease.shared.state.lock().max_hold = Some(one.terms.max_hold);
            None
        }
        Ok(()) => Some(lease.renewal_due(ttl)),
        Err(ExtendError::Unavailable(error)) => {
            warn_throttled!(
                leases.throttles,
                About::pools(lease.shared.pools()),
                "lease not renewed; it is still valid",
                resource = %lease.resource(), token = lease.token_id(), %error
            );
            Some(lease.retry_due(ttl, now))
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
    if !matches!(over, LeaseEnd::Released | LeaseEnd::Revoked) {
        warn_throttled!(
            leases.throttles,
            About::pools(lease.shared.pools()).reason(over.as_str()),
            "lease not renewed; it is over",
            resource = %lease.resource(), token = lease.token_id(), reason = %over
        );
    }
}
