//! The nodes of one client, and what their checks know of each other.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::debug::debug_in_part;
use crate::env::Moment;
use crate::model::limits::MAX_TTL;
use crate::node::EpochListener;
use crate::quorum::majority;

use super::clock::{NodeClock, SteppedClock};
use super::marker::{Found, OPENING};
use super::{CheckAnswer, RestartCheck, marker_key};

/// The age at which a finding stops counting. A client checks blank nodes more often than this.
const FRESH: Duration = Duration::from_secs(2);

/// The nodes of one client, with the last finding of each. The findings tell a new set from nodes that forgot. The
/// [node checks](super::NodeCheck) of the nodes share the set.
pub struct CheckedSet {
    restart_check: RestartCheck,
    /// The longest ttl that this process may use.
    pub(super) max_ttl: Duration,
    /// The configured number of nodes.
    size: usize,
    pub(crate) key_prefix: Box<[u8]>,
    /// The nodes that have joined. Seats are never removed, so an index stays valid.
    pub(super) seats: Mutex<Vec<Seat>>,
}

/// A node of the set.
#[derive(Default)]
pub(super) struct Seat {
    pub(super) name: Arc<str>,
    pub(super) finding: Finding,
    /// The `run_id` of the node's last process, if the server shows it.
    run_id: Option<String>,
    /// True if the node has, or had, a marker other than `opening`. Its set is then not new.
    was_in_use: bool,
    /// True if the node's last answer showed the marker of another wire format.
    is_foreign: bool,
    /// The `max_ttl` in the node's last marker.
    max_ttl: Duration,
    clock: NodeClock,
    /// Called when another node's check has to know this node's clock at once.
    pub(super) on_doubt: Option<EpochListener>,
}

impl Seat {
    /// Records a check of the node, and returns the step of its clock. With `trust_aof`, the node stays on one host, so
    /// its clock is compared even across a restart.
    fn record(&mut self, check: &CheckAnswer<'_>, found: &Found, trust_aof: bool) -> Option<i64> {
        let before = self.run_id.as_deref().filter(|_| !trust_aof);
        let stepped_ms = self.clock.read(check, before);
        let now = check.answered;
        self.run_id = check.run_id.map(str::to_owned);
        self.finding = match found {
            Found::Nothing => Finding::Blank(now),
            Found::Marker(it) if it.cause == OPENING && it.is_of(check) => Finding::Opening(now),
            _ => Finding::InUse,
        };
        self.was_in_use |= self.finding == Finding::InUse;
        self.is_foreign = matches!(found, Found::Foreign(_));
        if let Found::Marker(marker) = found {
            self.max_ttl = marker.max_ttl;
        }
        stepped_ms
    }
}

#[derive(Default, PartialEq, Eq)]
pub(super) enum Finding {
    /// The first attempt to reach the node is still running.
    #[default]
    Unknown,
    Unreachable,
    /// The node was blank, without a marker, at that moment.
    Blank(Moment),
    /// The node had the marker `opening` at that moment.
    Opening(Moment),
    InUse,
}

/// The facts that decide a verdict, from the check itself and from other nodes.
pub(super) struct CheckFacts<'a> {
    pub(super) check: &'a CheckAnswer<'a>,
    pub(super) found: Found,
    pub(super) set: SetView,
    /// The step of the node's clock since the last check, in ms; positive if forwards.
    pub(super) stepped_ms: Option<i64>,
    /// The owner of the clock that stepped: the node, or this host.
    pub(super) whose_step: SteppedClock,
    /// The longest known `max_ttl`: of this process, or in the marker of any node.
    pub(super) longest_max_ttl: Duration,
}

/// The state of the set, which decides about a blank or `opening` node.
#[derive(PartialEq, Eq)]
pub(super) enum SetView {
    /// A node has the marker of another wire format. Clients of that format may use the set.
    Foreign,
    /// The first attempt to reach some node is still running.
    Untried,
    /// The node is blank, and some node is, or was, in use.
    InUse,
    /// Too few nodes for a majority are reachable.
    Minority,
    /// The set is new, and some reached node is blank.
    New,
    /// The reached nodes are a majority, and each has a marker.
    Marked,
}

/// Makes the set of a single node, with the restart check off.
impl Default for CheckedSet {
    fn default() -> Self {
        Self::new(RestartCheck::Off, MAX_TTL, 1, b"")
    }
}

impl CheckedSet {
    /// Makes a set of `size` nodes, whose locks live for at most `max_ttl`. Each key of the client begins with
    /// `key_prefix`, the marker's too.
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

    /// Makes the set for one master of a Cluster. Only the clock of a master is checked.
    #[cfg(feature = "cluster")]
    pub(crate) fn of_a_part(&self) -> Self {
        Self::new(RestartCheck::Off, self.max_ttl, 1, &self.key_prefix)
    }

    /// Returns the key of the marker on every node.
    pub fn marker_key(&self) -> Vec<u8> {
        marker_key(&self.key_prefix)
    }

    /// Returns the mode of the restart check.
    pub fn restart_check(&self) -> RestartCheck {
        self.restart_check
    }

    /// Adds the node `name`, and returns its seat.
    pub(super) fn join(&self, name: Arc<str>) -> usize {
        let mut seats = self.seats.lock();
        seats.push(Seat {
            name,
            ..Seat::default()
        });
        seats.len() - 1
    }

    /// Records a check of `seat`, and returns the facts. After a step of its clock, the other nodes are checked at
    /// once. An error is the reason why the server must not vote as this node.
    pub(super) fn record<'a>(
        &self,
        seat: usize,
        check: &'a CheckAnswer<'a>,
        trust_aof: bool,
    ) -> Result<CheckFacts<'a>, String> {
        let mut seats = self.seats.lock();
        if let Some(reason) = twin_fault(&seats, seat, check) {
            seats[seat].finding = Finding::Unreachable;
            return Err(reason);
        }
        let found = Found::of(check.marker);
        let stepped_ms = seats[seat].record(check, &found, trust_aof);
        let clocks = others(&seats, seat).map(|it| &it.clock);
        let facts = CheckFacts {
            check,
            found,
            set: self.view(&seats, seat, check.answered),
            stepped_ms,
            whose_step: seats[seat].clock.whose_step(clocks, majority(self.size)),
            longest_max_ttl: (seats.iter()).fold(self.max_ttl, |it, seat| it.max(seat.max_ttl)),
        };
        let doubted = others(&seats, seat).filter(|_| stepped_ms.is_some());
        let listeners: Vec<_> = doubted.filter_map(|it| it.on_doubt.clone()).collect();
        drop(seats);
        for ask in listeners {
            ask();
        }
        Ok(facts)
    }

    fn view(&self, seats: &[Seat], seat: usize, now: Moment) -> SetView {
        let is_reached = |it: &&Seat| match it.finding {
            Finding::Blank(then) | Finding::Opening(then) => now.saturating_since(then) <= FRESH,
            Finding::InUse => true,
            Finding::Unknown | Finding::Unreachable => false,
        };
        let is_blank = |it: &Seat| matches!(it.finding, Finding::Blank(_));
        let is_tried = |it: &Seat| it.finding != Finding::Unknown;
        if seats.iter().any(|it| it.is_foreign) {
            SetView::Foreign
        } else if seats.len() < self.size || !seats.iter().all(is_tried) {
            SetView::Untried
        } else if is_blank(&seats[seat]) && seats.iter().any(|it| it.was_in_use) {
            SetView::InUse
        } else if seats.iter().filter(is_reached).count() < majority(self.size) {
            SetView::Minority
        } else if seats.iter().any(is_blank) {
            SetView::New
        } else {
            SetView::Marked
        }
    }
}

/// Returns the other nodes that are connected.
fn others(seats: &[Seat], seat: usize) -> impl Iterator<Item = &Seat> {
    let is_connected = |it: &Seat| !matches!(it.finding, Finding::Unknown | Finding::Unreachable);
    let others = seats.iter().enumerate().filter(move |(at, _)| *at != seat);
    others.map(|(_, it)| it).filter(move |it| is_connected(it))
}

/// Returns the fault of a server that is another connected node too.
fn twin_fault(seats: &[Seat], seat: usize, check: &CheckAnswer<'_>) -> Option<String> {
    let is_twin = |it: &&Seat| it.run_id.is_some() && it.run_id.as_deref() == check.run_id;
    let twin = others(seats, seat).find(is_twin)?;
    Some(format!(
        "`{}` is the same server as `{}`; two votes of one server are no majority: give each pool a server of its own",
        seats[seat].name, twin.name,
    ))
}

debug_in_part!(CheckedSet);
