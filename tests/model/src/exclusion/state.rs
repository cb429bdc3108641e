//! What decides how things can go on.

use std::fmt;

use crate::attempts::{bits, key_of, name};

/// All nodes and all attempts; one column a node, as in [`crate::fencing::State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const NODES: usize, const ATTEMPTS: usize> {
    /// One for each node.
    pub columns: [Column<ATTEMPTS>; NODES],
    /// What each attempt knows of itself.
    pub attempts: [Attempt; ATTEMPTS],
    /// How many restarts there were.
    pub restarts: u8,
}

impl<const NODES: usize, const ATTEMPTS: usize> Default for State<NODES, ATTEMPTS> {
    fn default() -> Self {
        Self {
            columns: [Column {
                key: 0,
                age: Age::Old,
                restored: false,
                cells: [Cell::default(); ATTEMPTS],
            }; NODES],
            attempts: [Attempt::default(); ATTEMPTS],
            restarts: 0,
        }
    }
}

/// One node, and what goes on between it and each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column<const ATTEMPTS: usize> {
    /// Whose key is there: the attempt's number + 1, or 0.
    pub key: u8,
    /// How long the key lives.
    pub age: Age,
    /// True if the key was put there by a restoring.
    pub restored: bool,
    /// One for each attempt.
    pub cells: [Cell; ATTEMPTS],
}

/// How long a key lives, compared with its owner's lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Age {
    /// Perhaps less long: an extension has succeeded that did not reach it.
    Old,
    /// At least as long.
    Current,
    /// At least as long, also if the round that is under way succeeds.
    Ahead,
}

/// What goes on between one node and one attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The acquisition.
    pub acquire: Acquire,
    /// The extension of the latest round. One of an earlier round could only prolong a key that
    /// may then still vanish in the model, so it need not be kept.
    pub extend: Extend,
    /// The restorings under way: a bit for each round.
    pub restores: u8,
    /// True if a release is under way.
    pub release: bool,
    /// What a yes of this node is worth.
    pub standing: Standing,
    /// Why the node, restarted, waits before it votes.
    pub awaited: Awaited,
}

/// An acquisition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Acquire {
    /// Not sent.
    #[default]
    Unsent,
    /// On its way to the node, perhaps for ever.
    Underway,
    /// Somebody else's key was there.
    Refused,
    /// Granted, and the attempt may know.
    Granted,
}

/// An extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extend {
    /// Not sent, or of no interest any more.
    #[default]
    Unsent,
    /// On its way to the node, perhaps for ever.
    Underway,
    /// Prolonged, and the attempt may know.
    Yes,
    /// Not our key, and the attempt may know.
    No,
}

/// What a yes of a node is worth, where not every yes counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// Nothing, while the answer is outstanding: our key on the node may have been set at any time.
    #[default]
    Out,
    /// Nothing, after a lost answer: its `SET` may have run.
    Unanswered,
    /// A round found our key there, and another one has begun since.
    Waiting,
    /// Our key has been there all the time, or since before a round that was won without it.
    Firm,
}

/// Why a node that restarted waits before it votes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Awaited {
    /// Not for this attempt.
    #[default]
    No,
    /// It had begun, and its lease may still be valid by what it did before the restart.
    Yes,
    /// The same, but it has begun to extend since the restart.
    Extending,
}

/// What an attempt knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct Attempt {
    /// How far it has come.
    pub phase: Phase,
    /// The rounds of extension that were begun.
    pub rounds: u8,
    /// The latest that was won; 0 is the acquisition.
    pub won: u8,
    /// True if a round is under way.
    pub extending: bool,
    /// True if its first part is over, in which no key of it vanishes; kept only where the keys or
    /// the counting ask for it.
    pub is_late: bool,
    /// True if it ever had a lease.
    pub succeeded: bool,
    /// The attempts that had had a lease when this one started. A bit for each; kept only where
    /// the promise asks for it.
    pub after: u8,
    /// The attempts that started after this one had its lease and had theirs before its latest
    /// round began. A bit for each; kept only where the promise asks for it.
    pub between: u8,
    /// Whether it had a majority of the keys all the time; kept only where the promise asks for it.
    pub possession: Possession,
    /// The lease has been extended with the help of a key that was set late.
    pub on_late_key: bool,
}

/// Whether a lease had a majority of the keys all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Possession {
    /// It had the majority all the time.
    #[default]
    Whole,
    /// It may have lacked the majority since its latest round began.
    Broken,
    /// It lacked the majority before its latest round began, or another client had a lease.
    BrokenBeforeRound,
    /// As [`Self::BrokenBeforeRound`], and the round succeeded.
    Unnoticed,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Nothing was sent.
    #[default]
    Idle,
    /// Waiting for grants.
    Trying,
    /// It has a lease.
    Valid,
    /// It has failed, or its lease is over.
    Over,
}

impl<const NODES: usize, const ATTEMPTS: usize> State<NODES, ATTEMPTS> {
    /// Returns the attempts that have had a lease. A bit for each.
    pub(super) fn succeeded(&self) -> u8 {
        bits(ATTEMPTS, |a| self.attempts[a].succeeded)
    }

    /// Returns the columns with a key of attempt `a`.
    pub(super) fn keys_of(&mut self, a: usize) -> impl Iterator<Item = &mut Column<ATTEMPTS>> {
        self.columns
            .iter_mut()
            .filter(move |column| column.is_of(a))
    }
}

impl<const ATTEMPTS: usize> Column<ATTEMPTS> {
    /// True if the key is attempt `a`'s.
    pub(super) fn is_of(&self, a: usize) -> bool {
        self.key == key_of(a)
    }

    pub(super) fn set(&mut self, a: usize, age: Age) {
        self.key = key_of(a);
        self.age = age;
        self.restored = false;
    }

    /// True if the node restarted, and must not vote yet.
    pub(super) fn waits(&self) -> bool {
        let mut cells = self.cells.iter();
        cells.any(|cell| cell.awaited != Awaited::No)
    }

    pub(super) fn clear(&mut self) {
        self.key = 0;
        self.age = Age::Old;
        self.restored = false;
    }
}

/// A step.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the texts below say what they are")]
pub enum Action {
    Start(usize, usize),
    Grant(usize, usize),
    Refuse(usize, usize),
    Establish(usize),
    End(usize),
    ReleaseEarly(usize),
    Release(usize, usize),
    BeginRound(usize),
    Prolong(usize, usize),
    DoNotProlong(usize, usize),
    Win(usize),
    GrowLate(usize),
    SendRestore(usize, usize),
    Restore(usize, usize),
    DoNotRestore(usize, usize),
    Vanish(usize, usize),
    Restart(usize),
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = |a: usize, n: usize, text: &str| {
            let text = text.replace("{a}", &name(a).to_string());
            text.replace("{n}", &(n + 1).to_string())
        };
        let text = match *self {
            Self::Start(a, nodes) => step(a, nodes - 1, "{a} sends its acquisition to {n} nodes"),
            Self::Grant(a, n) => step(a, n, "node {n} grants {a}"),
            Self::Refuse(a, n) => step(a, n, "node {n} refuses {a}"),
            Self::Establish(a) => step(a, 0, "{a} has its lease"),
            Self::End(a) => step(a, 0, "{a} is over, and sends its release if it still can"),
            Self::ReleaseEarly(a) => step(a, 0, "{a} sends its release, and its body runs on"),
            Self::Release(a, n) => step(a, n, "{a}'s release arrives at node {n}"),
            Self::BeginRound(a) => step(a, 0, "{a} begins to extend"),
            Self::Prolong(a, n) => step(a, n, "node {n} says yes to {a}'s extension"),
            Self::DoNotProlong(a, n) => step(a, n, "node {n} says no to {a}'s extension"),
            Self::Win(a) => step(a, 0, "{a}'s lease is extended"),
            Self::GrowLate(a) => step(a, 0, "{a}'s first keys may be gone from here on"),
            Self::SendRestore(a, n) => step(a, n, "{a} sends node {n} its key again"),
            Self::Restore(a, n) => step(a, n, "node {n} restores {a}'s key"),
            Self::DoNotRestore(a, n) => step(a, n, "node {n} does not restore {a}'s key"),
            Self::Vanish(a, n) => step(a, n, "{a}'s key is gone from node {n}"),
            Self::Restart(n) => step(0, n, "node {n} restarts empty"),
        };
        f.write_str(&text)
    }
}
