//! What the nodes of one client know of each other.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::env::Moment;
use crate::env::caught::caught;
use crate::model::limits::MAX_TTL;
use crate::node::EpochListener;
use crate::quorum::fencing::HINT_WINDOW;
use crate::quorum::majority;

use super::clock::{NodeClock, SteppedClock};
use super::{CLOCK_WINDOW, CheckAnswer, RestartCheck, marker_key};

/// A finding that is older than this no longer counts. Blank nodes are checked more often than that.
const FRESH: Duration = Duration::from_secs(2);

/// The nodes of one registry, with the last finding of each, which tells a new set from nodes that
/// forgot. Their [node checks](super::NodeCheck) share it.
pub struct CheckedSet {
    restart_check: RestartCheck,
    /// The longest ttl of this process.
    pub(super) max_ttl: Duration,
    /// How many nodes there will be, joined or not.
    size: usize,
    key_prefix: Box<[u8]>,
    /// No seat is ever given up, so that indexing does not panic under the lock.
    pub(super) seats: Mutex<Vec<Seat>>,
}

pub(super) struct Seat {
    name: Arc<str>,
    pub(super) finding: Finding,
    /// The node's process, if it is connected and known.
    pub(super) run_id: Option<String>,
    /// True if the node has, or had, a marker under which it may vote: its set is not new.
    pub(super) was_in_use: bool,
    /// The `max_ttl` in the node's last marker.
    pub(super) max_ttl: Duration,
    clock: NodeClock,
    /// Called when the check of another node raises a question for which this node has to be asked.
    pub(super) on_doubt: Option<EpochListener>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// The first attempt to reach it is not over.
    Unknown,
    Unreachable,
    /// Reached, without a marker, as of then.
    Blank(Moment),
    /// Reached, with the marker of a set that is being opened, as of then.
    Opening(Moment),
    InUse,
}

/// What the set says about a node of it that is blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetView {
    /// A node is, or was, in use.
    InUse,
    /// Some nodes have not been reached, and not been found out of reach either.
    Undecided,
    /// Less than a majority is reachable.
    OutOfReach,
    /// The set is new.
    New,
}

impl CheckedSet {
    /// A set of `size` nodes, whose locks live for at most `max_ttl`. `key_prefix` comes before all keys of the client,
    /// the marker's too.
    pub fn new(
        restart_check: RestartCheck,
        max_ttl: Duration,
        size: usize,
        key_prefix: &[u8],
    ) -> Self {
        Self {
            restart_check,
            max_ttl: max_ttl.min(MAX_TTL),
            size,
            key_prefix: key_prefix.into(),
            seats: Mutex::default(),
        }
    }

    /// What comes before all keys of the client.
    pub(crate) fn key_prefix(&self) -> &[u8] {
        &self.key_prefix
    }

    /// The key of the marker on every node.
    pub fn marker_key(&self) -> Vec<u8> {
        marker_key(&self.key_prefix)
    }

    /// What is done about nodes that may have forgotten locks.
    pub fn restart_check(&self) -> RestartCheck {
        self.restart_check
    }

    /// The longest `max_ttl`, of this process or in the marker of any node.
    pub(super) fn longest_max_ttl(&self) -> Duration {
        let seats = self.seats.lock();
        let others = seats.iter().map(|seat| seat.max_ttl);
        others.fold(self.max_ttl, Duration::max)
    }

    /// How long a node that may have forgotten locks does not vote: the longest ttl of any client, a fiftieth for
    /// clocks of different speed, and what a clock may step unnoticed. Not less than it takes the
    /// time to overtake a fencing token that came from a hint at the one end of its window, with a
    /// hint at the other end.
    pub(super) fn quarantine(&self) -> Duration {
        let longest = self.longest_max_ttl().max(HINT_WINDOW * 2);
        let margin = longest / 50 + CLOCK_WINDOW;
        longest.saturating_add(margin)
    }

    /// A seat for the node `name`.
    pub(super) fn join(&self, name: Arc<str>) -> usize {
        let mut seats = self.seats.lock();
        seats.push(Seat {
            name,
            finding: Finding::Unknown,
            run_id: None,
            was_in_use: false,
            max_ttl: Duration::ZERO,
            clock: NodeClock::default(),
            on_doubt: None,
        });
        seats.len() - 1
    }

    /// The reason why the process `run_id` must not vote as the node of `seat`: a connected node is this process. If
    /// there is none, records which process the node is.
    pub(super) fn refusal(&self, seat: usize, run_id: Option<&str>) -> Option<String> {
        let mut seats = self.seats.lock();
        let mut others = seats.iter().enumerate();
        let twin = others.find(|(index, other)| {
            *index != seat && run_id.is_some() && other.run_id.as_deref() == run_id
        });
        if let Some((_, twin)) = twin {
            return Some(format!(
                "`{}` is the same server as `{}`; two votes of one server are no majority: give \
                 each pool a server of its own",
                seats[seat].name, twin.name,
            ));
        }
        if seats[seat].run_id.as_deref() != run_id {
            seats[seat].run_id = run_id.map(str::to_owned);
        }
        None
    }

    /// Reads the clock of `seat`, which is another clock than before if `is_other`. The result is its step, in ms.
    /// After a step all nodes have to be asked.
    pub(super) fn read_clock(
        &self,
        seat: usize,
        check: &CheckAnswer<'_>,
        is_other: bool,
    ) -> Option<i64> {
        let mut seats = self.seats.lock();
        let clock = &mut seats[seat].clock;
        if is_other {
            *clock = NodeClock::default();
        }
        let step = clock.read(check)?;
        let others = seats.iter().enumerate().filter(|(at, _)| *at != seat);
        let listeners: Vec<_> = others.filter_map(|(_, it)| it.on_doubt.clone()).collect();
        drop(seats);
        for ask in listeners {
            caught("a listener to doubts", &*ask);
        }
        Some(step)
    }

    /// Whose clock the last step that was seen at `seat` was of.
    pub(super) fn whose_step(&self, seat: usize) -> SteppedClock {
        let seats = self.seats.lock();
        let is_connected =
            |it: &Seat| !matches!(it.finding, Finding::Unknown | Finding::Unreachable);
        let others = seats.iter().enumerate();
        let others = others.filter(|(index, it)| *index != seat && is_connected(it));
        let clocks = others.map(|(_, it)| &it.clock);
        seats[seat].clock.whose_step(clocks, majority(self.size))
    }

    /// Records that `seat` is blank at `now`, and says what that makes of the set.
    pub(super) fn is_blank(&self, seat: usize, now: Moment) -> SetView {
        let mut seats = self.seats.lock();
        seats[seat].finding = Finding::Blank(now);
        let is_unused = |seat: &&Seat| match seat.finding {
            Finding::Blank(then) | Finding::Opening(then) => now.saturating_since(then) <= FRESH,
            _ => false,
        };
        if seats.iter().any(|seat| seat.was_in_use) {
            SetView::InUse
        } else if !self.is_known(&seats) {
            SetView::Undecided
        } else if seats.iter().filter(is_unused).count() < majority(self.size) {
            SetView::OutOfReach
        } else {
            SetView::New
        }
    }

    /// Records that `seat` has the marker of a set that is being opened at `now`, and says whether it may be opened:
    /// all nodes that are reached are marked, and they are a majority.
    pub(super) fn is_opening(&self, seat: usize, now: Moment) -> bool {
        let mut seats = self.seats.lock();
        seats[seat].finding = Finding::Opening(now);
        let count = |wanted: fn(&Finding) -> bool| {
            let findings = seats.iter().map(|seat| &seat.finding);
            findings.filter(|it| wanted(it)).count()
        };
        let blank = count(|it| matches!(it, Finding::Blank(_)));
        let marked = count(|it| matches!(it, Finding::Opening(_) | Finding::InUse));
        self.is_known(&seats) && blank == 0 && marked >= majority(self.size)
    }

    /// Each of the nodes was reached, or found out of reach.
    fn is_known(&self, seats: &[Seat]) -> bool {
        let is_known = |seat: &Seat| seat.finding != Finding::Unknown;
        seats.len() == self.size && seats.iter().all(is_known)
    }
}

impl fmt::Debug for CheckedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedSet")
            .field("restart_check", &self.restart_check)
            .field("max_ttl", &self.max_ttl)
            .finish_non_exhaustive()
    }
}
