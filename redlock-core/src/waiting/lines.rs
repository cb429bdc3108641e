//! Lines order the callers of one process that want the same lock.
//!
//! [`handed_claim`](super::handed_claim) describes how a lock goes from one caller to the next.
#![doc = include_str!("lines.md")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::context::Context;
use crate::env::Moment;
use crate::env::timeout::before;
use crate::panics::caught;

use super::budget::RetryBudget;
use super::line::{Line, LineKey, LineState, NoTurn, Ticket};
use super::turn::Turn;

/// The number of lines above which empty lines are removed from the map.
pub(super) const MANY_LINES: usize = 1024;

/// Limits on the number of waiting callers.
pub(crate) struct WaiterLimits {
    pub(crate) in_one_line: usize,
    pub(crate) in_all_lines: usize,
}

/// Finds the line of each lock that callers of a client want.
pub(crate) struct Lines {
    pub(super) context: Arc<Context>,
    /// The time for which callers of this process may have a lock one after another.
    handover_time: Duration,
    limits: WaiterLimits,
    waiting: AtomicUsize,
    /// The number of the last ticket. Each number is used once, which tells a turn that was lost from a later turn.
    last_ticket: AtomicU64,
    /// Lock the map before the line, if a caller needs both.
    map: Mutex<LineMap>,
}

struct LineMap {
    lines: HashMap<LineKey, Arc<Line>>,
    /// The number of lines above which the map is searched for empty ones.
    many: usize,
}

impl Lines {
    pub(crate) fn new(
        context: Arc<Context>,
        handover_time: Duration,
        limits: WaiterLimits,
    ) -> Self {
        Self {
            context,
            handover_time,
            limits,
            waiting: AtomicUsize::new(0),
            last_ticket: AtomicU64::new(0),
            map: Mutex::new(LineMap {
                lines: HashMap::new(),
                many: MANY_LINES,
            }),
        }
    }

    /// Returns the deadline for a step of the caller with the turn. The step begins at `start` and takes `time`. The
    /// deadline is later than the end of the step, because the caller's future may be polled late.
    pub(super) fn step_deadline(&self, start: Moment, time: Duration) -> Moment {
        let grace = self.context.node_timeout.saturating_mul(4);
        start.saturating_add(time).saturating_add(grace)
    }

    /// Returns the number of callers that wait in all lines.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Returns the number of callers that wait in the line of `key`.
    pub(crate) fn waiting_at(&self, key: &LineKey) -> usize {
        let line = self.find(key);
        line.map_or(0, |line| line.state.lock().waiters.len())
    }

    /// Ends the pause of the caller with the turn after a permit was released here. The caller goes ahead of other
    /// processes until the streak of this process is spent.
    pub(crate) fn ask_now(&self, key: &LineKey) {
        let now = self.context.now();
        let Some(line) = self.find(key) else { return };
        let head = {
            let mut line = line.state.lock();
            let is_in_streak = line.share.may_continue(now);
            line.released = if is_in_streak { line.released + 1 } else { 0 };
            line.quiet_until = Moment::default();
            line.permits_held = line.permits_held.saturating_sub(1);
            line.head()
        };
        wake(head);
    }

    /// True if other callers in the line of `key` need the mark of a leaving caller on the nodes. They need it if one
    /// of them was refused too. If the leaving caller has not asked the nodes itself, the mark belongs to each caller
    /// of the line.
    pub(crate) fn need_mark(&self, key: &LineKey, has_asked: bool) -> bool {
        self.find(key).is_some_and(|line| {
            let line = line.state.lock();
            line.has_refused() || !has_asked && !line.is_empty()
        })
    }

    /// Waits in the line of `key` until the turn comes, while `budget` lasts. A caller whose budget is used up gets the
    /// nodes' last answer to a caller of the line. If the nodes have yet to answer, the caller waits for that answer,
    /// for two node timeouts at most.
    ///
    /// # Cancellation
    /// Dropping the future leaves the line at once.
    pub(crate) async fn turn(
        self: &Arc<Self>,
        key: LineKey,
        budget: &mut RetryBudget<'_>,
    ) -> Result<Turn, NoTurn> {
        let (environment, timeout) = (&self.context.environment, self.context.node_timeout);
        let (turn, mut gives_up) = (self.enter(key), None);
        loop {
            let now = environment.now();
            // `stand` returns `None` once the caller has the turn. Until then, `turn` is the caller's place in line.
            let Some(until) = self.stand(&turn, gives_up, now)? else {
                return Ok(turn);
            };
            let is_unanswered = turn.line.state.lock().is_unanswered(now);
            let pause = budget.next_pause(environment, now, is_unanswered);
            if pause.is_none() && gives_up.is_none() {
                // Wait for two node timeouts: for the rest of a break, and for an attempt.
                let last = now.saturating_add(timeout.saturating_mul(2));
                gives_up = Some(budget.end.map_or(last, |end| end.min(last)));
                continue;
            }
            if pause.is_some() {
                // The caller has budget left, or has budget again because the nodes answer again.
                gives_up = None;
            }
            let until = pause.map_or(until, |pause| pause.min(until));
            before(&*environment.clock, until, turn.ticket.woken.notified()).await;
        }
    }

    /// Draws a ticket for the line of `key`. The first call of [`stand`](Self::stand) takes the place in line.
    pub(super) fn enter(self: &Arc<Self>, key: LineKey) -> Turn {
        Turn {
            lines: Arc::clone(self),
            line: self.find_or_add(key),
            ticket: Ticket {
                number: self.last_ticket.fetch_add(1, Relaxed) + 1,
                woken: Arc::default(),
            },
        }
    }

    fn find(&self, key: &LineKey) -> Option<Arc<Line>> {
        self.map.lock().lines.get(key).map(Arc::clone)
    }

    /// Returns the line of `key`.
    fn find_or_add(&self, key: LineKey) -> Arc<Line> {
        let mut map = self.map.lock();
        let line = map.lines.entry(key);
        let line = line.or_insert_with_key(|key| Arc::new(Line::new(key.kind, self.handover_time)));
        let line = Arc::clone(line);
        let are_many = map.lines.len() > map.many;
        drop(map);
        if are_many {
            self.sweep();
        }
        line
    }

    /// Removes lines that have been empty for a while. Nobody can find a line while the map is locked, so a line with
    /// one reference, the map's, stays without callers.
    pub(super) fn sweep(&self) {
        // Read the clock before the mutex is taken, because the clock is foreign code.
        let now = self.context.now();
        let mut map = self.map.lock();
        map.lines.retain(|_, line| {
            Arc::strong_count(line) > 1 || !line.state.lock().may_be_forgotten(now)
        });
        map.many = MANY_LINES.max(map.lines.len() * 2);
    }

    /// Checks whether the turn of a caller has come by `now`. The first check takes the caller's place in line. Returns `None`
    /// if the turn has come, otherwise the moment of the next check.
    ///
    /// # Errors
    /// [`NoTurn`] says that the line is full, or what is known of the lock if the caller gives up at `gives_up`.
    pub(super) fn stand(
        &self,
        turn: &Turn,
        gives_up: Option<Moment>,
        now: Moment,
    ) -> Result<Option<Moment>, NoTurn> {
        let deadline = self.step_deadline(now, self.context.node_timeout);
        let mut line = turn.line.state.lock();
        if line.may_be_forgotten(now) {
            line.share.forget();
        }
        let (ticket, mut next) = (&turn.ticket, None);
        if line.is_empty() {
            line.give(Some(ticket.clone()), deadline);
        } else if !line.has(ticket.number) {
            // A waiter that lost its turn before using it keeps its old place.
            if !line.waiters.contains_key(&ticket.number) {
                self.reserve(line.waiters.len())?;
                let woken = Arc::clone(&ticket.woken);
                line.waiters.insert(ticket.number, woken);
            }
            if line.deadline <= now {
                // Any waiter passes an overdue turn on. The future of the first waiter may be unpolled too.
                next = self.pass(&mut line, deadline);
            }
        }
        let looked = if line.has(ticket.number) {
            Ok(None)
        } else {
            line.next_look(gives_up, now).map(Some)
        };
        drop(line);
        wake(next);
        looked
    }

    /// Counts one more waiter, in a line that already has `standing` waiters.
    ///
    /// # Errors
    /// [`NoTurn::Full`] if one of the limits on waiters is reached.
    fn reserve(&self, standing: usize) -> Result<(), NoTurn> {
        let may_wait = |waiting: usize| {
            standing < self.limits.in_one_line && waiting < self.limits.in_all_lines
        };
        let one_more = |waiting| may_wait(waiting).then_some(waiting + 1);
        let counted = self.waiting.fetch_update(Relaxed, Relaxed, one_more);
        counted.map_or(Err(NoTurn::Full(standing)), |_| Ok(()))
    }

    /// Gives the turn to the first waiter. Returns the notifier that wakes this waiter.
    fn pass(&self, line: &mut LineState, deadline: Moment) -> Option<Arc<Notify>> {
        let first = line.waiters.pop_first();
        let first = first.map(|(number, woken)| {
            self.waiting.fetch_sub(1, Relaxed);
            Ticket { number, woken }
        });
        line.give(first, deadline);
        line.head()
    }

    /// Removes a caller from its line. If the caller has the turn, the turn goes to the first waiter. If the line is
    /// then empty, releases a claim that was handed over. The line stays for the next caller, until `sweep`.
    pub(super) fn leave(&self, turn: &Turn) {
        let (number, now) = (turn.ticket.number, self.context.now());
        let deadline = self.step_deadline(now, self.context.node_timeout);
        // Drop the rest of the line after the mutexes are unlocked. It may have the last reference to a node.
        let _remains;
        let next = {
            let mut line = turn.line.state.lock();
            let next = if line.has(number) {
                self.pass(&mut line, deadline)
            } else {
                let waited = line.waiters.remove(&number).is_some();
                self.waiting.fetch_sub(waited.into(), Relaxed);
                None
            };
            _remains = line.is_empty().then(|| line.clear(now));
            next
        };
        wake(next);
    }

    /// Returns the number of lines, including empty lines that are still in the map.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.map.lock().lines.len()
    }

    #[cfg(test)]
    pub(super) fn is_locked(&self) -> bool {
        let map = self.map.try_lock();
        map.is_none_or(|map| map.lines.values().any(|line| line.state.is_locked()))
    }
}

/// Wakes the task of a caller. Unlock all mutexes before, because a waker is foreign code.
fn wake(woken: Option<Arc<Notify>>) {
    if let Some(woken) = woken {
        caught("a waker", || woken.notify_one());
    }
}
