//! What the nodes of one client know of each other.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::Moment;
use crate::env::caught::wake;
use crate::model::limits::MAX_TTL;
use crate::quorum::fencing::HINT_WINDOW;
use crate::quorum::majority;

use super::clock::Look;
use super::steps::{Readings, SteppedClock, whose_step};
use super::{CLOCK_WINDOW, CheckAnswer, RestartCheck, marker_key};

/// A finding that is older than this no longer counts. Blank nodes are checked more often than that.
const FRESH: Duration = Duration::from_secs(2);

/// The nodes of one registry, with the last finding of each, which tells a new set from nodes that
/// forgot. Their [node checks](super::NodeCheck) share it.
pub struct CheckedSet {
    restart_check: RestartCheck,
    max_ttl: Duration,
    /// How many nodes there will be, joined or not.
    size: usize,
    key_prefix: Vec<u8>,
    marker_key: Vec<u8>,
    /// The number of steps of clocks that were seen. After each, all nodes have to be checked.
    doubts: AtomicU64,
    /// No seat is ever given up, so that indexing `seats` does not panic under the lock.
    state: Mutex<SetState>,
}

#[derive(Default)]
struct SetState {
    seats: Vec<Seat>,
}

struct Seat {
    name: Arc<str>,
    finding: Finding,
    /// The node's process, if it is connected and known.
    run_id: Option<String>,
    /// True if the node has, or had, a marker: its set is not new.
    was_marked: bool,
    /// The `max_ttl` in the node's last marker.
    max_ttl: Duration,
    clock: Readings,
    /// The task that asks it.
    waker: Option<Waker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// The first attempt to reach it is not over.
    Unknown,
    Unreachable,
    /// Reached, without a marker, as of then.
    Blank(Moment),
    /// Reached, with the marker of a set that is being opened, as of then.
    Opening(Moment),
    Marked,
}

/// What the set says about one of its nodes that is blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetView {
    /// The set is new.
    New,
    /// Some of its nodes have not been reached, and not been found out of reach either.
    Undecided,
    /// Less than a majority is reachable.
    OutOfReach,
    /// A node has a marker under which it may vote, so the set is in use.
    InUse,
}

impl CheckedSet {
    /// A set of `size` nodes, whose locks live for at most `max_ttl`.
    pub fn new(restart_check: RestartCheck, max_ttl: Duration, size: usize) -> Self {
        Self {
            restart_check,
            max_ttl: max_ttl.min(MAX_TTL),
            size,
            key_prefix: Vec::new(),
            marker_key: marker_key(b""),
            doubts: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// The same with `prefix` before the marker's key, as before all keys of the client.
    #[must_use]
    pub fn with_key_prefix(mut self, prefix: &[u8]) -> Self {
        self.key_prefix = prefix.to_vec();
        self.marker_key = marker_key(prefix);
        self
    }

    /// What comes before all keys of the client.
    pub(crate) fn key_prefix(&self) -> &[u8] {
        &self.key_prefix
    }

    /// The key of the marker on every node.
    pub fn marker_key(&self) -> &[u8] {
        &self.marker_key
    }

    /// What is done about nodes that may have forgotten locks.
    pub fn restart_check(&self) -> RestartCheck {
        self.restart_check
    }

    pub(super) fn max_ttl(&self) -> Duration {
        self.max_ttl
    }

    /// Records the `max_ttl` in the marker of `seat`.
    pub(super) fn record_max_ttl(&self, seat: usize, max_ttl: Duration) {
        self.state.lock().seats[seat].max_ttl = max_ttl;
    }

    /// The longest `max_ttl`, of this process or in the marker of any node.
    pub(super) fn longest_max_ttl(&self) -> Duration {
        let state = self.state.lock();
        let others = state.seats.iter().map(|seat| seat.max_ttl);
        others.fold(self.max_ttl, Duration::max)
    }

    /// How long a node that may have forgotten locks does not vote: the longest ttl of any client, a fiftieth for
    /// clocks of different speed, and what a clock may step unnoticed. Not less than it takes the
    /// time to overtake a fencing token that came from a hint at the one end of its window, with a
    /// hint at the other end.
    pub fn quarantine(&self) -> Duration {
        let longest = self.longest_max_ttl().max(HINT_WINDOW * 2);
        let margin = longest / 50 + CLOCK_WINDOW;
        longest.saturating_add(margin)
    }

    /// A seat for the node `name`.
    pub(super) fn join(&self, name: Arc<str>) -> usize {
        let mut state = self.state.lock();
        state.seats.push(Seat {
            name,
            finding: Finding::Unknown,
            run_id: None,
            was_marked: false,
            max_ttl: Duration::ZERO,
            clock: Readings::default(),
            waker: None,
        });
        state.seats.len() - 1
    }

    /// The connected node that is the same process, if there is one; otherwise records which one
    /// this node is.
    pub(super) fn twin(&self, seat: usize, run_id: Option<&str>) -> Option<Arc<str>> {
        let mut state = self.state.lock();
        let is_twin = |(index, other): &(usize, &Seat)| {
            *index != seat && run_id.is_some() && other.run_id.as_deref() == run_id
        };
        let twin = state.seats.iter().enumerate().find(is_twin);
        let twin = twin.map(|(_, other)| Arc::clone(&other.name));
        if twin.is_none() && state.seats[seat].run_id.as_deref() != run_id {
            state.seats[seat].run_id = run_id.map(str::to_owned);
        }
        twin
    }

    /// Increases if the check of a node raises a question for which the other nodes have to be asked as
    /// well. A task that sees the increase should check its node at once.
    pub fn doubts(&self) -> u64 {
        self.doubts.load(Ordering::Relaxed)
    }

    /// Wants all nodes to be looked at.
    pub(super) fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::Relaxed);
        let wakers: Vec<Waker> = {
            let seats = &self.state.lock().seats;
            seats.iter().filter_map(|seat| seat.waker.clone()).collect()
        };
        wakers.into_iter().for_each(wake);
    }

    /// Wakes the task that asks `seat` whenever [`doubts`](Self::doubts) goes up.
    pub(super) fn wake(&self, seat: usize, waker: Waker) {
        let before = self.state.lock().seats[seat].waker.replace(waker);
        drop(before);
    }

    /// Records a look at the clock of `seat`.
    pub(super) fn record_clock(&self, seat: usize, check: &CheckAnswer<'_>, look: Look) {
        if !look.is_sharp {
            return;
        }
        {
            let clock = &mut self.state.lock().seats[seat].clock;
            clock.record(check.asked, check.answered, look.stepped);
        }
        if look.stepped.is_some() {
            self.doubt();
        }
    }

    /// Whose clock the last step that was seen at `seat` was of.
    pub(super) fn whose_step(&self, seat: usize) -> SteppedClock {
        let state = self.state.lock();
        let is_connected =
            |it: &Seat| !matches!(it.finding, Finding::Unknown | Finding::Unreachable);
        let others = state.seats.iter().enumerate();
        let others = others.filter(|(index, it)| *index != seat && is_connected(it));
        let others = others.map(|(_, it)| &it.clock);
        whose_step(&state.seats[seat].clock, others, self.size)
    }

    pub(super) fn is_marked(&self, seat: usize) {
        let seat = &mut self.state.lock().seats[seat];
        seat.finding = Finding::Marked;
        seat.was_marked = true;
    }

    pub(super) fn is_unreachable(&self, seat: usize) {
        let seat = &mut self.state.lock().seats[seat];
        seat.finding = Finding::Unreachable;
        seat.run_id = None;
    }

    /// Records that `seat` is blank at `now`, and says what its set makes of that.
    pub(super) fn is_blank(&self, seat: usize, now: Moment) -> SetView {
        let mut state = self.state.lock();
        state.seats[seat].finding = Finding::Blank(now);
        if state.seats.iter().any(|seat| seat.was_marked) {
            return SetView::InUse;
        }
        if !state.is_known(self.size) {
            return SetView::Undecided;
        }
        let is_unused = |seat: &&Seat| match seat.finding {
            Finding::Blank(then) | Finding::Opening(then) => now.saturating_since(then) <= FRESH,
            _ => false,
        };
        if state.seats.iter().filter(is_unused).count() < majority(self.size) {
            return SetView::OutOfReach;
        }
        SetView::New
    }

    /// Records that `seat` has the marker of a set that is being opened at `now`, and says whether
    /// it may be opened: all that are reached are marked, and they are a majority.
    pub(super) fn is_opening(&self, seat: usize, now: Moment) -> bool {
        let mut state = self.state.lock();
        state.seats[seat].finding = Finding::Opening(now);
        let is = |wanted: fn(&Finding) -> bool| {
            let seats = state.seats.iter();
            seats.filter(|seat| wanted(&seat.finding)).count()
        };
        let marked = is(|it| matches!(it, Finding::Opening(_) | Finding::Marked));
        let blank = is(|it| matches!(it, Finding::Blank(_)));
        state.is_known(self.size) && blank == 0 && marked >= majority(self.size)
    }
}

impl SetState {
    /// Each of the nodes was reached, or found out of reach.
    fn is_known(&self, size: usize) -> bool {
        let is_known = |seat: &Seat| seat.finding != Finding::Unknown;
        self.seats.len() == size && self.seats.iter().all(is_known)
    }
}

impl fmt::Debug for CheckedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedSet")
            .field("restart_check", &self.restart_check)
            .field("max_ttl", &self.max_ttl)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
