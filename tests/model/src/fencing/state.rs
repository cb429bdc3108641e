//! What decides how things can go on.

use std::fmt;

use crate::attempts::{bits, name};

/// All nodes and all attempts. What concerns one node stands in one column, so that sorting the
/// columns is all that it takes to tell two states that differ in the nodes' names only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const NODES: usize, const ATTEMPTS: usize> {
    /// One for each node.
    pub columns: [Column<ATTEMPTS>; NODES],
    /// What each attempt knows of itself.
    pub attempts: [Attempt; ATTEMPTS],
    /// The store, if leases are [handed over](super::HandOver).
    pub store: Store,
}

/// A store that records the number of each lease as the lease begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Store {
    /// The highest number of a writer.
    pub written: u8,
    /// The highest number of a reader.
    pub read: u8,
    /// The number that it refused.
    pub refused: Option<u8>,
}

impl Store {
    /// Records the number of a lease, or refuses it.
    pub(super) fn record(&mut self, number: u8, is_read: bool) {
        // Counters begin at zero, so there is no number yet if the highest one is zero.
        let is_above = |highest: u8| highest == 0 || number > highest;
        if !is_above(self.written) || !(is_read || is_above(self.read)) {
            self.refused = Some(number);
        } else if is_read {
            self.read = self.read.max(number);
        } else {
            self.written = number;
        }
    }
}

impl<const NODES: usize, const ATTEMPTS: usize> Default for State<NODES, ATTEMPTS> {
    fn default() -> Self {
        Self {
            columns: [Column {
                keys: 0,
                counter: 0,
                refuses: 0,
                is_ahead: false,
                cells: [Cell::default(); ATTEMPTS],
            }; NODES],
            attempts: [Attempt::default(); ATTEMPTS],
            store: Store::default(),
        }
    }
}

/// One node, and what goes on between it and each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column<const ATTEMPTS: usize> {
    /// The attempts whose keys are there: a bit for each.
    pub keys: u8,
    /// The node's counter.
    pub counter: u8,
    /// The attempts that it will not grant because it restarted since they began. A bit for each.
    pub refuses: u8,
    /// Its clock shows more than the time.
    pub is_ahead: bool,
    /// One for each attempt.
    pub cells: [Cell; ATTEMPTS],
}

/// What goes on between one node and one attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The acquisition and its answer.
    pub vote: Vote,
    /// The counter in the answer.
    pub answered: u8,
    /// The counter before the grant, as far as blocks need it.
    pub before: u8,
    /// The confirmation and its answer.
    pub standing: Standing,
    /// The attempts that this node had granted before it granted this one. A bit for each.
    pub earlier: u8,
}

/// An acquisition on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vote {
    /// On its way to the node, perhaps for ever.
    #[default]
    Underway,
    /// Granted, and the attempt may know.
    Granted,
    /// The lease rests on it.
    Counted,
    /// Granted, but the lease rests on others.
    Spare,
}

/// A confirmation on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// Not asked for.
    #[default]
    Unasked,
    /// On its way to the node, perhaps for ever.
    Underway,
    /// The node stands at the token, and the attempt may know.
    Confirmed,
}

/// What an attempt knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// How far it has come.
    pub phase: Phase,
    /// The number at which counters have to stand for its token, once it has chosen one.
    pub count: u8,
    /// The first number of its block, if there are blocks.
    pub first: u8,
    /// How many of the block leases have had, if leases are handed over.
    pub used: u8,
    /// The attempts that held their lease when this one began: when it started, or when a node
    /// first granted it, as the promise has it. A bit for each.
    pub before: u8,
}

/// How far an attempt has come. One that fails, or whose client dies, gets no further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing was sent.
    #[default]
    Idle,
    /// Waiting for a majority of grants.
    Trying,
    /// It has a token, and waits until a majority stands there.
    Confirming,
    /// It holds the lease.
    Held,
    /// Its lease has ended, or it failed.
    Over,
}

impl<const NODES: usize, const ATTEMPTS: usize> State<NODES, ATTEMPTS> {
    /// Returns the attempts that hold a lease. A bit for each.
    pub(super) fn held(&self) -> u8 {
        bits(ATTEMPTS, |a| self.attempts[a].phase == Phase::Held)
    }

    /// True if any node has granted `attempt`.
    pub(super) fn has_begun(&self, attempt: usize) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| column.cells[attempt].vote != Vote::Underway)
    }
}

/// A step.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the texts below say what they are")]
pub enum Action {
    Start(usize),
    Grant(usize, usize, u8),
    GrantAgain(usize, usize, u8),
    Choose(usize, u8),
    Confirm(usize, usize, u8),
    Hold(usize, u8),
    TakeOver(usize, u8),
    End(usize),
    Restore(usize, usize),
    Vanish(usize, usize),
    Restart(usize),
    Mend(usize),
    Expire(usize),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Start(a) => write!(f, "{} sends its acquisition to all nodes", name(a)),
            Self::Grant(a, n, c) => write!(f, "node {} grants {}, counter {c}", n + 1, name(a)),
            Self::GrantAgain(a, n, c) => write!(
                f,
                "node {} runs {}'s acquisition again and grants it, counter {c}",
                n + 1,
                name(a)
            ),
            Self::Choose(a, token) => write!(
                f,
                "{} has a majority, its token will be {token}; nodes below are asked to confirm",
                name(a)
            ),
            Self::Confirm(a, n, c) => write!(
                f,
                "node {} confirms {}'s token, counter {c}",
                n + 1,
                name(a)
            ),
            Self::Hold(a, token) => write!(f, "{} holds the lease with token {token}", name(a)),
            Self::TakeOver(a, token) => {
                write!(
                    f,
                    "the next caller takes {}'s lease over with token {token}",
                    name(a)
                )
            }
            Self::End(a) => write!(f, "{} ends", name(a)),
            Self::Restore(a, n) => write!(f, "node {} restores {}'s key", n + 1, name(a)),
            Self::Vanish(a, n) => write!(f, "{}'s key vanishes from node {}", name(a), n + 1),
            Self::Restart(n) => write!(f, "node {} restarts empty", n + 1),
            Self::Mend(n) => write!(f, "node {}'s clock is mended", n + 1),
            Self::Expire(n) => write!(f, "node {}'s counter expires", n + 1),
        }
    }
}
