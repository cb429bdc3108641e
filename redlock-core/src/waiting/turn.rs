//! Turns: the right of one caller in line to ask the nodes, until its lease ends.

use std::future::{Future, pending};
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::model::token::{OwnerId, OwnerToken};
use crate::quorum::lock_protocol::LinePlace;
use crate::quorum::round::Round;
use crate::quorum::validity::Validity;

use super::handed_claim::HandedClaim;
use super::line::{Line, LineState, Ticket};
use super::lines::Lines;
use super::quorum_watch::QuorumWatch;
use super::refused_attempt::RefusedAttempt;

/// The longest pause of any request. Nodes may fail to report a release, so a longer pause could miss it.
const LONGEST_TURN_PAUSE: Duration = Duration::from_secs(2);

/// A caller's place in a line, and then its right to ask the nodes. Dropping the turn leaves the line and passes the
/// turn on.
pub(crate) struct Turn {
    pub(super) lines: Arc<Lines>,
    pub(super) line: Arc<Line>,
    pub(super) ticket: Ticket,
}

/// The outcome of ending a lease: what became of its claim.
pub(crate) enum ClaimOutcome {
    /// The release was sent.
    Released(Arc<Round>),
    /// The next caller in line got the claim.
    HandedOver,
}

impl Turn {
    /// Changes the state of the line. Returns `None` if the turn was taken away.
    fn change<T>(&self, change: impl FnOnce(&mut LineState) -> T) -> Option<T> {
        let mut line = self.line.state.lock();
        line.has(self.ticket.number).then(|| change(&mut line))
    }

    /// Takes the claim that the last holder handed to this caller.
    pub(crate) fn take_handed_claim(&self) -> Option<HandedClaim> {
        self.change(|line| line.handed_claim.take()).flatten()
    }

    /// Returns the number of questions in the break that is due.
    pub(crate) fn questions_due(&self) -> u32 {
        self.change(|line| line.share.questions_due).unwrap_or(0)
    }

    /// Records that a break has `questions` left and lasts for `timeout` at most. Called before each question, so that
    /// a caller that takes the turn over asks only the questions that are left.
    pub(crate) fn set_questions_due(&self, questions: u32, timeout: Duration) {
        let now = self.lines.context.now();
        let deadline = self.lines.step_deadline(now, timeout);
        self.change(|line| {
            line.deadline = deadline;
            line.share.questions_due = questions;
        });
    }

    /// Records that an attempt begins `now`. Returns the caller's place in line, or `None` if the turn was taken away.
    pub(crate) fn start_attempt(&self, now: Moment) -> Option<LinePlace> {
        // Use up an earlier wake-up, which would cut the next pause short.
        pin!(self.ticket.woken.notified()).enable();
        let timeout = self.lines.context.node_timeout;
        let deadline = self.lines.step_deadline(now, timeout);
        self.change(|line| {
            line.deadline = deadline;
            line.take_place(self.ticket.number)
        })
    }

    /// Shares a refused attempt with the callers in line that want the nodes' answer. Records the refusal even after
    /// the turn was lost, because the new caller with the turn may have no answer yet.
    pub(crate) fn record_refusal(&self, refusal: &Arc<RefusedAttempt>) {
        // Callers of this process may hold all permits, so only other refusals prove another process.
        let is_held = refusal.is_held() && refusal.lock.protocol.permits().is_none();
        let (holder, now) = (refusal.holder(), self.lines.context.now());
        let mut line = self.line.state.lock();
        if is_held && line.has(self.ticket.number) {
            line.share.record_others();
            self.record_rivals(&mut line, holder);
        }
        let replaced = line.record_refusal(refusal, now);
        drop(line);
        drop(replaced);
    }

    /// Records the other processes that had the lock since the last call, as seen by `watch`.
    pub(crate) fn record_seen(&self, watch: &QuorumWatch) {
        let holders = watch.take_holders();
        self.change(|line| self.record_rivals(line, holders));
    }

    fn record_rivals(&self, line: &mut LineState, holders: impl IntoIterator<Item = OwnerId>) {
        let own = OwnerId::of(&self.lines.context.owner);
        let rivals = holders.into_iter().filter(|holder| *holder != own);
        rivals.for_each(|rival| line.share.rivals.record_served(rival));
    }

    /// Completes when the lock is free and the processes served longer ago had time to ask. `watch` reports a free
    /// lock.
    pub(crate) async fn until_first(&self, watch: &QuorumWatch) {
        let environment = &self.lines.context.environment;
        loop {
            watch.until_free().await;
            self.record_seen(watch);
            let deferral = self.change(|line| line.share.defer()).unwrap_or_default();
            let asks_at = environment.now().saturating_add(deferral);
            environment.clock.sleep_until(asks_at).await;
            if watch.is_free() {
                return;
            }
        }
    }

    /// Waits after a grant to this process until it releases a permit. The wait ends at `quiet_until` of the line, or at
    /// `last_attempt` if that is earlier. The nodes would refuse an earlier attempt, because this process has all
    /// permits, or they just refused it all others.
    pub(crate) async fn pause_after_grant(&self, last_attempt: Option<Moment>) {
        let until = self.change(|line| mem::take(&mut line.quiet_until));
        let until = last_attempt.map_or(until, |last| until.min(Some(last)));
        if let Some(until) = until.filter(|it| *it > self.lines.context.now()) {
            self.pause(until, pending()).await;
        }
    }

    /// Pauses until `until`, until `free` completes, or until this process releases a permit. "Long pauses" in
    /// the documentation of the lines says why a pause may end earlier.
    pub(crate) async fn pause(&self, until: Moment, free: impl Future<Output = ()>) {
        let environment = &self.lines.context.environment;
        let longest = environment.jittered(LONGEST_TURN_PAUSE);
        let until = until.min(environment.now().saturating_add(longest));
        let deadline = self.lines.step_deadline(until, Duration::ZERO);
        if self.change(|line| line.deadline = deadline).is_none() {
            // The turn was taken away, so another caller has it now.
            return;
        }
        let woken = async {
            tokio::select! {
                biased;
                () = free => {}
                () = self.ticket.woken.notified() => {}
            }
        };
        before(&*environment.clock, until, woken).await;
    }

    /// Returns the time that the nodes took to grant the lock. The time is at most the node timeout, because a future
    /// that is polled late looks like slow nodes.
    fn grant_time(&self, validity: &Validity) -> Duration {
        let took = validity.granted_at.saturating_since(validity.attempt_began);
        took.min(self.lines.context.node_timeout)
    }

    /// Records that the lock was acquired with this validity. The lease keeps the turn.
    pub(crate) fn keep(self, validity: &Validity, token: &OwnerToken) -> Self {
        let took = self.grant_time(validity);
        let forgotten = self.change(|line| {
            line.deadline = validity.deadline;
            line.holder = Some(token.clone());
            line.share.record_acquired(validity.granted_at, took);
            line.refusal.take()
        });
        drop(forgotten);
        self
    }

    /// Records that the lock was acquired with this validity, and passes the turn on. An attempt that `is_in_streak`
    /// continues the streak, and any other attempt begins a new one. The next caller waits for a release here if the
    /// process has all `permits`, or took again all that it released in the streak.
    pub(crate) fn pass_on(self, validity: &Validity, is_in_streak: bool, permits: Option<u16>) {
        let took = self.grant_time(validity);
        let forgotten = self.change(|line| {
            if !is_in_streak {
                line.share.forget();
            }
            line.share.record_acquired(validity.granted_at, took);
            line.permits_held += 1;
            let has_all = permits.is_some_and(|permits| line.permits_held >= permits.into());
            if has_all || is_in_streak && line.released == 0 {
                line.quiet_until = line.share.quiet_until(validity.granted_at);
            }
            line.refusal.take()
        });
        drop(forgotten);
    }

    /// Records that the lease is now valid until `until`.
    pub(crate) fn prolong(&self, until: Moment) {
        self.change(|line| line.deadline = until);
    }

    /// Ends the turn `now`, together with a lease that was not lost. If the lease `hands_over`, the next caller in line gets
    /// the claim, unless other processes must have their chance now. Otherwise the claim is released, and the next
    /// caller of this process lets others go first.
    pub(crate) fn end(
        self,
        claim: HandedClaim,
        hands_over: bool,
        now: Moment,
    ) -> Option<ClaimOutcome> {
        let mut claim = Some(claim);
        self.change(|line| {
            let is_followed = !line.waiters.is_empty();
            if hands_over && line.share.may_hand_over(is_followed, now) {
                line.handed_claim = claim.take();
            } else {
                line.share.record_release(is_followed, now);
            }
        });
        match claim {
            None => Some(ClaimOutcome::HandedOver),
            // Send the release first, and drop the turn then: the next caller's calls follow on each connection.
            Some(claim) => claim.release().map(ClaimOutcome::Released),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.lines.leave(self);
    }
}
