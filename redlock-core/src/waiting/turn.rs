//! The turn of a caller, from when it may talk to the nodes until its lease is over.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::model::token::OwnerToken;
use crate::quorum::round::Round;
use crate::quorum::validity::Validity;

use super::left_claim::LeftClaim;
use super::line::Line;
use super::refusal::Refusal;
use super::{LineKey, Lines};

/// The longest pause, whatever the request says, as no node may be able to tell the caller of a release.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A caller's place in a line, and then its right to talk to the nodes for the line. Dropping it leaves the line, and
/// passes the turn on.
pub(crate) struct Turn {
    lines: Arc<Lines>,
    pub(super) line_key: LineKey,
    pub(super) ticket: u64,
    /// Notified when the turn has come, and when the caller with the turn should ask now, without a pause.
    pub(super) woken: Arc<Notify>,
}

/// What became of the claim of a lease that is over.
pub(crate) enum Left {
    /// The release was sent.
    Released(Arc<Round>),
    /// The next caller in line got it.
    HandedOver,
}

impl Turn {
    pub(super) fn new(lines: &Arc<Lines>, line_key: LineKey, ticket: u64) -> Self {
        Self {
            lines: Arc::clone(lines),
            line_key,
            ticket,
            woken: Arc::default(),
        }
    }

    /// Changes the line. `None` if the turn was taken away.
    fn change<T>(&self, change: impl FnOnce(&mut Line) -> T) -> Option<T> {
        let ours = |line: &mut Line| line.has(self.ticket).then(|| change(line));
        self.lines.change(&self.line_key, ours).flatten()
    }

    /// The claim that the last holder left on the nodes, and the number of questions of the break that is due.
    pub(crate) fn begin(&self) -> (Option<LeftClaim>, u32) {
        let begun = self.change(|line| (line.left_claim.take(), line.streak.questions));
        begun.unwrap_or((None, 0))
    }

    /// Records that the nodes are asked `now`, for `timeout` at most. Says whether the caller, and whether a waiter, was in
    /// line when the nodes last refused an attempt. `None` if the turn was taken away.
    pub(crate) fn attempt(&self, now: Moment, timeout: Duration) -> Option<(bool, bool)> {
        // The attempt follows all that this caller was woken for.
        pin!(self.woken.notified()).enable();
        let due = self.lines.due(now, timeout);
        self.change(|line| {
            line.due = due;
            line.were_refused(self.ticket)
        })
    }

    /// Records that a break lasts for `timeout` at most, and for this number of questions.
    pub(crate) fn gives_way(&self, timeout: Duration, questions: u32) {
        let due = self.lines.due(self.lines.context.now(), timeout);
        self.change(|line| {
            line.due = due;
            line.streak.questions = questions;
        });
    }

    /// Records that the nodes refused an attempt, for the callers that want their answer. They get it even
    /// if the turn was taken away meanwhile: the next caller may not have an answer yet.
    pub(crate) fn refused(&self, refusal: &Arc<Refusal>) {
        if refusal.is_held() {
            self.change(|line| line.streak.met_others());
        }
        // What the nodes said before is dropped outside of the lock.
        let refused = |line: &mut Line| line.refused(refusal);
        drop(self.lines.change(&self.line_key, refused));
    }

    /// Waits until `until`, until `free` completes, or until a lock that is alike was released here. "Long pauses" in the
    /// module's documentation says why a pause may end earlier.
    pub(crate) async fn pause(&self, until: Moment, free: impl Future<Output = ()>) {
        let environment = &self.lines.context.environment;
        let longest = environment.jittered(LONGEST_PAUSE);
        let until = until.min(environment.now().saturating_add(longest));
        let due = until.saturating_add(self.lines.grace());
        if self.change(|line| line.due = due).is_none() {
            // Another caller has the turn by now.
            return;
        }
        let woken = async {
            tokio::select! {
                biased;
                () = free => {}
                () = self.woken.notified() => {}
            }
        };
        before(&*environment.clock, until, woken).await;
    }

    /// Records that the lock was acquired with this validity. The lease keeps the turn.
    pub(crate) fn hold(self, validity: &Validity, token: &OwnerToken) -> Self {
        let took = validity.granted_at.saturating_since(validity.acquired_at);
        let forgotten = self.change(|line| {
            line.due = validity.deadline;
            line.holder = Some(token.clone());
            line.streak.holds(validity.granted_at, took);
            line.refusal.take()
        });
        drop(forgotten);
        self
    }

    /// Records that the lock was acquired, and passes the turn on.
    pub(crate) fn pass_on_won(self) {
        drop(self.change(|line| line.refusal.take()));
    }

    /// Records that the lease is valid until `until` now.
    pub(crate) fn prolong(&self, until: Moment) {
        self.change(|line| line.due = until);
    }

    /// The lease is over, and was not lost. If it `hands_over`, the next caller in line gets the claim that is left,
    /// unless other processes must have their chance now. Otherwise the claim is released, and the next caller of
    /// this process lets others go first.
    pub(crate) fn end(self, left_claim: LeftClaim, hands_over: bool) -> Option<Left> {
        let (handover_time, now) = (self.lines.handover_time, self.lines.context.now());
        let mut left_claim = Some(left_claim);
        self.change(|line| {
            let is_followed = !line.waiters.is_empty();
            if hands_over && is_followed && !line.streak.is_spent(handover_time, now) {
                line.left_claim = left_claim.take();
            } else {
                line.streak.ends(is_followed, handover_time, now);
            }
        });
        match left_claim {
            None => Some(Left::HandedOver),
            // Before the turn goes on, as the next caller asks the nodes.
            Some(left_claim) => left_claim.release().map(Left::Released),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.lines.leave(&self.line_key, self.ticket);
    }
}
