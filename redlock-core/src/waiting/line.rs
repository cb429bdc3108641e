//! One line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use crate::env::Moment;
use crate::model::token::OwnerToken;

use super::fairness::Fairness;
use super::refusal::Refusal;
use super::{LinePoll, TurnHandoff};

/// Every held lock has a `Line`, so it is small while no caller waits.
pub(super) struct Line {
    /// The ticket of the caller with the turn; 0 if the line is idle.
    pub(super) turn: u64,
    pub(super) status: TurnStatus,
    pub(super) waiters: Option<Box<Waiters>>,
}

/// The state of the caller with the turn.
pub(super) enum TurnStatus {
    /// The caller asks the nodes, or pauses between two attempts. `due` is its deadline for the next
    /// step.
    Trying { due: Moment },
    /// The caller with the turn has the lock.
    Holding { until: Moment, token: OwnerToken },
    /// The caller has left, and no other has come since.
    Idle(Idle),
}

/// State of a line without callers.
#[derive(Clone, Copy)]
pub(super) struct Idle {
    pub(super) until: Moment,
    /// The break for the next caller, in rounds.
    pub(super) rounds: u32,
    /// The fairness state for the next caller.
    pub(super) fairness: Fairness,
}

#[derive(Default)]
pub(super) struct Waiters {
    /// The waiters, in the order in which they came.
    by_ticket: BTreeMap<u64, Option<Waker>>,
    /// The handoff for the caller with the turn, until that caller takes it.
    handoff: Option<TurnHandoff>,
    /// Of the attempts that the nodes refused since the lock was last acquired here, the two that began last,
    /// the newer one first. The older one may be the only one whose votes are complete: after a short pause
    /// the nodes are asked again before all have answered.
    refusals: Refusals,
    /// The last waiter that was in line when the nodes refused an attempt.
    refused: u64,
    /// Some of the waiters want to know what the nodes say.
    is_answer_wanted: bool,
    /// True if the caller with the turn should ask the nodes now, without a pause.
    pub(super) is_retry_wanted: bool,
    /// The waker of the caller with the turn, while it pauses.
    pub(super) head: Option<Waker>,
}

type Refusals = [Option<Arc<Refusal>>; 2];

/// The caller with the turn should ask the nodes now.
pub(super) struct IsWanted;

/// The answer to a caller whose budget is used up.
pub(crate) enum LastKnown {
    /// Another caller of this process has the lock, and for how long it is valid.
    Held(OwnerToken, Moment),
    /// The nodes refused an attempt of another caller.
    Refused(Arc<Refusal>),
}

/// Keeps `own`, unless the kept waker wakes the same task. The caller drops what is left in `own`.
fn keep(kept: &mut Option<Waker>, own: &mut Option<Waker>) {
    let is_known = match (&kept, &own) {
        (Some(kept), Some(own)) => kept.will_wake(own),
        _ => false,
    };
    if !is_known {
        std::mem::swap(kept, own);
    }
}

impl Line {
    pub(super) fn new(turn: u64, due: Moment) -> Self {
        Self {
            turn,
            status: TurnStatus::Trying { due },
            waiters: None,
        }
    }

    /// Gives the turn to the caller with `ticket` if the line is idle.
    pub(super) fn take_idle(&mut self, ticket: u64, due: Moment) -> Option<TurnHandoff> {
        let TurnStatus::Idle(Idle {
            rounds, fairness, ..
        }) = self.status
        else {
            return None;
        };
        self.turn = ticket;
        self.status = TurnStatus::Trying { due };
        Some(TurnHandoff {
            left_claim: None,
            fairness,
            rounds,
        })
    }

    pub(super) fn waiters(&mut self) -> &mut Waiters {
        self.waiters.get_or_insert_default()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiters
            .as_ref()
            .map_or(0, |waiters| waiters.by_ticket.len())
    }

    /// True if the waiter with `ticket` was in line when the nodes last refused an attempt.
    pub(super) fn was_refused(&self, ticket: u64) -> bool {
        let waiters = self.waiters.as_ref();
        waiters.is_some_and(|waiters| ticket <= waiters.refused)
    }

    /// True if a caller waits that was in line when the nodes last refused an attempt.
    pub(super) fn is_followed(&self) -> bool {
        self.waiters.as_ref().is_some_and(|waiters| {
            let first = waiters.by_ticket.first_key_value();
            first.is_some_and(|(first, _)| *first <= waiters.refused)
        })
    }

    pub(super) fn join(&mut self, ticket: u64) {
        self.waiters().by_ticket.insert(ticket, None);
    }

    /// Takes a waiter out of the line. Returns its waker.
    pub(super) fn leave(&mut self, ticket: u64) -> Option<Waker> {
        self.waiters().by_ticket.remove(&ticket).flatten()
    }

    /// The handoff for the caller with the turn.
    pub(super) fn take_handoff(&mut self) -> TurnHandoff {
        self.waiters().handoff.take().unwrap_or_default()
    }

    /// See [`Lines::look`](super::Lines::look). Also returns the wakers to wake. The caller drops what
    /// is left in `own`: its waker, and the waker that it left here earlier.
    pub(super) fn look(
        &mut self,
        ticket: u64,
        [own, left]: [&mut Option<Waker>; 2],
        gives_up: Option<Moment>,
        (now, due): (Moment, Moment),
    ) -> (LinePoll, [Option<Waker>; 2]) {
        if self.turn == ticket {
            return (LinePoll::Turn(self.take_handoff()), [const { None }; 2]);
        }
        let mut over_at = match &self.status {
            TurnStatus::Trying { due } => *due,
            TurnStatus::Holding { until, .. } => *until,
            // No caller has the turn in this state.
            TurnStatus::Idle(_) => now,
        };
        let waiters = self.waiters.get_or_insert_default();
        // A caller that lost its turn stands at its old place.
        waiters.by_ticket.entry(ticket).or_default();
        let first = waiters.by_ticket.first_key_value().map(|(first, _)| *first);
        if over_at <= now {
            // The turn was not used in time.
            let (handoff, head) = (self.take_handoff(), self.waiters().head.take());
            if first == Some(ticket) {
                *left = self.leave(ticket);
                self.turn = ticket;
                self.status = TurnStatus::Trying { due };
                return (LinePoll::Turn(handoff), [head, None]);
            }
            // Gives the turn to the first waiter. If that one is not polled either, a later waiter passes
            // the turn on.
            let [next_waker, _] = self.pass(due, handoff);
            keep(self.waiters().by_ticket.entry(ticket).or_default(), own);
            return (LinePoll::Wait(due), [head, next_waker]);
        }
        let waiters = self.waiters.get_or_insert_default();
        if let Some(gives_up) = gives_up {
            let last_known = match &self.status {
                TurnStatus::Holding { until, token } => Ok(LastKnown::Held(token.clone(), *until)),
                _ => waiters.refusal(gives_up, now).map(LastKnown::Refused),
            };
            match last_known {
                Ok(last_known) => {
                    return (LinePoll::LastKnown(last_known), [const { None }; 2]);
                }
                Err(ends) => over_at = over_at.min(ends),
            }
            waiters.is_answer_wanted = true;
        }
        // A waiter that is not the first watches the deadline as well.
        keep(waiters.by_ticket.entry(ticket).or_default(), own);
        (LinePoll::Wait(over_at), [const { None }; 2])
    }

    /// True if no majority of the nodes answered the last attempt of the caller with the turn.
    pub(super) fn is_unanswered(&self, now: Moment) -> bool {
        let is_trying = matches!(self.status, TurnStatus::Trying { .. });
        let refusals = self.waiters.as_ref().map(|waiters| &waiters.refusals);
        let newer = refusals.and_then(|[newer, _]| newer.as_ref());
        is_trying && newer.is_some_and(|newer| newer.is_unanswered(now))
    }

    /// Gives the turn to the first waiter. Returns its waker, and the waker of the old holder of the
    /// turn, for the caller to drop.
    pub(super) fn pass(&mut self, due: Moment, handoff: TurnHandoff) -> [Option<Waker>; 2] {
        let waiters = self.waiters();
        let Some((ticket, waker)) = waiters.by_ticket.pop_first() else {
            return [None, None];
        };
        waiters.handoff = Some(handoff);
        let head = waiters.head.take();
        self.turn = ticket;
        self.status = TurnStatus::Trying { due };
        [waker, head]
    }

    /// The caller with the turn has the lock. Returns the wakers of the callers that wait for that
    /// news, and the refusals that are forgotten for it, for the caller to drop.
    pub(super) fn hold(&mut self, until: Moment, token: OwnerToken) -> (Vec<Waker>, Refusals) {
        self.status = TurnStatus::Holding { until, token };
        (self.answer_wakers(), self.forget_refusals())
    }

    /// The lock was acquired: what nodes said before tells callers in line nothing. Returns what is forgotten,
    /// for the caller to drop.
    pub(super) fn forget_refusals(&mut self) -> Refusals {
        let waiters = self.waiters.as_mut();
        let refusals = waiters.map(|waiters| std::mem::take(&mut waiters.refusals));
        refusals.unwrap_or_default()
    }

    pub(super) fn prolong(&mut self, later: Moment) {
        if let TurnStatus::Holding { until, .. } = &mut self.status {
            *until = later;
        }
    }

    /// The nodes refused an attempt. Returns the wakers of the callers that wait for that news, and the
    /// refusal that is forgotten for it, for the caller to drop.
    pub(super) fn refused(&mut self, refusal: Arc<Refusal>) -> (Vec<Waker>, Option<Arc<Refusal>>) {
        let mut refused = Some(refusal);
        let began = |refusal: &Option<Arc<Refusal>>| refusal.as_ref().map(|it| it.began);
        let waiters = self.waiters();
        let last = waiters.by_ticket.last_key_value();
        waiters.refused = last.map_or(waiters.refused, |(last, _)| *last);
        // A caller that lost the turn may report its attempt after the attempt of a later caller.
        for kept in &mut waiters.refusals {
            if began(kept) <= began(&refused) {
                std::mem::swap(kept, &mut refused);
            }
        }
        (self.answer_wakers(), refused)
    }

    fn answer_wakers(&mut self) -> Vec<Waker> {
        let Some(waiters) = &mut self.waiters else {
            return Vec::new();
        };
        if !std::mem::take(&mut waiters.is_answer_wanted) {
            return Vec::new();
        }
        // Each waiter leaves its waker again when it looks.
        let wakers = waiters.by_ticket.values_mut();
        wakers.filter_map(Option::take).collect()
    }

    /// The caller with the turn lets others go first, until `due` at most. Returns its waker of an earlier
    /// pause, for the caller to drop.
    pub(super) fn gives_way(&mut self, due: Moment) -> Option<Waker> {
        self.status = TurnStatus::Trying { due };
        self.waiters.as_mut()?.head.take()
    }

    /// The caller with the turn asks the nodes, until `due` at most. Returns its waker of an earlier pause,
    /// for the caller to drop.
    pub(super) fn attempt(&mut self, due: Moment) -> Option<Waker> {
        self.status = TurnStatus::Trying { due };
        let waiters = self.waiters.as_mut()?;
        waiters.is_retry_wanted = false;
        waiters.head.take()
    }

    /// The caller with the turn pauses, unless it should ask now. The caller drops what is left in
    /// `own`, its waker. Returns the wakers of the callers that wait for the votes that were missing when
    /// the last attempt was decided, if these votes have come.
    pub(super) fn pause(
        &mut self,
        due: Moment,
        now: Moment,
        own: &mut Option<Waker>,
    ) -> Result<Vec<Waker>, IsWanted> {
        self.status = TurnStatus::Trying { due };
        let waiters = self.waiters();
        if waiters.is_retry_wanted {
            return Err(IsWanted);
        }
        keep(&mut waiters.head, own);
        let [newer, _] = &waiters.refusals;
        if newer.as_ref().is_some_and(|newer| newer.is_settled(now)) {
            return Ok(self.answer_wakers());
        }
        Ok(Vec::new())
    }
}

impl Waiters {
    /// The refusal that answers a caller which gives up at `gives_up`, or the moment until which the caller
    /// waits for an answer.
    fn refusal(&self, gives_up: Moment, now: Moment) -> Result<Arc<Refusal>, Moment> {
        let [newer, older] = &self.refusals;
        let Some(newer) = newer else {
            return Err(gives_up);
        };
        let older = older.as_ref().filter(|older| older.is_held());
        if newer.is_settled(now) {
            return Ok(Arc::clone(newer));
        }
        match older {
            Some(older) => Ok(Arc::clone(older)),
            None if gives_up <= now => Ok(Arc::clone(newer)),
            None => Err(newer.ends()),
        }
    }
}
