//! The callers of one process that want the same lock. [`QuorumWatch`] tells an observer that a lock has become
//! free or has changed hands.
//!
//! Callers of one [`Client`](crate::Client) that want the same lock wait in one line, first come, first
//! served. Only the first of them asks the nodes. A lock goes from one of them to the next without a
//! break in which another process could take it, which is faster. After
//! [a while](crate::Settings::handover_time) the lock is
//! released for other processes, and the next caller of this process asks for it a moment later.

pub(crate) mod budget;
pub(crate) mod left_claim;
mod line;
mod line_key;
mod queued;
pub(crate) mod refusal;
mod streak;
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
/// How a lock goes from one caller to the next is in [`left_claim`].
#[doc = include_str!("protocol.md")]
mod protocol {}

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

pub(crate) use line::LastKnown;
pub(crate) use line_key::LineKey;
pub(crate) use queued::Queued;
pub(crate) use streak::HANDOVER_TIME;
pub(crate) use turn::{Left, Turn};
pub use wakeup::QuorumWatch;

use crate::context::Context;
use crate::env::Moment;
use line::{Deferred, Line, Slot};

/// The most slots that are remembered without a line.
const MOST_RECENT: usize = 1024;

/// All lines of a client. A line without callers is forgotten.
pub(crate) struct Lines {
    context: Arc<Context>,
    /// How long a streak may be: for this time callers of this process have the lock one after another.
    handover_time: Duration,
    /// The most callers that may stand in one line.
    most_in_a_line: usize,
    /// The most callers that may stand in all lines.
    most_in_all: usize,
    /// How many callers stand in all lines.
    waiting: AtomicUsize,
    state: Mutex<LinesState>,
}

#[derive(Default)]
struct LinesState {
    lines: HashMap<LineKey, Line>,
    /// The last ticket. None is used twice, so that a turn that was taken away is told from any later one.
    last_ticket: u64,
    /// The slots of lines that were forgotten a moment ago, by the hash of the line's key: the key itself would
    /// keep nodes alive. A slot counts until its moment.
    recent: HashMap<u64, (Moment, Slot)>,
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
            waiting: AtomicUsize::new(0),
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
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many callers wait in the line of `line_key`.
    pub(crate) fn waiting_at(&self, line_key: &LineKey) -> usize {
        let state = self.state.lock();
        state.lines.get(line_key).map_or(0, Line::waiting)
    }

    /// A caller of this process has sent the release of one of several locks that are alike. The caller with the turn
    /// asks for it now, without a pause.
    pub(crate) fn released(&self, line_key: &LineKey) {
        self.change(line_key, Line::released);
    }

    /// Joins the line of `line_key`.
    ///
    /// # Errors
    /// The number of callers in the line, if it is full.
    pub(crate) fn enter(self: &Arc<Self>, line_key: LineKey) -> Result<Queued, usize> {
        let now = self.context.now();
        let due = self.due(now, self.context.node_timeout);
        let mut state = self.state.lock();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        let LinesState { lines, recent, .. } = &mut *state;
        let hash = (!recent.is_empty()).then(|| lines.hasher().hash_one(&line_key));
        let has_turn = match lines.entry(line_key.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(Line::new(ticket, due));
                let recent = hash.and_then(|hash| recent.remove(&hash));
                let recent = recent.filter(|(until, _)| *until > now);
                Some(recent.map(|(_, slot)| slot).unwrap_or_default())
            }
            Entry::Occupied(mut line) => {
                let standing = line.get().waiting();
                if standing >= self.most_in_a_line || self.waiting() >= self.most_in_all {
                    return Err(standing);
                }
                line.get_mut().join(ticket);
                self.waiting.fetch_add(1, Ordering::Relaxed);
                None
            }
        };
        drop(state);
        Ok(Queued::new(Arc::clone(self), line_key, ticket, has_turn))
    }

    /// Changes the line, if there is one.
    fn change<T>(
        &self,
        line_key: &LineKey,
        change: impl FnOnce(&mut Line, &mut Deferred) -> T,
    ) -> Option<T> {
        let mut deferred = Deferred::default();
        let mut state = self.state.lock();
        let line = state.lines.get_mut(line_key);
        let changed = line.map(|line| change(line, &mut deferred));
        drop(state);
        changed
    }

    /// Passes the turn with `ticket` on to the first caller in line, with `slot`. If no caller waits, returns the
    /// slot, and forgets the line unless it `stays`.
    fn pass(
        &self,
        (line_key, ticket): (&LineKey, u64),
        now: Moment,
        slot: Slot,
        stays: bool,
    ) -> Option<Slot> {
        let due = self.due(now, self.context.node_timeout);
        // Dropped once the lines are unlocked: the key may hold the last reference to a node.
        let _forgotten;
        let mut deferred = Deferred::default();
        let mut state = self.state.lock();
        let line = state.lines.get_mut(line_key);
        let Some(line) = line.filter(|line| line.turn == ticket) else {
            return Some(slot);
        };
        let left = line.pass(due, slot, &mut deferred);
        if left.is_some() && !stays {
            _forgotten = state.lines.remove_entry(line_key);
        }
        drop(state);
        left
    }

    /// Remembers the slot of a line that was forgotten, until `until`: for a caller that comes again at once.
    fn remember(&self, line_key: &LineKey, (now, until): (Moment, Moment), slot: Slot) {
        let mut state = self.state.lock();
        if state.recent.len() >= MOST_RECENT {
            state.recent.retain(|_, (until, _)| *until > now);
        }
        if state.recent.len() < MOST_RECENT {
            let hash = state.lines.hasher().hash_one(line_key);
            state.recent.insert(hash, (until, slot));
        }
    }
}
