//! What else callers and the server bring to the driver, beside calls; and a driver that stands still.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::env::timers::wake;
use crate::node::watch::{KeyReport, Watch};
use crate::node::{Call, Effect, NodeError, NodeErrorKind};

use super::state::InboxState;
use super::{Inbox, Owed};

/// The most watches that wait for the driver. One per lock and process is usual.
const MOST_WATCHES: usize = 16_384;

/// The most owners of lost acquisitions: four times as many as one connection can have in flight. An acquisition that
/// is never released stays among them, so a full set begins anew.
const MOST_LOST: usize = 65_536;

type News = (Vec<Watch>, Vec<Option<Arc<[u8]>>>);

impl Inbox {
    /// See [`Node::watch`](crate::Node::watch). Without a connection, the next one asks for its keys.
    pub(in crate::redis) fn watch(&self, watch: Watch) {
        let mut state = self.state.lock();
        let is_known = state.is_connected;
        if state.watches.len() >= MOST_WATCHES {
            state.watches.retain(Watch::is_wanted);
        }
        if state.watches.len() >= MOST_WATCHES {
            drop(state);
            // The drop reports that nothing is known.
            return drop(watch);
        }
        let unknown = (!is_known).then(|| watch.record(KeyReport::Unknown));
        state.watches.push(watch);
        self.wake(state);
        if let Some(waker) = unknown.flatten() {
            wake(waker);
        }
    }

    /// Keeps these for the next connection.
    pub(in crate::redis) fn keep(&self, watches: Vec<Watch>) {
        for watch in watches {
            watch.report(KeyReport::Unknown);
            self.watch(watch);
        }
    }

    /// The server has sent a message, which says that these keys have changed.
    pub(in crate::redis) fn changed(&self, keys: Vec<Option<Arc<[u8]>>>) {
        let mut state = self.state.lock();
        state.changed.extend(keys);
        self.wake(state);
    }

    fn wake(&self, mut state: parking_lot::MutexGuard<'_, InboxState>) {
        self.has_news.store(true, Ordering::Release);
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// What came since the last look.
    pub(in crate::redis) fn take_news(&self) -> Option<News> {
        if !self.has_news.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut state = self.state.lock();
        let watches = std::mem::take(&mut state.watches);
        Some((watches, std::mem::take(&mut state.changed)))
    }

    /// Remembers the acquisitions among these calls, which lost their answers.
    pub(in crate::redis) fn lost<'a>(&self, calls: impl Iterator<Item = &'a Call>) {
        let takes = calls.filter(|call| call.effect() == Effect::Takes);
        let mut state = self.state.lock();
        for token in takes.filter_map(Call::token) {
            if state.lost.len() == MOST_LOST {
                state.lost.clear();
            }
            state.lost.insert(token.clone());
        }
    }

    /// True if acquisitions have lost their answers.
    pub(in crate::redis) fn has_lost(&self) -> bool {
        !self.state.lock().lost.is_empty()
    }

    /// True if the acquisition that `call` releases has lost its answer, and may still come.
    pub(in crate::redis) fn is_lost(&self, call: &Call) -> bool {
        let state = self.state.lock();
        !state.lost.is_empty() && call.token().is_some_and(|token| state.lost.contains(token))
    }

    /// The acquisition of this release needs no other release. True if others may still come.
    pub(in crate::redis) fn found(&self, release: &Call) -> bool {
        let mut state = self.state.lock();
        state.forget_lost(release);
        !state.lost.is_empty()
    }

    /// The driver goes on in another runtime, with what is queued. `owed` are releases of the connection that ended.
    pub(in crate::redis) fn moves(&self, owed: Vec<Owed>) {
        let mut state = self.state.lock();
        state.outstanding = state.queue.len();
        state.retried = 0;
        for owed in owed {
            state.owe(owed);
        }
    }

    /// The same inbox, whose node votes no if its driver stands still for `after`.
    pub(in crate::redis) fn standing_after(mut self, after: Duration) -> Self {
        self.standing_after = Some(after);
        self
    }

    /// True if the driver has not looked at the oldest call of the queue for long.
    pub(super) fn stands(&self, state: &InboxState) -> bool {
        let Some((after, oldest)) = self.standing_after.zip(state.oldest) else {
            return false;
        };
        !state.queue.is_empty() && oldest.elapsed() >= after
    }
}

pub(super) fn standing() -> NodeError {
    let detail =
        "the runtime on which the locks were initialized does not run: something blocks it";
    NodeError::unsent(NodeErrorKind::TimedOut, detail)
}
