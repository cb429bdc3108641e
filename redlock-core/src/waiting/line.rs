//! One line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

use crate::env::Moment;
use crate::error::AcquireError;
use crate::model::token::OwnerToken;

use super::fairness::Cohort;
use super::{Legacy, Look};

/// Small where nobody waits: every lock that is held has one.
pub(super) struct Line {
    /// Whose turn it is.
    pub(super) turn: u64,
    pub(super) status: Status,
    pub(super) crowd: Option<Box<Crowd>>,
}

/// What the one whose turn it is has come to.
pub(super) enum Status {
    /// It asks the nodes, or pauses between two attempts. `due` is by when it has to have done
    /// something.
    Trying { due: Moment },
    /// It has the lock.
    Holding { until: Moment, token: OwnerToken },
    /// It has left, and nobody has come since.
    Quiet(Quiet),
}

/// What is kept of a place that nobody uses.
#[derive(Clone, Copy)]
pub(super) struct Quiet {
    pub(super) until: Moment,
    /// For whoever comes before: how long a break others are to have,
    pub(super) rounds: u32,
    /// and what went before.
    pub(super) cohort: Cohort,
}

#[derive(Default)]
pub(super) struct Crowd {
    /// In the order in which they came.
    waiters: BTreeMap<u64, Option<Waker>>,
    /// For the one whose turn it is now, until it takes it.
    legacy: Option<Legacy>,
    /// What the nodes last said.
    refusal: Option<Refusal>,
    /// Some of the waiters want to know what the nodes say.
    is_curious: bool,
    /// The one whose turn it is should ask the nodes again, without waiting any longer.
    is_poked: bool,
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
pub(super) struct Times {
    pub(super) now: Moment,
    /// By when it has to have done something, if it is its turn.
    pub(super) due: Moment,
    /// By when one has to, whose turn it is, and who is asked to.
    pub(super) poked_due: Moment,
}

/// What one who has had enough is told.
pub(crate) enum Verdict {
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
            status: Status::Trying { due },
            crowd: None,
        }
    }

    fn crowd(&mut self) -> &mut Crowd {
        self.crowd.get_or_insert_default()
    }

    pub(super) fn waiting(&self) -> usize {
        self.crowd.as_ref().map_or(0, |crowd| crowd.waiters.len())
    }

    pub(super) fn join(&mut self, ticket: u64) {
        self.crowd().waiters.insert(ticket, None);
    }

    /// Takes one out of the line. Returns its waker.
    pub(super) fn leave(&mut self, ticket: u64) -> Option<Waker> {
        self.crowd().waiters.remove(&ticket).flatten()
    }

    /// What was left for the one whose turn it is.
    pub(super) fn take_legacy(&mut self) -> Legacy {
        self.crowd().legacy.take().unwrap_or_default()
    }

    /// See [`Lines::look`](super::Lines::look). Also returns whom to wake. What is left in `own`, the
    /// caller's waker, is to be dropped.
    pub(super) fn look(
        &mut self,
        ticket: u64,
        own: &mut Option<Waker>,
        wants: Option<Moment>,
        times: Times,
    ) -> (Look, [Option<Waker>; 2]) {
        if self.turn == ticket {
            return (Look::Turn(self.take_legacy()), [const { None }; 2]);
        }
        let Times { now, due, .. } = times;
        let mut over_at = match &self.status {
            Status::Trying { due } => *due,
            Status::Holding { until, .. } => *until,
            // Nobody stands there then.
            Status::Quiet(_) => now,
        };
        let crowd = self.crowd.get_or_insert_default();
        // One that lost its turn stands where it stood.
        crowd.waiters.entry(ticket).or_default();
        let first = crowd.waiters.first_key_value().map(|(first, _)| *first);
        if over_at <= now {
            // The turn has come to nothing.
            let (legacy, head) = (self.take_legacy(), self.crowd().head.take());
            if first == Some(ticket) {
                *own = self.leave(ticket);
                self.turn = ticket;
                self.status = Status::Trying { due };
                return (Look::Turn(legacy), [head, None]);
            }
            // The first may not be polled either, and then it is the next one's.
            let [heir, _] = self.pass(due, legacy);
            keep(self.crowd().waiters.entry(ticket).or_default(), own);
            return (Look::Wait(due), [head, heir]);
        }
        let (mut poked, mut heir) = (None, None);
        let crowd = self.crowd.get_or_insert_default();
        if let Some(since) = wants {
            match (&mut self.status, &crowd.refusal) {
                (Status::Holding { until, token }, _) if *until > now => {
                    let verdict = Verdict::Held(token.clone(), *until);
                    return (Look::Verdict(verdict), [poked, heir]);
                }
                (_, Some(refusal)) if refusal.began >= since => {
                    let verdict = Verdict::Refused(Arc::clone(&refusal.error));
                    return (Look::Verdict(verdict), [poked, heir]);
                }
                (status, _) => {
                    crowd.is_curious = true;
                    if !std::mem::replace(&mut crowd.is_poked, true)
                        && let Some(head) = crowd.head.take()
                    {
                        poked = Some(head);
                        // One that pauses, and is not polled, is not waited for until its pause ends.
                        if let Status::Trying { due } = status {
                            *due = times.poked_due.min(*due);
                            over_at = *due;
                            heir = crowd.waiters.values_mut().next().and_then(Option::take);
                        }
                    }
                }
            }
        }
        // Who is not the first looks after it as well.
        keep(crowd.waiters.entry(ticket).or_default(), own);
        (Look::Wait(over_at), [poked, heir])
    }

    /// Makes it the turn of the first in line, and returns its waker, and one to drop.
    pub(super) fn pass(&mut self, due: Moment, legacy: Legacy) -> [Option<Waker>; 2] {
        let crowd = self.crowd();
        let Some((ticket, waker)) = crowd.waiters.pop_first() else {
            return [None, None];
        };
        crowd.legacy = Some(legacy);
        let head = crowd.head.take();
        self.turn = ticket;
        self.status = Status::Trying { due };
        [waker, head]
    }

    /// The one whose turn it is has the lock. Returns those to whom that is news.
    pub(super) fn hold(&mut self, until: Moment, token: OwnerToken) -> Vec<Waker> {
        self.status = Status::Holding { until, token };
        if let Some(crowd) = &mut self.crowd {
            // Whoever wanted it is told who has the lock; the next one need not hurry for that.
            crowd.is_poked = false;
        }
        self.curious()
    }

    pub(super) fn prolong(&mut self, later: Moment) {
        if let Status::Holding { until, .. } = &mut self.status {
            *until = later;
        }
    }

    /// The nodes refused it. Returns those to whom that is news, and what they said before.
    pub(super) fn refused(
        &mut self,
        began: Moment,
        error: Arc<AcquireError>,
    ) -> (Vec<Waker>, Option<Refusal>) {
        let before = self.crowd().refusal.replace(Refusal { began, error });
        (self.curious(), before)
    }

    fn curious(&mut self) -> Vec<Waker> {
        let Some(crowd) = &mut self.crowd else {
            return Vec::new();
        };
        if !std::mem::take(&mut crowd.is_curious) {
            return Vec::new();
        }
        // Each leaves its waker again when it looks.
        let waiters = crowd.waiters.values_mut();
        waiters.filter_map(Option::take).collect()
    }

    /// The one whose turn it is lets others go first, until `due` at most.
    pub(super) fn gives_way(&mut self, due: Moment) {
        self.status = Status::Trying { due };
    }

    /// The one whose turn it is asks the nodes, until `due` at most.
    pub(super) fn attempt(&mut self, due: Moment) {
        self.status = Status::Trying { due };
        if let Some(crowd) = &mut self.crowd {
            crowd.is_poked = false;
        }
    }

    /// The one whose turn it is pauses, unless it is wanted. What is left in `own`, its waker, is to
    /// be dropped.
    pub(super) fn pause(&mut self, due: Moment, own: &mut Option<Waker>) -> Result<(), IsWanted> {
        self.status = Status::Trying { due };
        let crowd = self.crowd();
        if crowd.is_poked {
            return Err(IsWanted);
        }
        keep(&mut crowd.head, own);
        Ok(())
    }
}
