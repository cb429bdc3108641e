//! Readers and writers: many readers or one writer.
//!
//! Each node keeps, for one resource, the *key* and the *entries*. The key holds a writer's owner token,
//! or a marker that says that readers are in. The entries are the readers, each with an expiry of its
//! own. The marker makes readers and plain locks (`SET … NX`) exclude each other.
//!
//! Entries and keys are timed: a node drops an attempt's entry or key only once the lease is over, by a
//! release or by expiry. The marker expires with the leases that it covers. Beside that the key may be
//! *lost* a few times, as when an operator deletes it. Two leases may then be valid at once. What is left
//! to check is that an extension does not succeed behind another holder: [`Promise::NobodyBetween`].
//!
//! An extension counts at the nodes whose grants made the lease. Which other nodes may count is what
//! [`crate::exclusion`] shows for a plain lock; an entry is like a key in this.
//!
//! A refused message changes as little as a message that stays under way. So there is no step for
//! a refusal, unless all messages have to arrive ([`Promise::NothingLeft`]).
//!
//! Intents of waiting writers and the turns of refused readers are not modelled. They only delay: a node
//! refuses more because of them, and here an acquisition may always stay under way for ever.

mod node;
mod property;
mod state;
mod steps;

pub use state::{Action, Attempt, Cell, Column, Extend, Key, Phase, State, Told, Vote};

use crate::search::{Model, Take};

/// The attempt that a promise about one lease is about. The others are there to be in its way.
const WATCHED: usize = 0;

/// The nodes, the attempts, and the rules.
#[derive(Clone, Copy, Debug)]
pub struct Sharing<const NODES: usize, const ATTEMPTS: usize> {
    /// What each attempt asks for.
    pub kinds: [Kind; ATTEMPTS],
    /// What readers do with the key.
    pub marker: Marker,
    /// What the release of a reader removes.
    pub leaving: Leaving,
    /// What becomes of old entries when a reader creates the key.
    pub creating: Creating,
    /// What the extension of a reader does at a node.
    pub extension: Extension,
    /// How often a key is lost while leases rest on it.
    pub losses: u8,
    /// What is to hold.
    pub promise: Promise,
}

/// What an attempt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A lock of a client that knows nothing of readers: `SET … NX`, and a release that compares.
    Plain,
    /// To be the only one. A marker without an entry does not keep a writer out.
    Writer,
    /// To be one of many.
    Reader,
}

/// What readers do with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// The rule: it lasts as long as the entry that lasts longest.
    Longest,
    /// Unsafe: it lasts as long as the entry of the reader that came last.
    OfTheLast,
    /// Unsafe: readers leave the key alone, and writers look at the entries.
    None,
}

/// What the release of a reader removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The rule: its entry, and the marker if no entry is left.
    OwnEntry,
    /// Unsafe: its entry and the marker.
    EntryAndMarker,
}

/// What becomes of old entries when a reader creates the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creating {
    /// The rule: they are removed first.
    EmptiesEntries,
    /// Unsafe: they stay.
    KeepsEntries,
}

/// What the extension of a reader does at a node. The attempt A sends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Nobody extends.
    Never,
    /// The rule: prolongs the entry if it is there beside the marker.
    Compare,
    /// Unsafe: makes the entry again if the marker is there.
    Revive,
}

/// What is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// A writer or a plain lock is never valid beside anybody else.
    Exclusive,
    /// At each node, every reader whose lease is not over has an entry beside the marker.
    MarkerBesideReaders,
    /// An extension that succeeds proves that no attempt that the lease excludes began and won between the
    /// moment that the lease was won and the sending of the extension.
    NobodyBetween,
    /// Once all attempts are over and released everywhere, nothing is left, although nothing expired.
    NothingLeft,
}

/// Situations that a check has to reach to be worth something. See [`Model::landmarks`].
pub mod landmark {
    /// Two readers hold at once.
    pub const TWO_READERS: u32 = 1;
    /// A writer or a plain lock holds after a reader's lease was over.
    pub const WRITER_AFTER_READER: u32 = 2;
    /// A reader holds after the lease of a writer or a plain lock was over.
    pub const READER_AFTER_WRITER: u32 = 4;
    /// A reader's lease was extended.
    pub const EXTENDED: u32 = 8;
    /// An attempt won that a valid lease excludes, because keys were lost.
    pub const INTRUDED: u32 = 16;
    /// Everything is over and released.
    pub const ALL_OVER: u32 = 32;
}

impl<const NODES: usize, const ATTEMPTS: usize> Sharing<NODES, ATTEMPTS> {
    /// The rules as they are, for attempts of `kinds`: no extension, no lost key.
    pub const fn rules(kinds: [Kind; ATTEMPTS]) -> Self {
        Self {
            kinds,
            marker: Marker::Longest,
            leaving: Leaving::OwnEntry,
            creating: Creating::EmptiesEntries,
            extension: Extension::Never,
            losses: 0,
            promise: Promise::Exclusive,
        }
    }
}

impl<const NODES: usize, const ATTEMPTS: usize> Model for Sharing<NODES, ATTEMPTS> {
    type State = State<NODES, ATTEMPTS>;
    type Action = Action;

    fn initial(&self) -> Self::State {
        State::default()
    }

    fn steps(&self, state: &Self::State, to: &mut impl Take<Self>) {
        // Behind the end of the lease that is watched, or behind its extension, nothing matters any more.
        let is_decided = state.attempts[WATCHED].phase == Phase::Over || state.is_extended;
        if self.promise == Promise::NobodyBetween && is_decided {
            return;
        }
        for attempt in 0..ATTEMPTS {
            self.client_steps(state, attempt, to);
            for node in 0..NODES {
                self.deliveries(state, attempt, node, to);
            }
        }
        for node in 0..NODES {
            self.expiries(state, node, to);
        }
    }

    fn canonical(&self, state: &Self::State) -> Self::State {
        let mut state = *state;
        state.columns.sort_unstable();
        state
    }

    fn violation(&self, state: &Self::State) -> Option<String> {
        self.broken_promise(state)
    }

    fn landmarks(&self, state: &Self::State) -> u32 {
        self.seen(state)
    }
}
