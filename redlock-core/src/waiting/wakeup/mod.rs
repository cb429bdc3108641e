//! Tells a waiting caller that a lock has become free.

pub(crate) mod changes;
mod free;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use crate::env::{Clock, Moment, Sleep};
use crate::model::resource::Resource;
use crate::node::watch::{KeyReport, Sightings, Watch};
use crate::node::{NodeSet, Remaining};
use crate::quorum::majority;
use crate::quorum::round::{Round, bit, seats_in};
pub(crate) use free::FreeWatch;

/// The nodes' reports on the keys. Each node writes at its own seat. One caller waits for the reports.
struct Reports {
    keys: Resource,
    clock: Arc<dyn Clock>,
    is_wanted: AtomicBool,
    /// The attempt that was refused. Only seats that have voted in it count: nothing says that another
    /// seat could vote in the next attempt.
    refusal: Option<Arc<Round>>,
    state: Mutex<WatchState>,
}

struct WatchState {
    /// The moment from which each seat holds no key; `None` if it is not known.
    free_from: Box<[Option<Moment>]>,
    /// The seats whose last report says whether the keys exist.
    seeing: u64,
    /// The moment at which the waiting caller looks by itself; `None` if it does not.
    looks_at: Option<Moment>,
    waiting: Option<Waker>,
}

impl WatchState {
    /// The moment from which a majority of all nodes holds no key, as far as is known of the seats
    /// that count.
    fn due(&self, counted: u64) -> Option<Moment> {
        let seats = self.free_from.iter().enumerate();
        let counted = seats.filter(|(seat, _)| counted & bit(*seat) != 0);
        let mut moments: Vec<Moment> = counted.filter_map(|(_, from)| *from).collect();
        moments.sort_unstable();
        moments.get(majority(self.free_from.len()) - 1).copied()
    }
}

impl Sightings for Reports {
    fn keys(&self) -> &Resource {
        &self.keys
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    fn record(&self, seat: usize, key_report: KeyReport) -> Option<Waker> {
        let (now, counted) = (self.clock.now(), self.counted());
        let mut state = self.state.lock();
        if key_report == KeyReport::Unknown {
            state.seeing &= !bit(seat);
        } else {
            state.seeing |= bit(seat);
        }
        let known = state.free_from.get_mut(seat)?;
        *known = match key_report {
            KeyReport::Free => Some(now),
            KeyReport::Held(Remaining::Expires(left)) => Some(now.saturating_add(left)),
            KeyReport::Held(_) => None,
            // A key that exists expires when its remaining time has passed, unless a holder extends it;
            // waking up then costs one attempt. A key that was gone may exist again.
            KeyReport::Unknown => known.filter(|from| *from > now),
        };
        let due = state.due(counted)?;
        // A later moment needs no waking: the caller finds that out when it looks.
        if state.looks_at.is_none_or(|looks_at| due < looks_at) {
            state.waiting.take()
        } else {
            None
        }
    }
}

impl Reports {
    fn counted(&self) -> u64 {
        let refusal = self.refusal.as_ref();
        refusal.map_or(u64::MAX, |refusal| refusal.seats().voted)
    }
}

/// Watches keys on some of the nodes for a release or an expiry, by any holder.
///
/// A majority decides and not the first node: a release reaches the nodes one after another, and an
/// attempt in between would only split the votes.
pub struct QuorumWatch {
    reports: Arc<Reports>,
}

impl QuorumWatch {
    /// Watches `keys`, which have their prefix, on the nodes whose bit is set in `seats`: those that
    /// answered the last attempt. The other nodes do not count as free.
    pub fn begin(clock: &Arc<dyn Clock>, nodes: &NodeSet, keys: &Resource, seats: u64) -> Self {
        Self::over(clock, nodes, keys, seats, None)
    }

    /// Watches the seats of `refusal`, the votes of an attempt, that have not failed. A node whose
    /// answer is missing counts from its vote on.
    pub(crate) fn behind(
        clock: &Arc<dyn Clock>,
        nodes: &NodeSet,
        keys: &Resource,
        refusal: &Arc<Round>,
    ) -> Self {
        let seats = !refusal.seats().failed;
        Self::over(clock, nodes, keys, seats, Some(Arc::clone(refusal)))
    }

    fn over(
        clock: &Arc<dyn Clock>,
        nodes: &NodeSet,
        keys: &Resource,
        seats: u64,
        refusal: Option<Arc<Round>>,
    ) -> Self {
        let reports = Arc::new(Reports {
            keys: keys.clone(),
            clock: Arc::clone(clock),
            is_wanted: AtomicBool::new(true),
            refusal,
            state: Mutex::new(WatchState {
                free_from: vec![None; nodes.len()].into(),
                seeing: 0,
                looks_at: None,
                waiting: None,
            }),
        });
        for (seat, node) in nodes.iter().enumerate() {
            if seats & bit(seat) != 0 {
                let reports = Arc::clone(&reports);
                node.watch(Watch::new(reports, seat));
            }
        }
        Self { reports }
    }

    /// Completes when a majority of the configured nodes holds no key of the lock: the nodes said so,
    /// or the remaining time that they last told has passed on our clock. It never completes if too
    /// few nodes can tell. For one caller at a time.
    ///
    /// # Cancellation
    /// Dropping the future has no effect. The watch lasts until it is dropped itself.
    pub async fn free(&self) {
        Free {
            reports: &self.reports,
            timer: None,
        }
        .await;
    }

    /// True if fewer nodes than a majority would tell of a release now.
    pub(crate) fn is_blind(&self) -> bool {
        let counted = self.reports.counted();
        let state = self.reports.state.lock();
        seats_in(state.seeing & counted) < majority(state.free_from.len())
    }

    /// The moment at which [`free`](Self::free) completes, by the reports so far.
    #[cfg(any(test, feature = "testing"))]
    pub fn due(&self) -> Option<Moment> {
        let counted = self.reports.counted();
        self.reports.state.lock().due(counted)
    }
}

impl Drop for QuorumWatch {
    fn drop(&mut self) {
        self.reports.is_wanted.store(false, Ordering::Release);
        // The waker is dropped outside of the lock. It is dropped now, because a node may keep the watch
        // for longer.
        let _waiting = self.reports.state.lock().waiting.take();
        if let Some(refusal) = &self.reports.refusal {
            refusal.forget_caller();
        }
    }
}

impl fmt::Debug for QuorumWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuorumWatch")
            .field("keys", &self.reports.keys)
            .finish_non_exhaustive()
    }
}

/// See [`QuorumWatch::free`].
struct Free<'a> {
    reports: &'a Reports,
    timer: Option<(Moment, Sleep)>,
}

impl Future for Free<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let clock = &this.reports.clock;
        loop {
            let now = clock.now();
            let refusal = this.reports.refusal.as_ref();
            let counted = refusal.map_or(u64::MAX, |refusal| refusal.await_vote(context));
            // The old waker is dropped outside of the lock: it may be the last reference to its task.
            let mut _replaced = None;
            let due = {
                let mut state = this.reports.state.lock();
                let due = state.due(counted);
                state.looks_at = due;
                _replaced = state.waiting.replace(context.waker().clone());
                due
            };
            let Some(due) = due else {
                this.timer = None;
                return Poll::Pending;
            };
            if due <= now {
                return Poll::Ready(());
            }
            let timer = match &mut this.timer {
                Some((at, timer)) if *at == due => timer,
                other => &mut other.insert((due, clock.sleep_until(due))).1,
            };
            if Pin::new(timer).poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

#[cfg(test)]
mod tests;
