//! The callers of one process that want the same lock. [`QuorumWatch`] tells an observer that a lock has become
//! free or has changed hands.
//!
//! Callers of one [`Client`](crate::Client) that want the same lock wait in one line, first come, first
//! served. Only the first of them asks the nodes. A lock goes from one of them to the next without a
//! break in which another process could take it, which is faster. After
//! [a while](crate::Settings::handover_time) the lock is
//! released for other processes, and the next caller of this process asks for it a moment later.

pub(crate) mod budget;
mod fair_share;
pub(crate) mod handed_claim;
mod line;
#[cfg_attr(
    not(feature = "testing"),
    allow(unreachable_pub, reason = "public in `testing`")
)]
pub(crate) mod quorum_watch;
pub(crate) mod refused_attempt;
#[cfg(test)]
pub(crate) mod tests;
mod turn;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

pub(crate) use fair_share::HANDOVER_TIME;
pub(crate) use line::{LineKey, NoTurn};
pub use quorum_watch::QuorumWatch;
pub(crate) use turn::{ClaimOutcome, Turn};

use crate::context::Context;
use crate::env::Moment;
use crate::env::caught::caught;
use crate::env::timeout::before;
use budget::RetryBudget;
use fair_share::FairShare;
use line::{KnownHash, Line};

/// From this number of lines on, empty lines are looked for and forgotten.
const MANY_LINES: usize = 1024;

/// All lines of a client.
pub(crate) struct Lines {
    context: Arc<Context>,
    /// How long a streak may be: for this time callers of this process have the lock one after another.
    handover_time: Duration,
    /// The most callers that may stand in one line.
    most_in_a_line: usize,
    /// The most callers that may stand in all lines.
    most_in_all: usize,
    state: Mutex<LinesState>,
}

#[derive(Default)]
struct LinesState {
    lines: HashMap<LineKey, Line, BuildHasherDefault<KnownHash>>,
    /// How many callers stand in all lines.
    waiting: usize,
    /// The last ticket. None is used twice, so that a turn that was taken away is told from any later one.
    last_ticket: u64,
    /// The number of lines from which on old ones are looked for.
    many: usize,
}

impl LinesState {
    /// Forgets lines that have been empty for a while.
    fn sweep(&mut self, now: Moment) {
        if self.lines.len() >= self.many {
            self.lines.retain(|_, line| !line.is_forgotten(now));
            self.many = MANY_LINES.max(self.lines.len() * 2);
        }
    }
}

impl Lines {
    pub(crate) fn new(
        context: Arc<Context>,
        handover_time: Duration,
        (most_in_a_line, most_in_all): (usize, usize),
    ) -> Self {
        Self {
            context,
            handover_time,
            most_in_a_line,
            most_in_all,
            state: Mutex::default(),
        }
    }

    /// How late a caller with the turn may be before the next one takes the turn: its future may not be
    /// polled any longer.
    fn grace(&self) -> Duration {
        self.context.node_timeout.saturating_mul(4)
    }

    /// The deadline of a caller with the turn for a step that begins `now` and takes `timeout`.
    fn due(&self, now: Moment, timeout: Duration) -> Moment {
        now.saturating_add(timeout).saturating_add(self.grace())
    }

    /// How many callers stand in all lines.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// How many callers wait in the line of `line_key`.
    pub(crate) fn waiting_at(&self, line_key: &LineKey) -> usize {
        let waiting = self.change(line_key, |line| line.waiters.len());
        waiting.unwrap_or(0)
    }

    /// A caller of this process has sent the release of one of several locks that are alike. The caller with the turn
    /// asks for it now, without a pause.
    pub(crate) fn released(&self, line_key: &LineKey) {
        wake(self.change(line_key, Line::head).flatten());
    }

    /// Stands in the line of `line_key` until the turn comes, while `budget` lasts. A caller whose budget is used up
    /// gets the nodes' last answer to a caller of the line. If there is none yet, it waits as long as that may take.
    ///
    /// # Cancellation
    /// Dropping the future leaves the line at once.
    pub(crate) async fn turn(
        self: &Arc<Self>,
        line_key: LineKey,
        budget: &mut RetryBudget<'_>,
    ) -> Result<Turn, NoTurn> {
        let ticket = {
            let mut state = self.state.lock();
            state.last_ticket += 1;
            state.last_ticket
        };
        let turn = Turn::new(self, line_key, ticket);
        let (environment, timeout) = (&self.context.environment, self.context.node_timeout);
        if self.stand(&turn, None)?.is_none() {
            return Ok(turn);
        }
        let mut gives_up = None;
        loop {
            let now = environment.now();
            let is_unanswered = self.change(&turn.line_key, |line| line.is_unanswered(now));
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
            let Some(until) = self.stand(&turn, gives_up)? else {
                return Ok(turn);
            };
            let until = pause.map_or(until, |pause| pause.min(until));
            before(&*environment.clock, until, turn.woken.notified()).await;
        }
    }

    /// Looks what is up for the caller of `turn`, which stands in line from the first look on. `None` if its turn has
    /// come, otherwise the moment of the next look. A caller that gives up at `gives_up` gets what is known of the lock.
    fn stand(&self, turn: &Turn, gives_up: Option<Moment>) -> Result<Option<Moment>, NoTurn> {
        let now = self.context.now();
        let due = self.due(now, self.context.node_timeout);
        let mut state = self.state.lock();
        state.sweep(now);
        let all = state.waiting;
        let line = state.lines.entry(turn.line_key.clone()).or_default();
        if line.is_forgotten(now) {
            line.streak = FairShare::default();
        }
        let (standing, mut next) = (line.waiters.len(), None);
        if !line.has(turn.ticket) {
            let is_new = !line.waiters.contains_key(&turn.ticket);
            let is_full = standing >= self.most_in_a_line || all >= self.most_in_all;
            if is_new && is_full && !line.is_empty() {
                return Err(NoTurn::Full(standing));
            }
            let place = (turn.ticket, Arc::clone(&turn.woken));
            if line.is_empty() && standing == 0 {
                line.give(Some(place), due);
            } else {
                // A waiter that lost its turn stands at its old place.
                line.waiters.entry(place.0).or_insert(place.1);
                if line.is_due(now) {
                    // If the first waiter is not polled either, a later waiter passes the turn on.
                    next = line.pass(due);
                }
            }
        }
        let looked = if line.has(turn.ticket) {
            Ok(None)
        } else {
            line.last_known(gives_up, now).map(Some)
        };
        state.waiting = all + line.waiters.len() - standing;
        drop(state);
        wake(next);
        looked
    }

    /// Changes the line, if there is one.
    fn change<T>(&self, line_key: &LineKey, change: impl FnOnce(&mut Line) -> T) -> Option<T> {
        self.state.lock().lines.get_mut(line_key).map(change)
    }

    /// The caller with `ticket` leaves. If it has the turn, the turn goes to the first waiter. If no caller waits, what was
    /// left for the next caller is released, and the line is forgotten, now or in a moment.
    fn leave(&self, line_key: &LineKey, ticket: u64) {
        let now = self.context.now();
        let due = self.due(now, self.context.node_timeout);
        // Dropped once the lines are unlocked: its claim is released, and may be the last reference to a node.
        let _left;
        let mut state = self.state.lock();
        let LinesState { lines, waiting, .. } = &mut *state;
        let Some(line) = lines.get_mut(line_key) else {
            return;
        };
        let standing = line.waiters.len();
        line.waiters.remove(&ticket);
        let next = line.has(ticket).then(|| line.pass(due)).flatten();
        *waiting = *waiting + line.waiters.len() - standing;
        if line.is_empty() {
            let left = std::mem::take(line);
            line.streak = left.streak;
            if line.is_forgotten(now) {
                lines.remove(line_key);
            }
            _left = left;
        }
        drop(state);
        wake(next);
    }
}

/// Wakes a caller, while the lines are not locked: a waker is foreign code.
fn wake(woken: Option<Arc<Notify>>) {
    if let Some(woken) = woken {
        caught("a waker", || woken.notify_one());
    }
}
