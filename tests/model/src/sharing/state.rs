//! What a state is made of, and the steps in words.

use std::fmt;

use crate::attempts::name;

/// Everything that decides what may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const NODES: usize, const ATTEMPTS: usize> {
    /// A column for each node.
    pub columns: [Column<ATTEMPTS>; NODES],
    /// What each attempt knows of itself.
    pub attempts: [Attempt; ATTEMPTS],
    /// How many keys were lost.
    pub lost: u8,
    /// True if an attempt that the watched lease excludes began and won before the extension of that lease
    /// was sent.
    pub is_intruded: bool,
    /// True if a majority has granted the extension of the lease that is watched.
    pub is_extended: bool,
}

impl<const NODES: usize, const ATTEMPTS: usize> Default for State<NODES, ATTEMPTS> {
    fn default() -> Self {
        Self {
            columns: [Column::default(); NODES],
            attempts: [Attempt::default(); ATTEMPTS],
            lost: 0,
            is_intruded: false,
            is_extended: false,
        }
    }
}

/// A node, and what is between it and each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column<const ATTEMPTS: usize> {
    /// What the key holds.
    pub key: Key,
    /// The readers that have an entry: a bit for each.
    pub entries: u8,
    /// The readers for whose leases the marker lasts: a bit for each.
    pub covers: u8,
    /// A cell for each attempt.
    pub cells: [Cell; ATTEMPTS],
}

impl<const ATTEMPTS: usize> Default for Column<ATTEMPTS> {
    fn default() -> Self {
        Self {
            key: Key::None,
            entries: 0,
            covers: 0,
            cells: [Cell::default(); ATTEMPTS],
        }
    }
}

/// What the key of the resource holds at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// There is no key.
    #[default]
    None,
    /// The marker that says that readers are in.
    Marker,
    /// The owner token of this attempt.
    Of(u8),
}

/// What is between a node and an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The acquisition and its answer.
    pub vote: Vote,
    /// True if the lease was made by this node's grant, among others.
    pub counts: bool,
    /// The extension and its answer.
    pub extend: Extend,
    /// The release.
    pub release: Told,
}

/// An acquisition on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vote {
    /// Not sent, or on its way to the node, perhaps for ever.
    #[default]
    Underway,
    /// Somebody else was in.
    Refused,
    /// The node granted it.
    Granted,
}

/// An extension on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extend {
    /// Not sent.
    #[default]
    Unasked,
    /// On its way to the node, perhaps for ever.
    Underway,
    /// The entry was there.
    Granted,
}

/// A message without an answer that matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Told {
    /// Not sent.
    #[default]
    Not,
    /// On its way to the node, perhaps for ever.
    Underway,
    /// Carried out.
    Done,
}

/// What an attempt knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// How far it has come.
    pub phase: Phase,
    /// True if it began while the lease that is watched was valid.
    pub began_beside: bool,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing was sent.
    #[default]
    Idle,
    /// The acquisition was sent.
    Trying,
    /// The lease is valid.
    Held,
    /// The attempt was given up, or its lease is over.
    Over,
}

/// A step.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the texts below say what they are")]
pub enum Action {
    Start(usize),
    Grant(usize, usize),
    Refuse(usize, usize),
    Hold(usize),
    Extend(usize),
    Prolong(usize, usize),
    Proved(usize),
    End(usize),
    Release(usize, usize),
    EntryExpires(usize, usize),
    KeyExpires(usize),
    KeyIsLost(usize),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = |n: usize| format!("node {}", n + 1);
        match *self {
            Self::Start(a) => write!(f, "{} sends its acquisition to all nodes", name(a)),
            Self::Grant(a, n) => write!(f, "{} grants {}", node(n), name(a)),
            Self::Refuse(a, n) => write!(f, "{} refuses {}", node(n), name(a)),
            Self::Hold(a) => write!(f, "{} holds", name(a)),
            Self::Extend(a) => write!(f, "{} sends an extension to all nodes", name(a)),
            Self::Prolong(a, n) => write!(f, "{} prolongs {}'s entry", node(n), name(a)),
            Self::Proved(a) => write!(f, "{}'s extension succeeds", name(a)),
            Self::End(a) => write!(f, "{} is over", name(a)),
            Self::Release(a, n) => write!(f, "{} serves {}'s release", node(n), name(a)),
            Self::EntryExpires(a, n) => write!(f, "{}'s entry expires at {}", name(a), node(n)),
            Self::KeyExpires(n) => write!(f, "the key expires at {}", node(n)),
            Self::KeyIsLost(n) => write!(f, "the key is lost at {}", node(n)),
        }
    }
}
