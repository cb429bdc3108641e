//! The turn of a caller, from when it may talk to the nodes until its lease is over.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::model::token::OwnerToken;
use crate::quorum::round::Round;
use crate::quorum::terms::Terms;

use super::left_claim::LeftClaim;
use super::line::{Before, Deferred, Line, Slot};
use super::refusal::Refusal;
use super::{LineKey, Lines};

/// The longest time until the next look in a pause. It doubles with each look in a row at which the caller is blind.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// The right to talk to the nodes for a line. Dropping it passes it on.
pub(crate) struct Turn {
    lines: Arc<Lines>,
    line_key: LineKey,
    /// Zero once the turn was passed on.
    ticket: u64,
    slot: Slot,
    /// The looks in a row at which the caller found that too few nodes would tell it of a release.
    blind_looks: u32,
}

/// What became of the claim of a lease that is over.
pub(crate) enum Left {
    /// The release was sent.
    Released(Arc<Round>),
    /// The next caller in line got it.
    HandedOver,
}

impl Turn {
    /// The turn with `ticket` in the line of `line_key`.
    pub(super) fn new(lines: Arc<Lines>, line_key: LineKey, ticket: u64, slot: Slot) -> Self {
        Self {
            lines,
            line_key,
            ticket,
            slot,
            blind_looks: 0,
        }
    }

    pub(crate) fn line_key(&self) -> &LineKey {
        &self.line_key
    }

    /// The claim that the last holder left on the nodes.
    pub(crate) fn take_left_claim(&mut self) -> Option<LeftClaim> {
        self.slot.left_claim.take()
    }

    /// The questions of the break that is due.
    pub(crate) fn questions(&self) -> u32 {
        self.slot.questions
    }

    /// Changes the line. `None` if the turn was taken away.
    fn change<T>(&self, change: impl FnOnce(&mut Line, &mut Deferred) -> T) -> Option<T> {
        let changed = self.lines.change(&self.line_key, |line, deferred| {
            (line.turn == self.ticket).then(|| change(line, deferred))
        });
        changed.flatten()
    }

    /// Records that the nodes are asked now, for `timeout` at most. `None` if the turn was taken away.
    pub(crate) fn attempt(&self, timeout: Duration) -> Option<Before> {
        let due = self.lines.due(self.lines.context.now(), timeout);
        self.change(|line, _| line.attempt(due))
    }

    /// Records that a break lasts for `timeout` at most, and for this number of questions. Callers that
    /// want the nodes' answer still want it.
    pub(crate) fn gives_way(&mut self, timeout: Duration, questions: u32) {
        self.slot.questions = questions;
        let due = self.lines.due(self.lines.context.now(), timeout);
        self.change(|line, _| line.pauses(due));
    }

    /// Records that the nodes refused an attempt, for the callers that want their answer. They get it even
    /// if the turn was taken away meanwhile: the next caller may not have an answer yet.
    pub(crate) fn refused(&mut self, refusal: &Arc<Refusal>) {
        if refusal.is_held() {
            self.slot.streak.met_others();
        }
        let refusal = Arc::clone(refusal);
        let lines = &self.lines;
        lines.change(&self.line_key, |line, deferred| {
            line.refused(refusal, deferred);
        });
    }

    /// Waits until `until`, until `free` completes, or until a caller in line wants the nodes to be
    /// asked. Now and then the caller looks whether it `is_blind`. If it is, the pause ends
    /// early. "Long pauses" in the module's documentation says why.
    pub(crate) async fn pause<F>(
        &mut self,
        until: Moment,
        is_blind: impl Fn() -> bool,
        mut free: Pin<&mut F>,
    ) where
        F: Future<Output = ()>,
    {
        let lines = Arc::clone(&self.lines);
        let context = &lines.context;
        loop {
            let look = self.next_look(until);
            let due = look.saturating_add(lines.grace());
            let begun = self.change(|line, _| {
                line.pauses(due);
                (line.head(), line.is_retry_wanted())
            });
            // Another caller has the turn by now, or a waiter wants the nodes to be asked.
            let Some((head, false)) = begun else { return };
            let is_free = poll_fn(|context| {
                if free.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
                let now = lines.context.now();
                self.change(|line, deferred| line.votes(now, deferred));
                Poll::Pending
            });
            let paused = async {
                tokio::select! {
                    biased;
                    () = is_free => true,
                    () = head.notified() => false,
                }
            };
            match before(context.clock(), look, paused).await {
                Some(true) => {
                    self.blind_looks = 0;
                    return;
                }
                Some(false) => {}
                None if is_blind() => {
                    self.blind_looks = self.blind_looks.saturating_add(1);
                    return;
                }
                None => self.blind_looks = 0,
            }
            if lines.context.now() >= until {
                return;
            }
        }
    }

    /// The moment of the next look in a pause that lasts until `until`.
    fn next_look(&self, until: Moment) -> Moment {
        let environment = &self.lines.context.environment;
        let doubled = 1_u32.checked_shl(self.blind_looks).unwrap_or(u32::MAX);
        let longest = FIRST_LOOK.saturating_mul(doubled);
        let now = environment.now();
        if until <= now.saturating_add(longest) {
            return until;
        }
        now.saturating_add(environment.jittered(longest))
    }

    /// Records that the lock was acquired on these terms. The lease keeps the turn.
    pub(crate) fn hold(mut self, terms: &Terms, token: &OwnerToken) -> Self {
        let (until, token) = (terms.deadline, token.clone());
        self.change(|line, deferred| line.hold(until, token, deferred));
        let took = terms.granted_at.saturating_since(terms.acquired_at);
        self.slot.streak.holds(terms.granted_at, took);
        self
    }

    /// Records that the lock was acquired, and passes the turn on.
    pub(crate) fn pass_on_won(self) -> Option<Self> {
        self.change(Line::forget_refusal);
        None
    }

    /// Records that the lease is valid until `until` now.
    pub(crate) fn prolong(&self, until: Moment) {
        self.change(|line, _| line.prolong(until));
    }

    /// The lease is over, and was not lost. If it `hands_over`, the next caller in line gets the claim that is left,
    /// unless other processes must have their chance now. Otherwise the claim is released, and the next caller of
    /// this process lets others go first.
    pub(crate) fn end(mut self, left_claim: LeftClaim, hands_over: bool) -> Option<Left> {
        let (lines, now) = (Arc::clone(&self.lines), self.lines.context.now());
        let mut left_claim = Some(left_claim);
        let handover_time = lines.handover_time;
        if hands_over && !self.slot.streak.is_spent(handover_time, now) {
            self.slot.left_claim = left_claim.take();
            match self.pass(now, true) {
                None => return Some(Left::HandedOver),
                Some(slot) => self.slot = slot,
            }
            left_claim = self.slot.left_claim.take();
        }
        // Before the turn goes on, as the next caller asks the nodes.
        let released = left_claim.and_then(LeftClaim::release).map(Left::Released);
        let streak = self.slot.streak;
        self.slot.questions = self.slot.streak.takes_break();
        if let Some(mut slot) = self.pass(now, false)
            && streak.matters(now)
        {
            if !streak.owes_break(handover_time, now) {
                slot = Slot {
                    streak,
                    ..Slot::default()
                };
            }
            let until = now.saturating_add(streak.short_gap());
            lines.remember(&self.line_key, (now, until), slot);
        }
        released
    }

    /// Passes the turn on, with the slot. If no caller waits, returns the slot; then the caller has the turn still if
    /// the line `stays`.
    fn pass(&mut self, now: Moment, stays: bool) -> Option<Slot> {
        let slot = std::mem::take(&mut self.slot);
        let left = self
            .lines
            .pass((&self.line_key, self.ticket), now, slot, stays);
        if left.is_none() || !stays {
            self.ticket = 0;
        }
        left
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // A turn that was passed on reads no clock.
        if self.ticket != 0 {
            self.pass(self.lines.context.now(), false);
        }
    }
}
