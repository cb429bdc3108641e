//! Standing in line.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::env::{Moment, Sleep};

use super::budget::RetryBudget;
use super::line::Line;
use super::{Admission, LastKnown, LineKey, LinePoll, Lines, Turn, TurnHandoff};

/// A caller's place in a line. Dropping it leaves at once.
pub(crate) struct Queued {
    lines: Arc<Lines>,
    line_key: LineKey,
    /// Zero once its turn has come.
    ticket: u64,
}

/// How standing in line ended.
pub(crate) enum WaitEnd {
    /// It is the caller's turn.
    Turn(Turn, TurnHandoff),
    /// The caller's budget is used up: the last known state of the lock.
    GaveUp(Option<LastKnown>),
}

/// What a caller finds on joining a line.
pub(crate) enum Arrival {
    /// The caller has the turn, after a break of this number of rounds.
    Turn(Turn, u32),
    Queued(Queued),
    /// The line is full, with this number of callers.
    Full(usize),
}

impl Queued {
    /// Joins the line of `line_key`.
    pub(crate) fn arrive(lines: &Arc<Lines>, line_key: LineKey) -> Arrival {
        let now = lines.context.now();
        let due = now.saturating_add(lines.context.node_timeout.saturating_add(lines.grace()));
        match lines.enter(&line_key, now, due) {
            Admission::Turn(
                ticket,
                TurnHandoff {
                    fairness, rounds, ..
                },
            ) => {
                let lines = Arc::clone(lines);
                Arrival::Turn(Turn::new(lines, line_key, ticket, fairness), rounds)
            }
            Admission::Queued(ticket) => Arrival::Queued(Self {
                lines: Arc::clone(lines),
                line_key,
                ticket,
            }),
            Admission::Full(standing) => Arrival::Full(standing),
        }
    }

    /// Waits for the turn while `budget` lasts. A caller whose budget is used up gets the nodes' last answer
    /// to a caller of the line. If there is none yet, it waits as long as that may take.
    pub(crate) async fn wait(mut self, budget: &mut RetryBudget<'_>) -> WaitEnd {
        let mut timer = None;
        let mut gives_up = None;
        poll_fn(|context| {
            loop {
                let environment = &self.lines.context.environment;
                let now = environment.now();
                let unanswered = |line: &mut Line| line.is_unanswered(now);
                let is_unanswered = self.lines.with_line(&self.line_key, unanswered);
                let pause = budget.next_attempt(environment, is_unanswered.unwrap_or(false));
                if pause.is_some() {
                    // The nodes answer again.
                    gives_up = None;
                } else if gives_up.is_none() {
                    // The rest of a break, and an attempt.
                    let last_known =
                        now.saturating_add(self.lines.context.node_timeout.saturating_mul(2));
                    gives_up = Some(budget.end.map_or(last_known, |end| end.min(last_known)));
                }
                let lines = &self.lines;
                match lines.look(&self.line_key, self.ticket, context.waker(), gives_up, now) {
                    LinePoll::Turn(handoff) => {
                        return Poll::Ready(WaitEnd::Turn(self.turn(&handoff), handoff));
                    }
                    LinePoll::LastKnown(last_known) => {
                        return Poll::Ready(WaitEnd::GaveUp(Some(last_known)));
                    }
                    LinePoll::Wait(over_at) => {
                        let mut until = over_at;
                        for sooner in [pause, gives_up].into_iter().flatten() {
                            until = until.min(sooner);
                        }
                        if gives_up.is_some_and(|gives_up| gives_up <= now) {
                            return Poll::Ready(WaitEnd::GaveUp(None));
                        }
                        if self.sleep(&mut timer, until, context).is_pending() {
                            return Poll::Pending;
                        }
                    }
                }
            }
        })
        .await
    }

    fn sleep(
        &self,
        timer: &mut Option<(Moment, Sleep)>,
        until: Moment,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        if timer.as_ref().is_none_or(|(at, _)| *at != until) {
            *timer = Some((
                until,
                self.lines.context.environment.clock.sleep_until(until),
            ));
        }
        let Some((_, sleep)) = timer else {
            return Poll::Pending;
        };
        let slept = Pin::new(sleep).poll(context);
        if slept.is_ready() {
            *timer = None;
        }
        slept
    }

    fn turn(&mut self, handoff: &TurnHandoff) -> Turn {
        let ticket = std::mem::replace(&mut self.ticket, 0);
        let lines = Arc::clone(&self.lines);
        Turn::new(lines, self.line_key.clone(), ticket, handoff.fairness)
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.ticket == 0 {
            return;
        }
        if let Some(handoff) = self.lines.leave(&self.line_key, self.ticket) {
            // The caller had the turn: it goes to the next one, with its handoff.
            let mut turn = self.turn(&handoff);
            turn.decline(handoff);
        }
    }
}
