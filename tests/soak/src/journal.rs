//! A worker's journal, and a holder's visit to a resource as it is written there.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redlock_runtime::LeaseHandle;
use redlock_runtime::lease::LeaseEnd;

use crate::claimed::Claimed;
use crate::clock::{Moment, nanos, now};
use crate::event::{Enter, Event, How, LeaseId, Longer};

/// A file of the worker's own. Each event is one write, which survives the process.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    worker: u32,
    next: AtomicU32,
}

impl Journal {
    pub(crate) fn create(path: &Path, worker: u32) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(path)?;
        Ok(Self {
            file,
            worker,
            next: AtomicU32::new(1),
        })
    }

    pub(crate) fn write(&self, event: &Event) {
        let line = format!("{event}\n");
        // Without its journal a worker proves nothing, so it had better end.
        (&self.file)
            .write_all(line.as_bytes())
            .expect("the journal can be written");
    }

    fn fresh_id(&self) -> LeaseId {
        LeaseId {
            worker: self.worker,
            number: self.next.fetch_add(1, Ordering::Relaxed),
        }
    }
}

/// What a holder holds.
#[derive(Clone, Debug)]
pub(crate) enum Grip {
    Lease(LeaseHandle),
    /// Nothing at all, of a worker that is there to be found out.
    Pretence {
        since: Moment,
        until: Moment,
        token: Option<u64>,
    },
}

impl Grip {
    pub(crate) fn pretended(ttl: Duration, is_fenced: bool) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = wall.unwrap_or_default().as_micros();
        Self::Pretence {
            since: now(),
            until: now() + nanos(ttl),
            token: is_fenced.then(|| u64::try_from(micros).unwrap_or(0)),
        }
    }

    pub(crate) fn validity(&self) -> Duration {
        match self {
            Self::Lease(lease) => lease.validity(),
            Self::Pretence { until, .. } => Duration::from_nanos(until.saturating_sub(now())),
        }
    }

    fn held_for(&self) -> Duration {
        match self {
            Self::Lease(lease) => lease.held_for(),
            Self::Pretence { since, .. } => Duration::from_nanos(now().saturating_sub(*since)),
        }
    }

    /// The part of `claimed` that only this holder has: its permit. Permit 0 is the plain lock.
    pub(crate) fn own(&self, claimed: &Claimed) -> Claimed {
        let mut own = claimed.clone();
        if let Self::Lease(lease) = self
            && let Some(permit) = lease.permit()
        {
            own.names = own
                .names
                .iter()
                .map(|name| permit_name(name, permit))
                .collect();
        }
        own
    }

    pub(crate) fn token(&self) -> Option<u64> {
        match self {
            Self::Lease(lease) => lease.fencing_token().map(u64::from),
            Self::Pretence { token, .. } => *token,
        }
    }

    fn state(&self) -> How {
        let Self::Lease(lease) = self else {
            return if self.validity().is_zero() {
                How::Expired
            } else {
                How::Valid
            };
        };
        match pin!(lease.lost()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => How::Valid,
            Poll::Ready(over) if over.is_end_of_validity() => How::Expired,
            Poll::Ready(LeaseEnd::Taken(_)) => How::Taken,
            Poll::Ready(LeaseEnd::Revoked) => How::Revoked,
            Poll::Ready(LeaseEnd::Released) => How::Released,
            Poll::Ready(_) => How::Forgotten,
        }
    }
}

fn permit_name(name: &str, permit: u16) -> String {
    match permit {
        0 => name.to_owned(),
        _ => format!("{name}#{permit}"),
    }
}

/// A holder inside. Dropping it writes that it leaves, so it has to be dropped before anything that
/// releases the lease: it lives in the body, which goes before its lease on every way out.
#[derive(Debug)]
pub(crate) struct Visit {
    journal: Arc<Journal>,
    lease: LeaseId,
    grip: Grip,
    /// The last moment at which the lease was seen to be valid.
    seen_valid: Moment,
    /// The last deadline that was seen.
    until: Moment,
}

impl Visit {
    /// The first thing that a holder does.
    pub(crate) fn enter(journal: &Arc<Journal>, claimed: &Claimed, grip: Grip) -> Self {
        // In this order: the clock first, and then what counts from it. See `check`.
        let entered = now();
        let began = entered.saturating_sub(nanos(grip.held_for()));
        let until = entered + nanos(grip.validity());
        let lease = journal.fresh_id();
        journal.write(&Event::Enter(Enter {
            lease,
            claimed: claimed.clone(),
            began,
            entered,
            until,
            token: grip.token(),
        }));
        Self {
            journal: Arc::clone(journal),
            lease,
            grip,
            seen_valid: entered,
            until,
        }
    }

    /// Looks at the deadline, and writes it down where it has moved.
    pub(crate) fn look(&mut self, why: Longer) {
        let seen = now();
        let validity = nanos(self.grip.validity());
        if validity == 0 {
            return;
        }
        self.seen_valid = seen;
        // Two looks at one deadline differ by the time between clock and validity.
        let has_moved = seen + validity > self.until + 1_000_000;
        self.until = self.until.max(seen + validity);
        if has_moved {
            self.journal.write(&Event::Until {
                lease: self.lease,
                until: self.until,
                why,
            });
        }
    }

    /// The store refused this holder, because it has seen `highest`.
    pub(crate) fn was_refused(&self, highest: u64) {
        if !self.grip.validity().is_zero() {
            let lease = self.lease;
            self.journal.write(&Event::Unfit { lease, highest });
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let seen = now();
        let how = if self.grip.validity().is_zero() {
            self.grip.state()
        } else {
            How::Valid
        };
        let until = match how {
            How::Valid => seen,
            How::Expired => self.until,
            _ => self.seen_valid,
        };
        self.journal.write(&Event::Leave {
            lease: self.lease,
            until,
            how,
        });
    }
}
