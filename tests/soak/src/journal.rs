//! A worker's journal, and a holder's visit to a resource as it is written there.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use redlock_runtime::LeaseHandle;

use crate::clock::{Moment, nanos, now};
use crate::event::{Event, Held, LeaseId};
use crate::plan::Plan;

/// A file of the worker's own. Each event is one write, which survives the process.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    worker: u32,
    next: AtomicU32,
}

impl Journal {
    pub(crate) fn open(path: &Path, worker: u32) -> Self {
        let file = OpenOptions::new().append(true).open(path);
        Self {
            file: file.expect("the parent has made the journal"),
            worker,
            next: AtomicU32::new(1),
        }
    }

    pub(crate) fn write(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("an event is JSON");
        line.push(b'\n');
        // Without its journal a worker proves nothing, so it had better end.
        (&self.file)
            .write_all(&line)
            .expect("the journal can be written");
    }

    pub(crate) fn count(&self, row: impl Into<String>) {
        self.write(&Event::Count(row.into()));
    }
}

/// A holder inside. Dropping it writes that it leaves, so it has to be dropped before anything that
/// releases the lease: it lives in the body, which goes before its lease on every way out.
#[derive(Debug)]
pub(crate) struct Visit {
    journal: Arc<Journal>,
    lease: LeaseHandle,
    /// With the last deadline that was seen.
    pub(crate) held: Held,
    /// The last moment at which the lease was seen to be valid.
    seen_valid: Moment,
}

impl Visit {
    /// The first thing that a holder does.
    pub(crate) fn enter(journal: &Arc<Journal>, plan: &Plan, lease: LeaseHandle) -> Self {
        // In this order: the clock first, and then what counts from it. See `check`.
        let entered = now();
        let held = Held {
            lease: LeaseId(journal.worker, journal.next.fetch_add(1, Ordering::Relaxed)),
            names: plan.names_of(lease.permit()),
            is_reader: plan.is_reader(),
            began: entered.saturating_sub(nanos(lease.held_for())),
            entered,
            until: entered + nanos(lease.validity()),
            token: lease.fenced().map(|lease| lease.fencing_token().into()),
        };
        journal.write(&Event::Enter(held.clone()));
        Self {
            journal: Arc::clone(journal),
            lease,
            held,
            seen_valid: entered,
        }
    }

    /// Looks at the deadline, and writes it down if it has moved, with one more for `row`.
    pub(crate) fn look(&mut self, row: &str) {
        let seen = now();
        let validity = nanos(self.lease.validity());
        if validity == 0 {
            return;
        }
        self.seen_valid = seen;
        // Two looks at one deadline differ by the time between clock and validity.
        let has_moved = seen + validity > self.held.until + 1_000_000;
        self.held.until = self.held.until.max(seen + validity);
        if has_moved {
            let until = Event::Until(self.held.lease, self.held.until);
            self.journal.write(&until);
            self.journal.count(row);
        }
    }

    /// The store refused this holder, because it has seen `highest`.
    pub(crate) fn was_refused(&self, highest: u64) {
        if !self.lease.validity().is_zero() {
            self.journal.write(&Event::Unfit(self.held.lease, highest));
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let seen = now();
        let is_valid = !self.lease.validity().is_zero();
        let over = pin!(self.lease.lost()).poll(&mut Context::from_waker(Waker::noop()));
        let until = match &over {
            _ if is_valid => seen,
            Poll::Ready(over) if !over.is_end_of_validity() => self.seen_valid,
            _ => self.held.until,
        };
        self.journal.write(&Event::Until(self.held.lease, until));
        if let (false, Poll::Ready(over)) = (is_valid, over) {
            self.journal.count(format!("lost: {}", over.as_str()));
        }
    }
}
