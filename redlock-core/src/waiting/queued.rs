//! Standing in line.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::env::timeout::before;

use super::budget::RetryBudget;
use super::line::{Deferred, Line, Look, Slot};
use super::{LastKnown, LineKey, Lines, Turn};

/// A caller's place in a line. Dropping it leaves at once.
pub(crate) struct Queued {
    lines: Arc<Lines>,
    line_key: LineKey,
    /// Zero once the turn has come.
    ticket: u64,
    /// The caller came to an empty line, and has the turn, with this slot.
    has_turn: Option<Slot>,
    is_counted: bool,
}

impl Queued {
    pub(super) fn new(
        lines: Arc<Lines>,
        line_key: LineKey,
        ticket: u64,
        has_turn: Option<Slot>,
    ) -> Self {
        Self {
            lines,
            line_key,
            ticket,
            is_counted: has_turn.is_none(),
            has_turn,
        }
    }

    /// Waits for the turn while `budget` lasts. A caller whose budget is used up gets the nodes' last answer
    /// to a caller of the line. If there is none yet, it waits as long as that may take.
    pub(crate) async fn wait(mut self, budget: &mut RetryBudget<'_>) -> Result<Turn, LastKnown> {
        if let Some(slot) = self.has_turn.take() {
            return Ok(self.turn(slot));
        }
        let lines = Arc::clone(&self.lines);
        let (environment, timeout) = (&lines.context.environment, lines.context.node_timeout);
        let mut gives_up = None;
        loop {
            let now = environment.now();
            let is_unanswered = lines.change(&self.line_key, |line, _| line.is_unanswered(now));
            let pause = budget.next_attempt(environment, is_unanswered.unwrap_or(false));
            gives_up = match (pause, gives_up) {
                // The nodes answer again.
                (Some(_), _) => None,
                (None, None) => {
                    // The rest of a break, and an attempt.
                    let last = now.saturating_add(timeout.saturating_mul(2));
                    Some(budget.end.map_or(last, |end| end.min(last)))
                }
                (None, known) => known,
            };
            let due = lines.due(now, timeout);
            let looked = lines.change(&self.line_key, |line, deferred| {
                line.look(self.ticket, gives_up, (now, due), deferred)
            });
            let (until, signal) = match looked {
                Some(Look::Turn(slot)) => return Ok(self.turn(slot)),
                Some(Look::GaveUp(known)) => return Err(known),
                Some(Look::Wait(until, signal)) => (until, signal),
                // The caller had lost the turn. The turn passed to another caller, which has left.
                None => {
                    let line_key = self.line_key.clone();
                    match lines.enter(line_key) {
                        Ok(again) => self = again,
                        Err(_) => return Err(LastKnown::Nothing),
                    }
                    if let Some(slot) = self.has_turn.take() {
                        return Ok(self.turn(slot));
                    }
                    continue;
                }
            };
            let until = pause.map_or(until, |pause| pause.min(until));
            before(&*environment.clock, until, signal.notified()).await;
        }
    }

    fn turn(&mut self, slot: Slot) -> Turn {
        let ticket = std::mem::replace(&mut self.ticket, 0);
        Turn::new(Arc::clone(&self.lines), self.line_key.clone(), ticket, slot)
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.is_counted {
            self.lines.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        if self.ticket == 0 {
            return;
        }
        let leave = |line: &mut Line, _: &mut Deferred| line.leave(self.ticket);
        let left = self.lines.change(&self.line_key, leave).flatten();
        if let Some(slot) = self.has_turn.take().or(left) {
            // The caller had the turn: it goes to the next one, with its slot.
            drop(self.turn(slot));
        }
    }
}
