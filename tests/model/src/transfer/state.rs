//! What a state is made of, and the steps in words.

use std::fmt;

use crate::attempts::{key_of, name};

/// Everything that decides what may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const NODES: usize, const ATTEMPTS: usize> {
    /// A column for each node.
    pub columns: [Column<ATTEMPTS>; NODES],
    /// How far each attempt has come.
    pub attempts: [Phase; ATTEMPTS],
    /// Whether it ever had a lease.
    pub has_won: [bool; ATTEMPTS],
    /// Whether the giver has sent what puts its key back.
    pub has_put_back: bool,
}

impl<const NODES: usize, const ATTEMPTS: usize> Default for State<NODES, ATTEMPTS> {
    fn default() -> Self {
        Self {
            columns: [Column::default(); NODES],
            attempts: [Phase::Idle; ATTEMPTS],
            has_won: [false; ATTEMPTS],
            has_put_back: false,
        }
    }
}

/// A node, and what is between it and each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column<const ATTEMPTS: usize> {
    /// Whose token the key holds: the attempt's number + 1, or 0 if there is no key.
    pub key: u8,
    /// Each attempt's acquisition.
    pub votes: [Vote; ATTEMPTS],
    /// Each attempt's release is on its way.
    pub releases: [bool; ATTEMPTS],
    /// The message that puts the giver's key back is on its way.
    pub puts_back: bool,
}

impl<const ATTEMPTS: usize> Default for Column<ATTEMPTS> {
    fn default() -> Self {
        Self {
            key: 0,
            votes: [Vote::Underway; ATTEMPTS],
            releases: [false; ATTEMPTS],
            puts_back: false,
        }
    }
}

impl<const ATTEMPTS: usize> Column<ATTEMPTS> {
    /// True if the key holds the token of `attempt`.
    pub(super) fn has_key_of(&self, attempt: usize) -> bool {
        self.key == key_of(attempt)
    }
}

/// An acquisition or a claim on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vote {
    /// Not sent, or on its way to the node, perhaps for ever.
    #[default]
    Underway,
    /// The node refused it.
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
    /// It has a lease.
    Valid,
    /// It was given up, or its lease is over.
    Over,
}

/// A step.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the texts below say what they are")]
pub enum Action {
    Start(usize),
    Win(usize),
    GiveUp(usize),
    End(usize),
    GiveAway,
    PutBack,
    Grant(usize, usize),
    Refuse(usize, usize),
    Release(usize, usize),
    IsPutBack(usize),
    Expire(usize),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Start(a) => write!(f, "{} asks all nodes", name(a)),
            Self::Win(a) => write!(f, "{} has a lease", name(a)),
            Self::GiveUp(a) => write!(f, "{} gives up, and sends its release", name(a)),
            Self::End(a) => write!(f, "the lease of {} ends, and it sends its release", name(a)),
            Self::GiveAway => f.write_str("A ends its lease and makes a ticket"),
            Self::PutBack => f.write_str("A sends what puts its key back"),
            Self::Grant(a, n) => write!(f, "node {} grants {}", n + 1, name(a)),
            Self::Refuse(a, n) => write!(f, "node {} refuses {}", n + 1, name(a)),
            Self::Release(a, n) => {
                write!(f, "the release of {} arrives at node {}", name(a), n + 1)
            }
            Self::IsPutBack(n) => write!(f, "node {} has A's key put back", n + 1),
            Self::Expire(n) => write!(f, "the key at node {} expires", n + 1),
        }
    }
}
