//! The callers of one process that want the same lock stand in one line, first come, first served.
//!
//! Only the one whose *turn* it is talks to the nodes. Whoever has the lock keeps the turn with the
//! lease, and passes it on when the lease ends: to the next in line, and with it, as far as that is
//! fair to other processes, what is on the nodes (see [`crate::waiting::handover`]).
//!
//! A turn is no lock. It saves messages and keeps order within the process; exclusion is the nodes'
//! affair. So it may be taken from somebody who does not use it: a caller whose future is not
//! polled, or a lease that ended without anybody's doing.

pub(crate) mod budget;
mod fairness;
pub(crate) mod handover;
mod line;
mod queued;
#[cfg(test)]
mod tests;
mod turn;
pub(crate) mod wakeup;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

pub(crate) use line::Verdict;
pub(crate) use queued::{Arrival, Ended, Queued};
pub(crate) use turn::{Tenure, Turn};

use crate::context::Context;
use crate::env::Moment;
use crate::env::timers::wake;
use crate::model::resource::Resource;
use crate::node::{Node, NodeSet};
use fairness::Cohort;
use handover::{Handover, Inheritance};
use line::{Line, Quiet, Status, Times};

/// How many places are remembered at most for a moment after the last one has left.
const MOST_QUIET: usize = 1024;

/// What callers of the same line have in common: they exclude each other, and would be given the
/// same keys on the same nodes.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) keys: Resource,
    pub(crate) nodes: NodeSet,
}

fn address(node: &Arc<dyn Node>) -> usize {
    Arc::as_ptr(node).cast::<()>().addr()
}

impl PartialEq for Place {
    /// The same nodes in another order are the same place.
    fn eq(&self, other: &Self) -> bool {
        let is_same_set = || {
            let has = |node| {
                other
                    .nodes
                    .iter()
                    .any(|known| address(known) == address(node))
            };
            self.nodes.len() == other.nodes.len() && self.nodes.iter().all(has)
        };
        self.keys == other.keys && (Arc::ptr_eq(&self.nodes, &other.nodes) || is_same_set())
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.keys.hash(state);
        let sum = |sum: usize, node| sum.wrapping_add(address(node));
        state.write_usize(self.nodes.iter().fold(0, sum));
    }
}

/// How many callers may stand in line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) a_line: usize,
    pub(crate) in_all: usize,
}

/// All lines of a client. A place that nobody uses is forgotten.
pub(crate) struct Lines {
    context: Arc<Context>,
    handover: Handover,
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lines: HashMap<Place, Line>,
    /// In all lines.
    waiting: usize,
    /// Never used twice, so that a turn that was taken away is told from any later one.
    last_ticket: u64,
    /// Places that nobody uses, which are kept for a moment.
    quiet: VecDeque<(Moment, Place)>,
}

/// What became of a caller who came to a place.
enum Entered {
    /// It is its turn, behind a break of so many rounds for others.
    Turn(u64, Cohort, u32),
    /// It stands in line.
    Queued(u64),
    /// So many callers stand there already.
    Full(usize),
}

/// What one in line is told.
enum Look {
    /// It is its turn.
    Turn(Legacy),
    /// What the nodes said to the one whose turn it is, or who has the lock.
    Verdict(Verdict),
    /// To wait, until the moment at most.
    Wait(Moment),
}

/// What comes with a turn that was passed on.
#[derive(Default)]
pub(crate) struct Legacy {
    /// What is on the nodes still.
    pub(crate) inheritance: Option<Inheritance>,
    cohort: Cohort,
    /// How many rounds of a break come first: other processes had no chance for a while.
    pub(crate) rounds: u32,
}

/// What becomes of a place where nobody stands in line.
#[derive(Clone, Copy)]
enum Otherwise {
    /// The turn stays with whoever has it.
    Stay,
    /// It is kept for a moment.
    Keep(Quiet),
    Forget,
}

impl Lines {
    pub(crate) fn new(context: Arc<Context>, handover: Handover, limits: Limits) -> Self {
        Self {
            context,
            handover,
            limits,
            state: Mutex::default(),
        }
    }

    /// How long a caller whose turn it is may be late before the next one takes it: its future may not
    /// be polled any more.
    fn grace(&self) -> Duration {
        self.context.node_timeout.saturating_mul(4)
    }

    /// By when one whose turn it is has to have done what takes `timeout`.
    fn due(&self, timeout: Duration) -> Moment {
        let now = self.context.now();
        now.saturating_add(timeout).saturating_add(self.grace())
    }

    /// How many callers stand in all lines.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// How many callers stand in line at `place`.
    pub(crate) fn waiting_at(&self, place: &Place) -> usize {
        self.lock().lines.get(place).map_or(0, Line::waiting)
    }

    /// Comes to `place`. `due` is by when a caller whose turn it is has to have done something.
    fn enter(&self, place: &Place, now: Moment, due: Moment) -> Entered {
        // Dropped outside of the lock: it may hold the last of a node, or of a task.
        let _forgotten;
        let mut state = self.lock();
        _forgotten = state.forget_quiet(now);
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        let State { lines, waiting, .. } = &mut *state;
        match lines.entry(place.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Line::new(ticket, due));
                Entered::Turn(ticket, Cohort::default(), 0)
            }
            Entry::Occupied(mut occupied) => {
                let line = occupied.get_mut();
                if let Status::Quiet(quiet) = line.status {
                    line.status = Status::Trying { due };
                    line.turn = ticket;
                    return Entered::Turn(ticket, quiet.cohort, quiet.rounds);
                }
                let standing = line.waiting();
                if standing >= self.limits.a_line || *waiting >= self.limits.in_all {
                    return Entered::Full(standing);
                }
                line.join(ticket);
                *waiting += 1;
                Entered::Queued(ticket)
            }
        }
    }

    /// Looks what there is for the one with `ticket`, who is woken when that changes. One that
    /// `wants` a verdict is told what the nodes said to an attempt that began no sooner.
    fn look(
        &self,
        place: &Place,
        ticket: u64,
        waker: &Waker,
        wants: Option<Moment>,
        times: Times,
    ) -> Look {
        // No waker is cloned or dropped under the lock: that is foreign code.
        let mut own = Some(waker.clone());
        let (look, [head, heir]) = {
            let mut state = self.lock();
            let State { lines, waiting, .. } = &mut *state;
            let Some(line) = lines.get_mut(place) else {
                // It had the turn once and did not take it; who took it from there has left.
                lines.insert(place.clone(), Line::new(ticket, times.due));
                return Look::Turn(Legacy::default());
            };
            if let Status::Quiet(quiet) = line.status {
                line.status = Status::Trying { due: times.due };
                line.turn = ticket;
                return Look::Turn(Legacy {
                    inheritance: None,
                    cohort: quiet.cohort,
                    rounds: quiet.rounds,
                });
            }
            let standing = line.waiting();
            let looked = line.look(ticket, &mut own, wants, times);
            // One that lost its turn stands in line again.
            *waiting = (*waiting + line.waiting()).saturating_sub(standing);
            looked
        };
        [head, heir].into_iter().flatten().for_each(wake);
        look
    }

    /// One in line gives up. Where it was given the turn just now, what came with that is returned,
    /// for it to be passed on.
    fn leave(&self, place: &Place, ticket: u64) -> Option<Legacy> {
        let _waker = {
            let mut state = self.lock();
            let State { lines, waiting, .. } = &mut *state;
            let line = lines.get_mut(place)?;
            if line.turn == ticket {
                return Some(line.take_legacy());
            }
            let standing = line.waiting();
            let left = line.leave(ticket);
            *waiting -= standing - line.waiting();
            left
        };
        None
    }

    /// Changes the line, unless it is no longer the turn of the one with `ticket`.
    fn with_turn<T>(
        &self,
        place: &Place,
        ticket: u64,
        change: impl FnOnce(&mut Line) -> T,
    ) -> Option<T> {
        let mut state = self.lock();
        let line = state.lines.get_mut(place)?;
        (line.turn == ticket).then(|| change(line))
    }

    /// The lease of the one with `ticket` is valid until `until` by now.
    pub(crate) fn prolong(&self, place: &Place, tenure: &Tenure, until: Moment) {
        self.with_turn(place, tenure.ticket(), |line| line.prolong(until));
    }

    /// Passes the turn on, with what `legacy` makes of it, where somebody stands in line. What becomes
    /// of the place otherwise is up to `otherwise`. False where the turn stays where it is.
    fn pass(
        &self,
        place: &Place,
        ticket: u64,
        due: Moment,
        otherwise: Otherwise,
        legacy: impl FnOnce() -> Legacy,
    ) -> bool {
        // What is forgotten is dropped outside of the lock.
        let ([next, _head], _crowd, _forgotten) = {
            let mut state = self.lock();
            let State { lines, waiting, .. } = &mut *state;
            let Some(line) = lines.get_mut(place).filter(|line| line.turn == ticket) else {
                return false;
            };
            match otherwise {
                _ if line.waiting() > 0 => {
                    *waiting -= 1;
                    (line.pass(due, legacy()), None, None)
                }
                Otherwise::Stay => return false,
                Otherwise::Keep(quiet) => {
                    line.turn = 0;
                    line.status = Status::Quiet(quiet);
                    let crowd = line.crowd.take();
                    ([None, None], crowd, state.keep_quiet(quiet.until, place))
                }
                Otherwise::Forget => ([None, None], None, lines.remove_entry(place)),
            }
        };
        if let Some(next) = next {
            wake(next);
        }
        true
    }

    /// How many places are known.
    #[cfg(test)]
    fn places(&self) -> usize {
        self.lock().lines.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Keeps the place for a moment, of which nobody makes use now. Returns another one that is
    /// forgotten for it.
    fn keep_quiet(&mut self, until: Moment, place: &Place) -> Option<(Place, Line)> {
        let forgotten = if self.quiet.len() == MOST_QUIET {
            self.forget_first_quiet()
        } else {
            None
        };
        self.quiet.push_back((until, place.clone()));
        forgotten
    }

    fn forget_quiet(&mut self, now: Moment) -> Vec<(Place, Line)> {
        let mut forgotten = Vec::new();
        while self.quiet.front().is_some_and(|(until, _)| *until <= now) {
            forgotten.extend(self.forget_first_quiet());
        }
        forgotten
    }

    fn forget_first_quiet(&mut self) -> Option<(Place, Line)> {
        let (until, place) = self.quiet.pop_front()?;
        let line = self.lines.get(&place)?;
        // It may be in use again.
        let is_quiet = matches!(&line.status, Status::Quiet(quiet) if quiet.until == until);
        if is_quiet {
            self.lines.remove_entry(&place)
        } else {
            None
        }
    }
}
