//! Permits: at most n holders of one resource at a time.
//!
//! The rule is *slots*: n permits are n locks, and an attempt holds a permit when a majority of the
//! nodes granted it the same slot. The other designs are what other libraries do, or might do; each
//! lets too many in. (A design that adds the attempt at a majority, and asks a majority who is there only
//! then, would be safe. It always takes two rounds.)
//!
//! A node may grant any free slot here. The order in which a node tries slots decides how often an
//! attempt wins, and never who may hold, so the model leaves it open.
//!
//! Keys are timed: an attempt's keys go away only once its lease is over, by a release or by expiry. The keys
//! of slots that it did not win may go away at any time while it holds, or stay: [`rest`] shows that they go.
//! What an extension, a restart or a lost key does to one slot is what [`crate::exclusion`] shows for
//! one lock.

mod property;
pub mod rest;
mod state;
mod steps;

pub use state::{Action, Cell, Column, Phase, SLOTS, State, Vote};

use crate::search::{Model, Take};

/// The nodes, the attempts, and the rules.
#[derive(Clone, Copy, Debug)]
pub struct Permits<const NODES: usize, const ATTEMPTS: usize> {
    /// How permits are counted.
    pub design: Design,
    /// The number of permits that each attempt believes in. A plain lock believes in one.
    pub permits: [usize; ATTEMPTS],
}

/// How permits are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// The rule: a majority granted the same slot.
    Slots,
    /// Unsafe: a majority granted a slot each, which need not be the same one.
    AnySlot,
    /// Unsafe: each node admits n, and a majority admitted the attempt.
    CounterAtEachNode,
    /// Unsafe: the attempt adds itself at each node, the same reply says who is there, and the replies
    /// of a majority name at most n.
    AddAndCount,
}

impl Design {
    /// True if a node hands out slots, and not only a place among those that it admitted.
    const fn has_slots(self) -> bool {
        matches!(self, Self::Slots | Self::AnySlot)
    }
}

/// Situations that a check has to reach to be worth something. See [`Model::landmarks`].
pub mod landmark {
    /// All permits are held.
    pub const ALL_HELD: u32 = 1;
    /// A permit is held after an earlier holder's lease was over.
    pub const SUCCESSION: u32 = 2;
    /// A plain lock is held beside a permit.
    pub const PLAIN_BESIDE_PERMIT: u32 = 4;
    /// An attempt that all nodes answered has a slot on each and the majority of none.
    pub const SPLIT: u32 = 8;
    /// A node has a slot for an attempt that is over.
    pub const LEFTOVER: u32 = 16;
    /// A node has given a slot to an attempt that another one, which holds, was granted there and did not win.
    pub const LET_GO: u32 = 32;
}

impl<const NODES: usize, const ATTEMPTS: usize> Permits<NODES, ATTEMPTS> {
    /// The rules as they are, with `permits` permits.
    pub const fn rules(permits: usize) -> Self {
        Self {
            design: Design::Slots,
            permits: [permits; ATTEMPTS],
        }
    }

    /// The same with another design.
    #[must_use]
    pub const fn by(self, design: Design) -> Self {
        Self { design, ..self }
    }

    /// The same with a number of permits for each attempt.
    #[must_use]
    pub const fn believing(self, permits: [usize; ATTEMPTS]) -> Self {
        Self { permits, ..self }
    }
}

impl<const NODES: usize, const ATTEMPTS: usize> Model for Permits<NODES, ATTEMPTS> {
    type State = State<NODES, ATTEMPTS>;
    type Action = Action;

    fn initial(&self) -> Self::State {
        State::default()
    }

    fn steps(&self, state: &Self::State, to: &mut impl Take<Self>) {
        for attempt in 0..ATTEMPTS {
            self.client_steps(state, attempt, to);
            for node in 0..NODES {
                self.node_steps(state, attempt, node, to);
            }
        }
    }

    fn canonical(&self, state: &Self::State) -> Self::State {
        let mut state = *state;
        state.columns.sort_unstable();
        state
    }

    fn violation(&self, state: &Self::State) -> Option<String> {
        self.too_many(state)
    }

    fn landmarks(&self, state: &Self::State) -> u32 {
        self.seen(state)
    }
}
