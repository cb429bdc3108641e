//! What a state is made of, and the steps in words.

use std::fmt;

use crate::attempts::name;

/// The most slots that a node has here.
pub const SLOTS: usize = 4;

/// Everything that decides what may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const NODES: usize, const ATTEMPTS: usize> {
    /// A column for each node.
    pub columns: [Column<ATTEMPTS>; NODES],
    /// How far each attempt has come.
    pub attempts: [Phase; ATTEMPTS],
}

impl<const NODES: usize, const ATTEMPTS: usize> Default for State<NODES, ATTEMPTS> {
    fn default() -> Self {
        Self {
            columns: [Column::default(); NODES],
            attempts: [Phase::Idle; ATTEMPTS],
        }
    }
}

/// A node, and what is between it and each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column<const ATTEMPTS: usize> {
    /// A cell for each attempt.
    pub cells: [Cell; ATTEMPTS],
}

impl<const ATTEMPTS: usize> Default for Column<ATTEMPTS> {
    fn default() -> Self {
        Self {
            cells: [Cell::default(); ATTEMPTS],
        }
    }
}

/// What is between a node and an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The acquisition and its answer.
    pub vote: Vote,
    /// The slots that the answer names: a bit for each.
    pub answered: u8,
    /// The slots that the node keeps for the attempt: a bit for each. In a design without slots, the
    /// lowest bit says that the attempt is there.
    pub kept: u8,
    /// The attempts that were there when the node added this one, itself included: a bit for each.
    pub counted: Option<u8>,
}

/// An acquisition on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vote {
    /// Not sent, or on its way to the node, perhaps for ever.
    #[default]
    Underway,
    /// The node had no free slot.
    Refused,
    /// The node granted it.
    Granted,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing was sent.
    #[default]
    Idle,
    /// The acquisition was sent.
    Trying,
    /// The attempt holds what it asked for.
    Held,
    /// The attempt was given up, or its lease is over. What it left on the nodes may go away.
    Over,
}

/// A step.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the texts below say what they are")]
pub enum Action {
    Start(usize),
    Grant(usize, usize, u8),
    Refuse(usize, usize),
    Hold(usize),
    End(usize),
    Vanish(usize, usize),
    LetGo(usize, usize),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Start(a) => write!(f, "{} sends its acquisition to all nodes", name(a)),
            Self::Grant(a, n, slots) => {
                write!(f, "node {} grants {}, slots {slots:#b}", n + 1, name(a))
            }
            Self::Refuse(a, n) => write!(f, "node {} refuses {}", n + 1, name(a)),
            Self::Hold(a) => write!(f, "{} holds", name(a)),
            Self::End(a) => write!(f, "{} is over", name(a)),
            Self::Vanish(a, n) => write!(f, "node {} forgets {}", n + 1, name(a)),
            Self::LetGo(a, n) => {
                write!(f, "node {} forgets what {} did not win", n + 1, name(a))
            }
        }
    }
}
