//! One line.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::env::Moment;
use crate::env::caught::caught;
use crate::model::token::OwnerToken;

use super::left_claim::LeftClaim;
use super::refusal::Refusal;
use super::streak::Streak;

/// Every held lock has a `Line`, so it is small while no caller waits.
pub(super) struct Line {
    /// The ticket of the caller with the turn.
    pub(super) turn: u64,
    /// The caller's deadline for the next step: an attempt, the end of a pause, or the end of its lease.
    due: Moment,
    /// The token of the caller's lease.
    holder: Option<OwnerToken>,
    others: Option<Box<Others>>,
}

/// What goes from one caller with the turn to the next.
#[derive(Default)]
pub(crate) struct Slot {
    /// The claim that the last holder left on the nodes.
    pub(crate) left_claim: Option<LeftClaim>,
    pub(super) streak: Streak,
    /// The questions of a break that are left.
    pub(super) questions: u32,
}

#[derive(Default)]
struct Others {
    /// The waiters, in the order in which they came.
    waiters: BTreeMap<u64, Arc<Notify>>,
    /// Wakes the caller with the turn from its pause.
    head: Arc<Notify>,
    /// The slot for the caller with the turn, until that caller takes it.
    slot: Option<Slot>,
    /// Of the attempts that the nodes refused since the lock was last acquired here, the two that began last,
    /// the newer one first. The older one may be the only one whose votes are complete: after a short pause
    /// the nodes are asked again before all have answered.
    refusals: [Option<Arc<Refusal>>; 2],
    /// The last waiter that was in line when the nodes refused an attempt.
    refused: u64,
    /// Some of the waiters want to know what the nodes say.
    is_answer_wanted: bool,
    /// The caller with the turn should ask now, without a pause.
    is_retry_wanted: bool,
}

/// What the line tells a caller that asks the nodes now.
#[derive(Default)]
pub(crate) struct Before {
    /// The caller was in line when the nodes last refused an attempt.
    pub(crate) was_refused: bool,
    /// A caller waits that was in line when the nodes last refused an attempt.
    pub(crate) is_followed: bool,
}

/// The answer to a waiter.
pub(super) enum Look {
    /// The waiter has the turn.
    Turn(Slot),
    /// The waiter's budget is used up. It is given what is known of the lock.
    GaveUp(LastKnown),
    /// Nothing happens before this moment, unless the waiter is woken.
    Wait(Moment, Arc<Notify>),
}

/// The answer to a caller whose budget is used up.
pub(crate) enum LastKnown {
    /// Another caller of this process has the lock, and for how long it is valid.
    Held(OwnerToken, Moment),
    /// The nodes refused an attempt of another caller.
    Refused(Arc<Refusal>),
    /// No attempt of another caller was decided since the caller came.
    Nothing,
}

/// What is done once the lines are unlocked: a waker is foreign code, and so is the drop of a node.
#[derive(Default)]
pub(super) struct Deferred {
    wakes: Vec<Arc<Notify>>,
    forgotten: Vec<Arc<Refusal>>,
    /// Its claim is released.
    slot: Option<Slot>,
}

impl Drop for Deferred {
    fn drop(&mut self) {
        for wakes in self.wakes.drain(..) {
            caught("a waker", || wakes.notify_one());
        }
    }
}

impl Line {
    pub(super) fn new(turn: u64, due: Moment) -> Self {
        Self {
            turn,
            due,
            holder: None,
            others: None,
        }
    }

    fn others(&mut self) -> &mut Others {
        self.others.get_or_insert_default()
    }

    pub(super) fn waiting(&self) -> usize {
        let others = self.others.as_ref();
        others.map_or(0, |others| others.waiters.len())
    }

    pub(super) fn join(&mut self, ticket: u64) {
        self.others().waiters.insert(ticket, Arc::default());
    }

    /// Takes a waiter out of the line. If it has the turn by now, returns the slot.
    pub(super) fn leave(&mut self, ticket: u64) -> Option<Slot> {
        self.others().waiters.remove(&ticket);
        (self.turn == ticket).then(|| self.take_slot())
    }

    fn take_slot(&mut self) -> Slot {
        self.others().slot.take().unwrap_or_default()
    }

    /// What wakes the caller with the turn.
    pub(super) fn head(&mut self) -> Arc<Notify> {
        Arc::clone(&self.others().head)
    }

    /// The answer for the waiter with `ticket`. If it gives up by `gives_up`, it gets the nodes' answer to an attempt
    /// of another caller. `due` is its deadline for the next step if it gets the turn.
    pub(super) fn look(
        &mut self,
        ticket: u64,
        gives_up: Option<Moment>,
        (now, due): (Moment, Moment),
        deferred: &mut Deferred,
    ) -> Look {
        if self.turn != ticket {
            // A waiter that lost its turn stands at its old place.
            self.others().waiters.entry(ticket).or_default();
            if self.due <= now {
                // The turn was not used in time. If the first waiter is not polled either, a later waiter passes the turn
                // on.
                let slot = self.take_slot();
                deferred.slot = self.pass(due, slot, deferred);
            }
        }
        if self.turn == ticket {
            return Look::Turn(self.take_slot());
        }
        let mut until = self.due;
        if let Some(gives_up) = gives_up {
            match self.last_known(gives_up, now) {
                Ok(known) => return Look::GaveUp(known),
                Err(answered) => until = until.min(answered),
            }
            self.others().is_answer_wanted = true;
        }
        let signal = self.others().waiters.entry(ticket).or_default();
        Look::Wait(until, Arc::clone(signal))
    }

    /// The answer to a waiter that gives up at `gives_up`, or the moment until which the waiter waits for an answer.
    fn last_known(&mut self, gives_up: Moment, now: Moment) -> Result<LastKnown, Moment> {
        if let Some(token) = &self.holder {
            return Ok(LastKnown::Held(token.clone(), self.due));
        }
        let is_over = gives_up <= now;
        let [newer, older] = &self.others().refusals;
        let Some(newer) = newer else {
            return if is_over {
                Ok(LastKnown::Nothing)
            } else {
                Err(gives_up)
            };
        };
        let older = older.as_ref().filter(|older| older.is_held());
        match older {
            Some(older) if !newer.is_settled(now) => Ok(LastKnown::Refused(Arc::clone(older))),
            _ if is_over || newer.is_settled(now) => Ok(LastKnown::Refused(Arc::clone(newer))),
            _ => Err(newer.ends().min(gives_up)),
        }
    }

    /// True if no majority of the nodes answered the last attempt of the caller with the turn.
    pub(super) fn is_unanswered(&mut self, now: Moment) -> bool {
        let is_trying = self.holder.is_none();
        let [last, _] = &self.others().refusals;
        is_trying && last.as_ref().is_some_and(|last| last.is_unanswered(now))
    }

    /// Gives the turn to the first waiter, with `slot`. Returns the slot if no caller waits.
    pub(super) fn pass(
        &mut self,
        due: Moment,
        slot: Slot,
        deferred: &mut Deferred,
    ) -> Option<Slot> {
        let others = self.others.as_mut();
        let first = others.and_then(|others| Some((others.waiters.pop_first()?, others)));
        let Some(((ticket, signal), others)) = first else {
            return Some(slot);
        };
        let head = std::mem::replace(&mut others.head, Arc::clone(&signal));
        deferred.wakes.extend([head, signal]);
        others.slot = Some(slot);
        self.turn = ticket;
        self.due = due;
        self.holder = None;
        None
    }

    /// The caller with the turn asks the nodes, until `due` at most.
    pub(super) fn attempt(&mut self, due: Moment) -> Before {
        self.due = due;
        let Some(others) = &mut self.others else {
            return Before::default();
        };
        others.is_retry_wanted = false;
        let first = others.waiters.first_key_value();
        Before {
            was_refused: self.turn <= others.refused,
            is_followed: first.is_some_and(|(first, _)| *first <= others.refused),
        }
    }

    /// The caller with the turn lets others go first, or pauses, until `due` at most.
    pub(super) fn pauses(&mut self, due: Moment) {
        self.due = due;
    }

    /// True if the caller with the turn should ask now, without a pause.
    pub(super) fn is_retry_wanted(&mut self) -> bool {
        self.others().is_retry_wanted
    }

    /// A caller of this process released one of several locks that are alike.
    pub(super) fn released(&mut self, deferred: &mut Deferred) {
        let others = self.others();
        others.is_retry_wanted = true;
        deferred.wakes.push(Arc::clone(&others.head));
    }

    /// The caller with the turn has the lock.
    pub(super) fn hold(&mut self, until: Moment, token: OwnerToken, deferred: &mut Deferred) {
        self.due = until;
        self.holder = Some(token);
        self.forget_refusal(deferred);
        self.answer(deferred);
    }

    /// The lock was acquired: what nodes said before tells callers in line nothing.
    pub(super) fn forget_refusal(&mut self, deferred: &mut Deferred) {
        if let Some(others) = &mut self.others {
            let refusals = others.refusals.iter_mut();
            deferred.forgotten.extend(refusals.filter_map(Option::take));
        }
    }

    /// The lease of the caller with the turn is valid until `later` now.
    pub(super) fn prolong(&mut self, later: Moment) {
        self.due = later;
    }

    /// The nodes refused an attempt.
    pub(super) fn refused(&mut self, refusal: Arc<Refusal>, deferred: &mut Deferred) {
        let others = self.others();
        let last = others.waiters.last_key_value();
        others.refused = last.map_or(others.refused, |(last, _)| *last);
        // A caller that lost the turn may report its attempt after the attempt of a later caller.
        let began = |refusal: &Option<Arc<Refusal>>| refusal.as_ref().map(|it| it.began);
        let mut refused = Some(refusal);
        for kept in &mut others.refusals {
            if began(kept) <= began(&refused) {
                std::mem::swap(kept, &mut refused);
            }
        }
        deferred.forgotten.extend(refused);
        self.answer(deferred);
    }

    /// Votes may have come that were missing when the last attempt was decided.
    pub(super) fn votes(&mut self, now: Moment, deferred: &mut Deferred) {
        let [last, _] = &self.others().refusals;
        if last.as_ref().is_some_and(|last| last.is_settled(now)) {
            self.answer(deferred);
        }
    }

    /// Wakes the waiters, if some of them want to know what the nodes say.
    fn answer(&mut self, deferred: &mut Deferred) {
        if let Some(others) = &mut self.others
            && std::mem::take(&mut others.is_answer_wanted)
        {
            let waiters = others.waiters.values();
            deferred.wakes.extend(waiters.map(Arc::clone));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_waiter_that_lost_its_turn_gets_the_slot_of_one_that_does_not_use_its_own() {
        let at = |ms| Moment::from_origin(Duration::from_millis(ms));
        let mut line = Line::new(1, at(10));
        line.join(3);
        let slot = Slot {
            questions: 7,
            ..Slot::default()
        };
        let mut deferred = Deferred::default();
        assert!(line.pass(at(20), slot, &mut deferred).is_none());
        let early = line.look(2, None, (at(19), at(30)), &mut deferred);
        assert!(matches!(early, Look::Wait(until, _) if until == at(20)));
        line.leave(2);
        let looked = line.look(2, None, (at(20), at(30)), &mut deferred);
        assert!(matches!(looked, Look::Turn(slot) if slot.questions == 7));
        assert!(deferred.slot.is_none());
    }
}
