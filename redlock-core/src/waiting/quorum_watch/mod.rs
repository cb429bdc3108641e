//! Quorum watches: they report that a lock has become free, or may have changed.

use std::future::{Future as _, pending, poll_fn};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::future::select_all;
use parking_lot::Mutex;

use crate::debug::debug_in_part;
use crate::env::timeout::before;
use crate::env::{Clock, Moment};
use crate::model::resource::Resource;
use crate::model::token::OwnerId;
use crate::node::watch::{HeldValue, KeyReport, ReportSink, Watch};
use crate::node::{NodeSet, Remaining, bit};
use crate::quorum::majority;
use crate::quorum::round::{Goal, Round, seats_in};
use crate::waiting::rivals::majority_owner;

/// The tolerance for equal ends of keys. Keys stayed the same if two reports have ends within it and equal values.
const END_TOLERANCE: Duration = Duration::from_millis(2);

/// The reports of the nodes about the keys. Each node writes at its own seat, and one caller waits for the reports.
struct Reports {
    keys: Resource,
    clock: Arc<dyn Clock>,
    /// The refused attempt. Only its voters count, because other seats may fail to vote again.
    refusal: Option<Arc<Round>>,
    state: Mutex<WatchState>,
}

struct WatchState {
    /// True while the caller waits.
    is_wanted: bool,
    /// The moment from which the keys are free at each seat; `None` if unknown.
    free_from: Box<[Option<Moment>]>,
    /// The values of the keys at each seat; `None` if unknown.
    values: Box<[Option<HeldValue>]>,
    /// The holders that a majority of the seats named since the last `take_holders`, in order of time.
    holders: Vec<OwnerId>,
    /// The seats whose last report gives the state of the keys.
    seeing: u64,
    /// The seats whose last report says that a key is held.
    held: u64,
    /// The seats that have sent any report, even that the state is unknown.
    told: u64,
    /// The seats that have reported since [`QuorumWatch::until_reported`] last completed.
    reported: u64,
    /// The seats whose keys have changed since their first report.
    changed: u64,
    waiting: Option<Waker>,
}

impl WatchState {
    /// Returns the moment from which the keys are free on a majority of all nodes. Only the seats in `counted` count.
    fn due(&self, counted: u64) -> Option<Moment> {
        let seats = self.free_from.iter().enumerate();
        let counted = seats.filter(|(seat, _)| counted & bit(*seat) != 0);
        let mut moments: Vec<Moment> = counted.filter_map(|(_, from)| *from).collect();
        moments.sort_unstable();
        moments.get(majority(self.free_from.len()) - 1).copied()
    }

    /// True if the reports leave open whether a majority of the nodes holds the keys.
    fn is_unsure(&self, counted: u64) -> bool {
        let free = self.seeing & !self.held & counted;
        !self.is_enough(self.held & counted) && !self.is_enough(free)
    }

    /// Records the process that a majority of the seats names as the holder.
    fn record_holder(&mut self) {
        let owners = self.values.iter().map(|value| value.as_ref()?.owner);
        if let Some(holder) = majority_owner(owners) {
            self.holders.retain(|it| *it != holder);
            self.holders.push(holder);
        }
    }

    /// True if `seats` are a majority of the nodes.
    fn is_enough(&self, seats: u64) -> bool {
        seats_in(seats) >= majority(self.free_from.len())
    }
}

impl ReportSink for Reports {
    fn keys(&self) -> &Resource {
        &self.keys
    }

    fn is_wanted(&self) -> bool {
        self.state.lock().is_wanted
    }

    fn record(
        &self,
        seat: usize,
        key_report: KeyReport,
        value: Option<HeldValue>,
    ) -> Option<Waker> {
        let now = self.clock.now();
        let mut state = self.state.lock();
        state.told |= bit(seat);
        state.held &= !bit(seat);
        if matches!(key_report, KeyReport::Held(_)) {
            state.held |= bit(seat);
        }
        if key_report == KeyReport::Unknown {
            state.seeing &= !bit(seat);
        } else {
            state.seeing |= bit(seat);
            state.reported |= bit(seat);
        }
        let known = state.free_from.get_mut(seat)?;
        let before = *known;
        *known = match key_report {
            KeyReport::Free => Some(now),
            KeyReport::Held(Remaining::Expires(left)) => Some(now.saturating_add(left)),
            KeyReport::Held(_) => None,
            // Keep an expiry that lies ahead. The key expires then unless its holder extends it, and a vain wake-up
            // costs one attempt. Forget that a key was gone, because it may exist again.
            KeyReport::Unknown => known.filter(|from| *from > now),
        };
        let is_other_end = before.zip(*known).is_some_and(|(one, other)| {
            one.max(other).saturating_since(one.min(other)) > END_TOLERANCE
        });
        let last = value.and_then(|value| state.values[seat].replace(value));
        if is_other_end || last.is_some() && last != value {
            state.changed |= bit(seat);
        }
        state.record_holder();
        state.waiting.take()
    }
}

impl Reports {
    fn counted(&self) -> u64 {
        let refusal = self.refusal.as_ref();
        refusal.map_or(u64::MAX, |refusal| refusal.seats().voted)
    }

    /// Completes when `is_ready` returns true. Checks again after each report.
    async fn until(&self, mut is_ready: impl FnMut(&mut WatchState) -> bool) {
        poll_fn(|context| {
            let waker = context.waker().clone();
            // Drop the old waker after the mutex is unlocked. It may be the last reference to its task.
            let mut _replaced = None;
            let mut state = self.state.lock();
            if is_ready(&mut state) {
                return Poll::Ready(());
            }
            _replaced = state.waiting.replace(waker);
            Poll::Pending
        })
        .await;
    }

    /// Completes when a seat outside of `counted` votes.
    async fn other_vote(&self, counted: u64) {
        match &self.refusal {
            Some(refusal) if refusal.tally().pending() > 0 => {
                let decided = poll_fn(|context| {
                    // Set the goal at each poll, because other watches of the same caller replace it.
                    refusal.set_goal(Goal::OtherThan(counted));
                    pin!(refusal.decided()).poll(context)
                });
                decided.await;
            }
            _ => pending().await,
        }
    }
}

/// Watches keys for changes by any holder: an acquisition, an extension, a release or an expiry.
///
/// A watch waits for a majority, because a holder's calls reach the nodes one after another. After the first report
/// alone, an attempt or a question would find no majority yet.
///
/// Treat a watch as a hint: a node that is unable to track keys sends no reports.
pub struct QuorumWatch {
    reports: Arc<Reports>,
}

impl QuorumWatch {
    /// Watches `keys` on all nodes. The keys include their prefix.
    pub fn begin(clock: &Arc<dyn Clock>, nodes: &NodeSet, keys: &Resource) -> Self {
        Self::after_attempt(clock, nodes, keys, None)
    }

    /// Watches all seats, except seats that failed in the refused attempt, if there was one. A seat without a vote in
    /// this attempt counts from its vote on.
    pub(crate) fn after_attempt(
        clock: &Arc<dyn Clock>,
        nodes: &NodeSet,
        keys: &Resource,
        refusal: Option<Arc<Round>>,
    ) -> Self {
        let failed = refusal.as_ref().map_or(0, |refusal| refusal.seats().failed);
        let reports = Arc::new(Reports {
            keys: keys.clone(),
            clock: Arc::clone(clock),
            refusal,
            state: Mutex::new(WatchState {
                is_wanted: true,
                free_from: vec![None; nodes.len()].into(),
                values: vec![None; nodes.len()].into(),
                holders: Vec::new(),
                seeing: 0,
                held: 0,
                told: 0,
                reported: 0,
                changed: 0,
                waiting: None,
            }),
        });
        for (seat, node) in nodes.iter().enumerate() {
            if failed & bit(seat) == 0 {
                let reports = Arc::clone(&reports);
                node.watch(Watch::new(reports, seat));
            }
        }
        Self { reports }
    }

    /// Completes when a majority of the configured nodes holds none of the lock's keys. A node counts if it reported
    /// the keys free, or if the remaining time in its last report has passed on our clock. The future never completes
    /// if too few nodes can report. Only one caller at a time may wait.
    ///
    /// # Cancellation
    /// Dropping the future has no effect. The watch itself lasts until it is dropped.
    pub async fn until_free(&self) {
        let reports = &*self.reports;
        loop {
            if self.is_free() {
                return;
            }
            let counted = reports.counted();
            let due = reports.state.lock().due(counted);
            let news = async {
                tokio::select! {
                    biased;
                    () = reports.until(|state| state.due(counted) != due) => {}
                    () = reports.other_vote(counted) => {}
                }
            };
            match due {
                Some(due) => _ = before(&*reports.clock, due, news).await,
                None => news.await,
            }
        }
    }

    /// Completes when a majority of the nodes has reported, but no majority reports the keys free.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    async fn until_held(&self) {
        let reports = &*self.reports;
        let counted = reports.counted();
        let mut known = None;
        loop {
            let is_news = |state: &mut WatchState| {
                let is_told = state.is_enough(state.seeing & counted);
                let told = is_told.then(|| state.due(counted));
                mem::replace(&mut known, told) != told && is_told
            };
            reports.until(is_news).await;
            let due = known.flatten();
            if due.is_none_or(|due| due > reports.clock.now()) {
                return;
            }
        }
    }

    /// True if [`until_free`](Self::until_free) would complete now, by the reports so far.
    pub(crate) fn is_free(&self) -> bool {
        let counted = self.reports.counted();
        let due = self.reports.state.lock().due(counted);
        due.is_some_and(|due| due <= self.reports.clock.now())
    }

    /// Takes the processes that held the keys since the last call, in order of time.
    pub(crate) fn take_holders(&self) -> Vec<OwnerId> {
        mem::take(&mut self.reports.state.lock().holders)
    }

    /// Completes when a majority of the nodes has reported the state of the keys. Later calls complete when a majority
    /// has reported since the last completion. The future never completes if too few nodes can report. Only one caller
    /// at a time may wait.
    ///
    /// # Cancellation
    /// Dropping the future has no effect: no report is lost.
    pub async fn until_reported(&self) {
        let is_changed = |state: &mut WatchState| {
            let is_changed = state.is_enough(state.reported);
            if is_changed {
                state.reported = 0;
            }
            is_changed
        };
        self.reports.until(is_changed).await;
    }

    /// Completes when a majority has reported a change of the keys since its first reports. The caller's own refused
    /// attempt has changed the keys on fewer nodes.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub(crate) async fn until_changed(&self) {
        let is_moved = |state: &mut WatchState| state.is_enough(state.changed);
        self.reports.until(is_moved).await;
    }

    /// Completes when the reports leave open whether a majority of the nodes holds the keys.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub(crate) async fn until_unsure(&self) {
        let counted = self.reports.counted();
        self.reports.until(|state| state.is_unsure(counted)).await;
    }

    /// Completes when the reports of a majority are useless to a waiting caller. They leave open whether a majority of
    /// the nodes holds the keys.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub(crate) async fn until_blind(&self) {
        self.reports
            .until(|state| state.is_enough(state.told))
            .await;
        self.until_unsure().await;
    }

    /// True if fewer nodes than a majority would report a change now. A node that once refused to report stays silent
    /// for this watch, but a new watch asks the node again.
    pub fn is_blind(&self) -> bool {
        let counted = self.reports.counted();
        let state = self.reports.state.lock();
        !state.is_enough(state.seeing & counted)
    }

    /// Returns the moment at which [`until_free`](Self::until_free) completes, by the reports so far.
    #[cfg(any(test, feature = "testing"))]
    pub fn due(&self) -> Option<Moment> {
        let counted = self.reports.counted();
        self.reports.state.lock().due(counted)
    }
}

/// Completes when an attempt may win, because one of `watches` finds its keys free. There is at least one watch.
pub(crate) async fn any_free(watches: &[QuorumWatch]) {
    let each = watches.iter().map(|one| Box::pin(one.until_free()));
    select_all(each).await;
}

/// Completes when one of `watches` finds its keys free. If a watch finds its keys free from the start, they have to be
/// held before they count. There is at least one watch.
pub(crate) async fn any_freed(watches: &[QuorumWatch]) {
    let each = watches.iter().map(|one| {
        Box::pin(async {
            if one.is_free() {
                one.until_held().await;
            }
            one.until_free().await;
        })
    });
    select_all(each).await;
}

impl Drop for QuorumWatch {
    fn drop(&mut self) {
        // Drop the waker now, because a node may keep the watch for longer. Drop it after the mutex is unlocked,
        // because it may be the last reference to its task.
        let _waiting;
        let mut state = self.reports.state.lock();
        state.is_wanted = false;
        _waiting = state.waiting.take();
        drop(state);
        if let Some(refusal) = &self.reports.refusal {
            refusal.forget_caller();
        }
    }
}

debug_in_part!(QuorumWatch, it => keys: it.reports.keys);

#[cfg(test)]
mod tests;
