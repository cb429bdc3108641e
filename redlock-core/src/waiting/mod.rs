//! For how long callers of one process may hand a lock over to each other: [`Handover`]. What tells an
//! observer that a lock has changed hands: [`ChangeWatch`].
//!
//! Callers of one [`Client`](crate::Client) that want the same lock wait in one line, first come, first
//! served. Only the first of them asks the nodes. A lock goes from one of them to the next without a
//! break in which another process could take it, which is faster. So after some hand-overs the lock is
//! released for other processes, and the next caller of this process asks for it a moment later.
//!
//! # Example: a client that hands over less often
//! ```
//! use std::time::Duration;
//! use redlock_core::waiting::Handover;
//! use redlock_core::{Client, IoThread, Settings};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut settings = Settings::default();
//! settings.handover = Handover { most: 4, longest: Duration::from_millis(10) };
//! let client = Client::with_settings(IoThread::start()?.environment(), settings);
//! # let _ = client;
//! # Ok(())
//! # }
//! ```

pub(crate) mod budget;
mod fairness;
pub(crate) mod handover;
mod idle;
mod line;
mod line_key;
mod queued;
pub(crate) mod refusal;
mod several;
#[cfg(test)]
pub(crate) mod tests;
mod turn;
#[cfg_attr(
    not(feature = "testing"),
    allow(unreachable_pub, reason = "public in `testing`")
)]
pub(crate) mod wakeup;

/// The callers of one process that want the same lock stand in one line, first come, first served.
///
/// How a lock goes from one caller to the next is in [`handover`].
#[doc = include_str!("protocol.md")]
mod protocol {}

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;

pub use handover::Handover;
pub(crate) use line::LastKnown;
pub(crate) use line_key::LineKey;
pub(crate) use queued::{Arrival, Queued, WaitEnd};
pub(crate) use turn::Turn;
pub use wakeup::changes::ChangeWatch;

use crate::context::Context;
use crate::env::Moment;
use crate::env::caught::wake;
use fairness::Fairness;
use handover::LeftClaim;
use line::{Idle, Line, TurnStatus};

/// How many callers may stand in line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineLimits {
    pub(crate) a_line: usize,
    pub(crate) in_all: usize,
}

/// All lines of a client. A line without callers is forgotten.
pub(crate) struct Lines {
    context: Arc<Context>,
    handover: Handover,
    limits: LineLimits,
    state: Mutex<LinesState>,
}

#[derive(Default)]
struct LinesState {
    lines: HashMap<LineKey, Line>,
    /// The number of callers in all lines.
    waiting: usize,
    /// The last ticket. None is used twice, so that a turn that was taken away is told from any later one.
    last_ticket: u64,
    /// Lines without callers, which are kept until these moments.
    idle: VecDeque<(Moment, LineKey)>,
    /// True if a sweep of the idle lines is under way.
    is_swept: bool,
}

/// The admission of a caller to a line.
enum Admission {
    /// The caller has the turn with this ticket, and what the line remembers.
    Turn(u64, TurnHandoff),
    /// The caller stands in line, with this ticket.
    Queued(u64),
    /// The line is full, with this number of callers.
    Full(usize),
}

/// The answer to the poll of a caller in line.
enum LinePoll {
    /// The caller has the turn.
    Turn(TurnHandoff),
    /// The last answer of the nodes to the caller with the turn, or the holder of the lock.
    LastKnown(LastKnown),
    /// The caller waits, until the moment at most.
    Wait(Moment),
}

/// What comes with a turn that was passed on.
#[derive(Default)]
pub(crate) struct TurnHandoff {
    /// The claim whose keys are still on the nodes.
    pub(crate) left_claim: Option<LeftClaim>,
    fairness: Fairness,
    /// The rounds of a break that come first, because other processes had no chance for a while.
    pub(crate) rounds: u32,
}

/// What happens to a line without waiters.
#[derive(Clone, Copy)]
enum IfNobodyWaits {
    /// The turn stays where it is.
    Stay,
    /// The line is kept for a moment.
    Keep(Idle),
    Forget,
}

impl LinesState {
    /// The line, if the caller with `ticket` has the turn. A turn that was passed on has the ticket 0.
    fn with_turn(&mut self, line_key: &LineKey, ticket: u64) -> Option<&mut Line> {
        let line = self.lines.get_mut(line_key);
        line.filter(|line| ticket != 0 && line.turn == ticket)
    }
}

impl Lines {
    pub(crate) fn new(context: Arc<Context>, handover: Handover, limits: LineLimits) -> Self {
        Self {
            context,
            handover,
            limits,
            state: Mutex::default(),
        }
    }

    /// How late a caller with the turn may be before the next one takes the turn: its future may not be
    /// polled any longer.
    fn grace(&self) -> Duration {
        self.context.node_timeout.saturating_mul(4)
    }

    /// The deadline of a caller with the turn for a step that takes `timeout`.
    fn due(&self, timeout: Duration) -> Moment {
        self.due_from(self.context.now(), timeout)
    }

    /// The same for a step that begins `now`.
    fn due_from(&self, now: Moment, timeout: Duration) -> Moment {
        now.saturating_add(timeout).saturating_add(self.grace())
    }

    /// How many callers stand in all lines.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting
    }

    /// How many callers wait in the line of `line_key`.
    pub(crate) fn waiting_at(&self, line_key: &LineKey) -> usize {
        let state = self.state.lock();
        state.lines.get(line_key).map_or(0, Line::waiting)
    }

    /// Joins the line of `line_key`. `due` is the deadline of the caller's next step, if it gets the
    /// turn.
    fn enter(&self, line_key: &LineKey, now: Moment, due: Moment) -> Admission {
        // Dropped outside of the lock: it may hold the last reference to a node, or to a task.
        let _forgotten;
        let mut state = self.state.lock();
        _forgotten = state.forget_idle(now);
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        let LinesState { lines, waiting, .. } = &mut *state;
        let new = || Line::new(ticket, due);
        let line = lines.entry(line_key.clone()).or_insert_with(new);
        if line.turn == ticket {
            return Admission::Turn(ticket, TurnHandoff::default());
        }
        if let Some(handoff) = line.take_idle(ticket, due) {
            return Admission::Turn(ticket, handoff);
        }
        let standing = line.waiting();
        if standing >= self.limits.a_line || *waiting >= self.limits.in_all {
            return Admission::Full(standing);
        }
        line.join(ticket);
        *waiting += 1;
        Admission::Queued(ticket)
    }

    /// The answer for the caller with `ticket`. The caller is woken when the answer changes. If it gives up
    /// by `gives_up`, it gets the nodes' answer to an attempt of another caller.
    fn look(
        &self,
        line_key: &LineKey,
        ticket: u64,
        waker: &Waker,
        gives_up: Option<Moment>,
        now: Moment,
    ) -> LinePoll {
        let due = self.due_from(now, self.context.node_timeout);
        // No waker is cloned or dropped under the lock: that is foreign code.
        let (mut own, mut left) = (Some(waker.clone()), None);
        let (look, [head, next_waker]) = {
            let mut state = self.state.lock();
            let LinesState { lines, waiting, .. } = &mut *state;
            let Some(line) = lines.get_mut(line_key) else {
                // The caller had lost the turn. The turn passed to another caller, which has left.
                lines.insert(line_key.clone(), Line::new(ticket, due));
                return LinePoll::Turn(TurnHandoff::default());
            };
            if let Some(handoff) = line.take_idle(ticket, due) {
                return LinePoll::Turn(handoff);
            }
            let standing = line.waiting();
            let looked = line.look(ticket, [&mut own, &mut left], gives_up, (now, due));
            // A caller that lost its turn stands in line again.
            *waiting = (*waiting + line.waiting()).saturating_sub(standing);
            looked
        };
        [head, next_waker].into_iter().flatten().for_each(wake);
        look
    }

    /// A caller leaves the line. If it was given the turn just now, the handoff is returned, to be
    /// passed on.
    fn leave(&self, line_key: &LineKey, ticket: u64) -> Option<TurnHandoff> {
        let _waker = {
            let mut state = self.state.lock();
            let LinesState { lines, waiting, .. } = &mut *state;
            let line = lines.get_mut(line_key)?;
            if line.turn == ticket {
                return Some(line.take_handoff());
            }
            let standing = line.waiting();
            let left = line.leave(ticket);
            *waiting -= standing - line.waiting();
            left
        };
        None
    }

    /// Changes the line, unless the caller with `ticket` no longer has the turn.
    fn with_turn<T>(
        &self,
        line_key: &LineKey,
        ticket: u64,
        change: impl FnOnce(&mut Line) -> T,
    ) -> Option<T> {
        let mut state = self.state.lock();
        state.with_turn(line_key, ticket).map(change)
    }

    /// Changes the line, also for a caller without the turn. `None` if the line is gone.
    fn with_line<T>(&self, line_key: &LineKey, change: impl FnOnce(&mut Line) -> T) -> Option<T> {
        let mut state = self.state.lock();
        state.lines.get_mut(line_key).map(change)
    }

    /// Passes the turn on, with the result of `handoff`, if a caller waits in line. If none waits,
    /// `if_nobody_waits` decides about the line. Returns false if the turn stays where it is.
    fn pass(
        self: &Arc<Self>,
        (line_key, ticket): (&LineKey, u64),
        due: Moment,
        if_nobody_waits: IfNobodyWaits,
        handoff: impl FnOnce() -> TurnHandoff,
    ) -> bool {
        let mut sweeps = false;
        // A forgotten line is dropped outside of the mutex.
        let ([next, _head], _waiters, _forgotten) = {
            let mut state = self.state.lock();
            let Some(line) = state.with_turn(line_key, ticket) else {
                return false;
            };
            match if_nobody_waits {
                _ if line.waiting() > 0 => {
                    let wakers = line.pass(due, handoff());
                    state.waiting -= 1;
                    (wakers, None, None)
                }
                IfNobodyWaits::Stay => return false,
                IfNobodyWaits::Keep(idle) => {
                    line.turn = 0;
                    line.status = TurnStatus::Idle(idle);
                    let waiters = line.waiters.take();
                    sweeps = !std::mem::replace(&mut state.is_swept, true);
                    state.idle.push_back((idle.until, line_key.clone()));
                    ([None, None], waiters, None)
                }
                IfNobodyWaits::Forget => ([None, None], None, state.lines.remove_entry(line_key)),
            }
        };
        if let Some(next) = next {
            wake(next);
        }
        if sweeps {
            self.sweep();
        }
        true
    }

    /// How many lines are known.
    #[cfg(test)]
    fn known(&self) -> usize {
        self.state.lock().lines.len()
    }
}
