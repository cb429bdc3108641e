//! Renewal: leases that extend themselves.
//!
//! One task of a client renews all its leases. The task sleeps until the first lease is due, takes
//! along the leases that are due soon, and sends their extensions together, so that one write to a node
//! serves many leases. While no lease is renewed there is no task.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::env::caught::unless_it_panics;
use crate::env::{Moment, log_throttled};
use crate::error::{ExtendError, LeaseEnd};
use crate::model::limits::check_ttl;

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
        wait(leases, &in_flight, next).await;
        let now = clock.now();
        for one in in_flight.extract_if(.., |one| one.extending.is_over(now)) {
            match conclude(leases, &one, now) {
                Some(due) => renewals.put_back(one.id, due),
                None => renewals.forget(one.id),
            }
        }
    }
}

/// Waits until an extension is decided or has no time left, or the next lease is due.
async fn wait(leases: &Leases, in_flight: &[InFlight], next: Option<Moment>) {
    let any_is_decided = poll_fn(|context| {
        // All of them are polled, so that each wakes the task.
        let decided = in_flight.iter().filter(|one| {
            let mut decided = one.extending.decided();
            Pin::new(&mut decided).poll(context).is_ready()
        });
        match decided.count() {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    });
    let overdue = in_flight.iter().map(|one| one.extending.sent.until);
    let look = async {
        match overdue.chain(next).min() {
            Some(at) => leases.context.clock().sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = any_is_decided => {}
        () = leases.renewals.sooner.notified() => {}
        () = look => {}
    }
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
            log_throttled!(
                &leases.throttle,
                lease.shared.pools(),
                WARN,
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
        log_throttled!(
            &leases.throttle,
            (lease.shared.pools(), over.as_str()),
            WARN,
            "lease not renewed; it is over",
            resource = %lease.resource(), token = lease.token_id(), reason = %over
        );
    }
}
