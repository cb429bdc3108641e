//! The turn of a caller, from when it may talk to the nodes until its lease is over.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::env::Moment;
use crate::env::caught::wake;
use crate::env::timeout::before;
use crate::model::token::OwnerToken;
use crate::quorum::terms::Terms;

use super::fairness::{Fairness, mark};
use super::handover::LeftClaim;
use super::line::{Idle, IsWanted, Line};
use super::refusal::Refusal;
use super::{IfNobodyWaits, LineKey, Lines, TurnHandoff};

/// The longest time until the next look in a pause. It doubles with each look in a row at which the caller is blind.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// The right to talk to the nodes for a line. Dropping it passes it on.
pub(crate) struct Turn {
    pub(super) lines: Arc<Lines>,
    pub(super) line_key: LineKey,
    /// Zero once the turn was passed on.
    ticket: u64,
    fairness: Fairness,
    /// The rounds of a break that are left for the next caller, if this one leaves.
    rounds: u32,
    /// The looks in a row at which the caller found that too few nodes would tell it of a release.
    blind_looks: u32,
}

impl Turn {
    /// The turn with `ticket` in the line of `line_key`.
    pub(super) fn new(
        lines: Arc<Lines>,
        line_key: LineKey,
        ticket: u64,
        fairness: Fairness,
    ) -> Self {
        Self {
            lines,
            line_key,
            ticket,
            fairness,
            rounds: 0,
            blind_looks: 0,
        }
    }

    pub(crate) fn line_key(&self) -> &LineKey {
        &self.line_key
    }

    /// `None` if the turn was taken away.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Line) -> T) -> Option<T> {
        self.lines.with_turn(&self.line_key, self.ticket, change)
    }

    /// True if the caller was in line when the nodes last refused an attempt.
    pub(crate) fn was_refused(&self) -> bool {
        let was_refused = |line: &mut Line| line.was_refused(self.ticket);
        self.change(was_refused).unwrap_or(true)
    }

    /// True if a caller waits that was in line when the nodes last refused an attempt.
    pub(crate) fn is_followed(&self) -> bool {
        self.change(|line| line.is_followed()).unwrap_or(false)
    }

    /// Records that the nodes are asked now, for `timeout` at most. False if the turn was taken away.
    pub(crate) fn attempt(&self, timeout: Duration) -> bool {
        let due = self.lines.due(timeout);
        self.change(|line| line.attempt(due)).is_some()
    }

    /// Records that a break lasts for `timeout` at most, and for this number of rounds. Callers that
    /// want the nodes' answer still want it.
    pub(crate) fn gives_way(&mut self, timeout: Duration, rounds: u32) {
        self.rounds = rounds;
        let due = self.lines.due(timeout);
        self.change(|line| line.gives_way(due));
    }

    /// Records that the nodes refused an attempt, for the callers that want their answer. They get it even
    /// if the turn was taken away meanwhile: the next caller may not have an answer yet.
    pub(crate) fn refused(&mut self, refusal: &Arc<Refusal>) {
        if let Some(holding) = refusal.held_by() {
            let who = holding.owner().map(mark);
            self.fairness.met_rivals(who);
        }
        let refusal = Arc::clone(refusal);
        let refused = |line: &mut Line| line.refused(refusal);
        if let Some((concerned, _forgotten)) = self.lines.with_line(&self.line_key, refused) {
            concerned.into_iter().for_each(wake);
        }
    }

    /// Says that others have the lock, who came in a break.
    pub(crate) fn met_rivals(&mut self) {
        self.fairness.met_rivals(None);
    }

    /// Says that no other process came in a break.
    pub(crate) fn nobody_came(&mut self) {
        self.fairness.nobody_came();
    }

    /// Records that the lock of another process has come free. Returns the length of a break for
    /// processes that had the lock longer ago; zero if the next attempt is `due` anyway.
    pub(crate) fn comes_free(&mut self, due: Moment) -> u32 {
        if !self.line_key.kind.excludes_its_like() {
            return 0;
        }
        let rounds = self.fairness.comes_free();
        if due <= self.lines.context.now() {
            return 0;
        }
        rounds
    }

    /// Waits until `until`, until `free` completes, or until a caller in line wants the nodes to be
    /// asked. True if `free` completed.
    pub(crate) async fn pause<F>(&self, until: Moment, mut free: Pin<&mut F>) -> bool
    where
        F: Future<Output = ()>,
    {
        let due = until.saturating_add(self.lines.grace());
        let wanted = poll_fn(|context| {
            if free.as_mut().poll(context).is_ready() {
                return Poll::Ready(true);
            }
            let mut own = Some(context.waker().clone());
            let now = self.lines.context.now();
            match self.change(|line| line.pause(due, now, &mut own)) {
                // Or another caller has the turn by now.
                None | Some(Err(IsWanted)) => Poll::Ready(false),
                Some(Ok(concerned)) => {
                    concerned.into_iter().for_each(wake);
                    Poll::Pending
                }
            }
        });
        let clock = self.lines.context.clock();
        before(clock, until, wanted).await.unwrap_or(false)
    }

    /// Like [`pause`](Self::pause), but now and then the caller looks whether it `is_blind`. If it is, the pause ends
    /// early. "Long pauses" in the module's documentation says why.
    pub(crate) async fn pause_looking<F>(
        &mut self,
        until: Moment,
        is_blind: impl Fn() -> bool,
        mut free: Pin<&mut F>,
    ) -> bool
    where
        F: Future<Output = ()>,
    {
        loop {
            let look = self.next_look(until);
            if self.pause(look, free.as_mut()).await {
                self.blind_looks = 0;
                return true;
            }
            if self.lines.context.now() < look {
                return false;
            }
            let is_blind = is_blind();
            self.blind_looks = if is_blind {
                self.blind_looks.saturating_add(1)
            } else {
                0
            };
            if is_blind || look == until {
                return false;
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
        if let Some((concerned, _forgotten)) = self.change(|line| line.hold(until, token)) {
            concerned.into_iter().for_each(wake);
        }
        let took = terms.granted_at.saturating_since(terms.acquired_at);
        self.fairness.holds(self.lines.context.now(), took);
        self
    }

    /// Records that the lock was acquired, and passes the turn on.
    pub(crate) fn pass_on_won(self) {
        let _forgotten = self.change(Line::forget_refusals);
    }

    /// Records that the lease is valid until `until` now.
    pub(crate) fn prolong(&self, until: Moment) {
        self.change(|line| line.prolong(until));
    }

    /// The lease ends, and was not lost: the next caller in line gets the left claim, unless other
    /// processes must have their chance now. Returns the claim if no caller gets it: it is to be
    /// released, and then the turn to be [ended](Self::end).
    pub(crate) fn hand_over(&mut self, left_claim: LeftClaim) -> Option<LeftClaim> {
        let fairness = self.fairness;
        let now = self.lines.context.now();
        if fairness.must_yield(&self.lines.handover, now) {
            return Some(left_claim);
        }
        let mut left_claim = Some(left_claim);
        self.pass_at(now, IfNobodyWaits::Stay, || TurnHandoff {
            left_claim: left_claim.take(),
            fairness: fairness.with_hand_over(),
            rounds: 0,
        });
        left_claim
    }

    /// The lease was released. Whoever is next lets others go first.
    pub(crate) fn end(mut self) {
        let fairness = self.fairness;
        let now = self.lines.context.now();
        let alone = fairness.is_alone(&self.lines.handover, now);
        let if_nobody_waits = alone.map_or(IfNobodyWaits::Forget, |(rounds, fairness)| {
            let until = now.saturating_add(fairness.short_gap());
            IfNobodyWaits::Keep(Idle {
                until,
                rounds,
                fairness,
            })
        });
        self.pass_at(now, if_nobody_waits, || {
            let (rounds, fairness) = fairness.takes_break();
            TurnHandoff {
                left_claim: None,
                fairness,
                rounds,
            }
        });
    }

    /// Passes the turn on with all that came with it.
    pub(super) fn decline(&mut self, handoff: TurnHandoff) {
        self.pass(IfNobodyWaits::Forget, || handoff);
    }

    fn pass(&mut self, if_nobody_waits: IfNobodyWaits, handoff: impl FnOnce() -> TurnHandoff) {
        // A turn that was passed on reads no clock.
        if self.ticket != 0 {
            let now = self.lines.context.now();
            self.pass_at(now, if_nobody_waits, handoff);
        }
    }

    fn pass_at(
        &mut self,
        now: Moment,
        if_nobody_waits: IfNobodyWaits,
        handoff: impl FnOnce() -> TurnHandoff,
    ) {
        if self.ticket != 0 {
            let (lines, of) = (&self.lines, (&self.line_key, self.ticket));
            let due = lines.due_from(now, lines.context.node_timeout);
            let is_passed = lines.pass(of, due, if_nobody_waits, handoff);
            if is_passed || !matches!(if_nobody_waits, IfNobodyWaits::Stay) {
                self.ticket = 0;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let fairness = self.fairness.reset();
        let rounds = self.rounds;
        self.pass(IfNobodyWaits::Forget, || TurnHandoff {
            left_claim: None,
            fairness,
            rounds,
        });
    }
}
