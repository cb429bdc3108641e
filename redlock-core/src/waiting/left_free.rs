//! Leaving a lock free for clients that poll.
//!
//! A client of another library asks for a held lock again after a pause of its own, and no node tells it
//! of a release. Callers of this library hand the lock over, or are told of its release within a round
//! trip. So the lock is almost never free when such a client asks. With
//! [`Settings::reacquire_delay`](crate::Settings::reacquire_delay), no caller of this process asks for a
//! lock for that time after a release by a client of this library, in this process or in another one that
//! was seen to hold it. After a release by any other client there is no delay: that client had its turn.
//!
//! The delay only postpones attempts, so exclusion does not rely on it. It is in the place of hand-overs
//! and of breaks.

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::Moment;
use crate::model::resource::Resource;
use crate::node::{Holding, Obstacle};

use super::budget::RetryBudget;
use super::refusal::Refusal;
use super::{ChangeWatch, Lines, Turn};

/// The number of locks from which on those whose delay is over are forgotten.
const FEW: usize = 64;

/// The locks that are left free for now.
pub(crate) struct LeftFree {
    delay: Duration,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    until: HashMap<Resource, Moment>,
    /// The number of locks at which those are forgotten whose delay is over.
    forgets_at: usize,
}

impl LeftFree {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            delay,
            known: Mutex::default(),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        !self.delay.is_zero()
    }

    /// The lock of `keys` was released `now`, by a client of this library.
    pub(super) fn released(&self, keys: &Resource, now: Moment) {
        if !self.is_on() {
            return;
        }
        let mut known = self.known.lock();
        if known.until.len() >= known.forgets_at.max(FEW) {
            known.until.retain(|_, until| *until > now);
            known.forgets_at = 2 * known.until.len();
        }
        let until = now.saturating_add(self.delay);
        known.until.insert(keys.clone(), until);
    }

    /// A client of another library has had the lock of `keys`.
    fn was_had(&self, keys: &Resource) {
        let _forgotten = self.known.lock().until.remove_entry(keys);
    }

    /// The moment until which no caller asks for the lock of `keys`, if it is later than `now`.
    fn until(&self, keys: &Resource, now: Moment) -> Option<Moment> {
        if !self.is_on() {
            return None;
        }
        let until = self.known.lock().until.get(keys).copied();
        until.filter(|until| *until > now)
    }

    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.known.lock().until.len()
    }
}

impl Lines {
    /// True if released locks are left free for clients that poll.
    pub(crate) fn leaves_free(&self) -> bool {
        self.left_free.is_on()
    }
}

impl Turn {
    /// The holder that `refusal` names has released the lock. The lock is left free if that was a client of this
    /// library.
    pub(crate) fn came_free_from(&self, refusal: &Refusal) {
        let (left_free, keys) = (&self.lines.left_free, &self.line_key.keys);
        if !left_free.is_on() {
            return;
        }
        let is_ours =
            |held: Holding| held.owner().is_some() || held.obstacle() == Obstacle::Readers;
        if refusal.held_by().is_some_and(is_ours) {
            left_free.released(keys, self.lines.context.now());
        } else {
            left_free.was_had(keys);
        }
    }

    /// The moment until which the lock is left free, unless it has passed.
    pub(crate) fn left_free_until(&self) -> Option<Moment> {
        if !self.lines.leaves_free() {
            return None;
        }
        let now = self.lines.context.now();
        self.lines.left_free.until(&self.line_key.keys, now)
    }

    /// Waits until `until`, or until the caller's last attempt is due, or until a caller in line wants to
    /// know what the nodes say. Once another client has come, there is nothing left to wait for: the
    /// caller is refused, and told of the release.
    ///
    /// # Cancellation
    /// The turn is passed on when it is dropped, and the delay is over at the same moment for the next one.
    pub(crate) async fn leave_free(&self, until: Moment, budget: &RetryBudget<'_>) {
        let last = budget.last_attempt();
        let until = last.map_or(until, |last| until.min(last));
        let watch = ChangeWatch::begin(&self.line_key.nodes, self.line_key.keys.clone());
        let another_comes = pin!(async {
            // The first report of a node says how the key is.
            watch.changed().await;
            watch.changed().await;
        });
        if self.pause(until, another_comes).await {
            self.lines.left_free.was_had(&self.line_key.keys);
        }
        self.attempt(self.lines.context.node_timeout);
    }
}
