//! One line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use crate::env::Moment;
use crate::error::AcquireError;
use crate::model::token::OwnerToken;

use super::fairness::Fairness;
use super::{LinePoll, TurnHandoff};

/// Small where nobody waits: every lock that is held has one.
pub(super) struct Line {
    /// Whose turn it is.
    pub(super) turn: u64,
    pub(super) status: TurnStatus,
    pub(super) waiters: Option<Box<Waiters>>,
}

/// What the one whose turn it is has come to.
pub(super) enum TurnStatus {
    /// It asks the nodes, or pauses between two attempts. `due` is by when it has to have done
    /// something.
    Trying { due: Moment },
    /// It has the lock.
    Holding { until: Moment, token: OwnerToken },
    /// It has left, and nobody has come since.
    Idle(Idle),
}

/// State of a line without callers.
#[derive(Clone, Copy)]
pub(super) struct Idle {
    pub(super) until: Moment,
    /// For whoever comes before: how long a break others are to have,
    pub(super) rounds: u32,
    /// and what went before.
    pub(super) fairness: Fairness,
}

#[derive(Default)]
pub(super) struct Waiters {
    /// In the order in which they came.
    by_ticket: BTreeMap<u64, Option<Waker>>,
    /// For the one whose turn it is now, until it takes it.
    handoff: Option<TurnHandoff>,
    /// What the nodes last said.
    refusal: Option<Refusal>,
    /// Some of the waiters want to know what the nodes say.
    is_answer_wanted: bool,
    /// The one whose turn it is should ask the nodes again, without waiting any longer.
    is_retry_wanted: bool,
    /// The one whose turn it is, while it pauses.
    head: Option<Waker>,
}

/// Shared with those who are told of it, as it is copied for nobody under the lock of the lines.
pub(super) struct Refusal {
    began: Moment,
    error: Arc<AcquireError>,
}

/// Somebody in line wants to know what the nodes say.
pub(super) struct IsWanted;

/// When one in line looks.
#[derive(Clone, Copy)]
pub(super) struct PollTimes {
    pub(super) now: Moment,
    /// By when it has to have done something, if it is its turn.
    pub(super) due: Moment,
    /// By when the one whose turn it is has to have asked the nodes, if it was told to ask now.
    pub(super) retry_due: Moment,
}

/// What one who has had enough is told.
pub(crate) enum LastKnown {
    /// Another caller of this process has the lock, and for how long it is valid.
    Held(OwnerToken, Moment),
    /// What the nodes said to an attempt of another caller.
    Refused(Arc<AcquireError>),
}

/// Keeps `own`, unless what is kept wakes the same task. What is left in it is for the caller to
/// drop.
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

    fn waiters(&mut self) -> &mut Waiters {
        self.waiters.get_or_insert_default()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiters
            .as_ref()
            .map_or(0, |waiters| waiters.by_ticket.len())
    }

    pub(super) fn join(&mut self, ticket: u64) {
        self.waiters().by_ticket.insert(ticket, None);
    }

    /// Takes one out of the line. Returns its waker.
    pub(super) fn leave(&mut self, ticket: u64) -> Option<Waker> {
        self.waiters().by_ticket.remove(&ticket).flatten()
    }

    /// What was left for the one whose turn it is.
    pub(super) fn take_handoff(&mut self) -> TurnHandoff {
        self.waiters().handoff.take().unwrap_or_default()
    }

    /// See [`Lines::look`](super::Lines::look). Also returns whom to wake. What is left in `own`, the
    /// caller's waker, is to be dropped.
    pub(super) fn look(
        &mut self,
        ticket: u64,
        own: &mut Option<Waker>,
        wants: Option<Moment>,
        times: PollTimes,
    ) -> (LinePoll, [Option<Waker>; 2]) {
        if self.turn == ticket {
            return (LinePoll::Turn(self.take_handoff()), [const { None }; 2]);
        }
        let PollTimes { now, due, .. } = times;
        let mut over_at = match &self.status {
            TurnStatus::Trying { due } => *due,
            TurnStatus::Holding { until, .. } => *until,
            // Nobody stands there then.
            TurnStatus::Idle(_) => now,
        };
        let waiters = self.waiters.get_or_insert_default();
        // One that lost its turn stands where it stood.
        waiters.by_ticket.entry(ticket).or_default();
        let first = waiters.by_ticket.first_key_value().map(|(first, _)| *first);
        if over_at <= now {
            // The turn has come to nothing.
            let (handoff, head) = (self.take_handoff(), self.waiters().head.take());
            if first == Some(ticket) {
                *own = self.leave(ticket);
                self.turn = ticket;
                self.status = TurnStatus::Trying { due };
                return (LinePoll::Turn(handoff), [head, None]);
            }
            // The first may not be polled either, and then it is the next one's.
            let [next_waker, _] = self.pass(due, handoff);
            keep(self.waiters().by_ticket.entry(ticket).or_default(), own);
            return (LinePoll::Wait(due), [head, next_waker]);
        }
        let (mut retry_waker, mut next_waker) = (None, None);
        let waiters = self.waiters.get_or_insert_default();
        if let Some(since) = wants {
            match (&mut self.status, &waiters.refusal) {
                (TurnStatus::Holding { until, token }, _) if *until > now => {
                    let last_known = LastKnown::Held(token.clone(), *until);
                    return (LinePoll::LastKnown(last_known), [retry_waker, next_waker]);
                }
                (_, Some(refusal)) if refusal.began >= since => {
                    let last_known = LastKnown::Refused(Arc::clone(&refusal.error));
                    return (LinePoll::LastKnown(last_known), [retry_waker, next_waker]);
                }
                (status, _) => {
                    waiters.is_answer_wanted = true;
                    if !std::mem::replace(&mut waiters.is_retry_wanted, true)
                        && let Some(head) = waiters.head.take()
                    {
                        retry_waker = Some(head);
                        // One that pauses, and is not polled, is not waited for until its pause ends.
                        if let TurnStatus::Trying { due } = status {
                            *due = times.retry_due.min(*due);
                            over_at = *due;
                            next_waker =
                                waiters.by_ticket.values_mut().next().and_then(Option::take);
                        }
                    }
                }
            }
        }
        // Who is not the first looks after it as well.
        keep(waiters.by_ticket.entry(ticket).or_default(), own);
        (LinePoll::Wait(over_at), [retry_waker, next_waker])
    }

    /// Makes it the turn of the first in line, and returns its waker, and one to drop.
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

    /// The one whose turn it is has the lock. Returns those to whom that is news.
    pub(super) fn hold(&mut self, until: Moment, token: OwnerToken) -> Vec<Waker> {
        self.status = TurnStatus::Holding { until, token };
        if let Some(waiters) = &mut self.waiters {
            // Whoever wanted it is told who has the lock; the next one need not hurry for that.
            waiters.is_retry_wanted = false;
        }
        self.answer_wakers()
    }

    pub(super) fn prolong(&mut self, later: Moment) {
        if let TurnStatus::Holding { until, .. } = &mut self.status {
            *until = later;
        }
    }

    /// The nodes refused it. Returns those to whom that is news, and what they said before.
    pub(super) fn refused(
        &mut self,
        began: Moment,
        error: Arc<AcquireError>,
    ) -> (Vec<Waker>, Option<Refusal>) {
        let before = self.waiters().refusal.replace(Refusal { began, error });
        (self.answer_wakers(), before)
    }

    fn answer_wakers(&mut self) -> Vec<Waker> {
        let Some(waiters) = &mut self.waiters else {
            return Vec::new();
        };
        if !std::mem::take(&mut waiters.is_answer_wanted) {
            return Vec::new();
        }
        // Each leaves its waker again when it looks.
        let wakers = waiters.by_ticket.values_mut();
        wakers.filter_map(Option::take).collect()
    }

    /// The one whose turn it is lets others go first, until `due` at most.
    pub(super) fn gives_way(&mut self, due: Moment) {
        self.status = TurnStatus::Trying { due };
    }

    /// The one whose turn it is asks the nodes, until `due` at most.
    pub(super) fn attempt(&mut self, due: Moment) {
        self.status = TurnStatus::Trying { due };
        if let Some(waiters) = &mut self.waiters {
            waiters.is_retry_wanted = false;
        }
    }

    /// The one whose turn it is pauses, unless it is wanted. What is left in `own`, its waker, is to
    /// be dropped.
    pub(super) fn pause(&mut self, due: Moment, own: &mut Option<Waker>) -> Result<(), IsWanted> {
        self.status = TurnStatus::Trying { due };
        let waiters = self.waiters();
        if waiters.is_retry_wanted {
            return Err(IsWanted);
        }
        keep(&mut waiters.head, own);
        Ok(())
    }
}
