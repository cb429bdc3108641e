//! How a majority excludes, and what extension, restoring and restarts do to it.
//!
//! There is no clock in here, but what clocks are for is one rule: *a key is not gone before the
//! lease that it stands for is over* ([`Keys::Timed`]). A lease is over at its deadline, or earlier
//! when it is given up; the step is the same, it may come at any moment, and only then may the keys
//! expire or be released. An extension moves the deadline: from then on, keys that it did not reach
//! may expire under the lease.
//!
//! With [`Keys::Lost`] keys vanish at any moment, with [`Keys::LostLater`] once an attempt is out of
//! its first part. Two leases may then be valid at once and no quorum can help it; what is left to
//! check is whether an extension notices: [`Promise::Unbroken`].

mod ends;
mod extension;
mod property;
mod state;
mod steps;

pub use state::{
    Acquire, Action, Age, Attempt, Awaited, Cell, Column, Extend, Phase, Possession, Standing,
    State,
};

use crate::search::{Model, Take};

/// The nodes, the attempts, and the rules.
#[derive(Clone, Copy, Debug)]
pub struct Exclusion<const NODES: usize, const ATTEMPTS: usize> {
    /// How many grants make a lease.
    pub quorum: Quorum,
    /// Until when a grant may still make a lease.
    pub decision: Decision,
    /// When keys vanish.
    pub keys: Keys,
    /// What a release does.
    pub release: Release,
    /// Whether a retry has an owner token of its own.
    pub owner: Owner,
    /// What an extension does at a node.
    pub extension: Extension,
    /// How many rounds of extension an attempt may begin.
    pub rounds: u8,
    /// Which answers count in a round of extension.
    pub counting: Counting,
    /// Whether a key that is missing at a node is put there again.
    pub restoring: Restoring,
    /// How many nodes may restart empty.
    pub restarts: u8,
    /// Whether a node that restarted empty waits before it votes.
    pub restart_check: RestartCheck,
    /// What is to hold.
    pub promise: Promise,
}

/// How many grants make a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quorum {
    /// The rule: more than half of the configured nodes.
    Majority,
    /// Unsafe: half of them.
    Half,
    /// Unsafe: more than half of those that this client happens to be connected to.
    OfConnected,
}

/// Until when a grant may still make a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The rule: while validity remains, counted from before the acquisition was sent.
    InTime,
    /// Unsafe: whenever the answers come. The first keys may have expired by then.
    AnyTime,
}

/// When keys vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Not before the lease is over that they stand for.
    Timed,
    /// At any moment.
    Lost,
    /// At any moment but those of an attempt's first part, in which no key can have expired yet.
    LostLater,
}

/// What a release does, and when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The rule: deletes what holds our token, once the lease is over.
    Compare,
    /// Unsafe: deletes what is there.
    PlainDelete,
    /// Unsafe: sent while the lease is still used.
    UnderTheBody,
}

/// Whether a retry has an owner token of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The rule: every attempt has.
    EachAttempt,
    /// Unsafe: B is the retry of A, with the same token.
    EachClient,
}

/// What an extension does at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// The rule: prolongs the key if it is ours.
    Compare,
    /// Unsafe: `SET` without `NX`, which replaces the key of another client.
    Overwrite,
    /// Unsafe: prolongs, and makes the key again where it is gone.
    Recreate,
}

/// Which answers count in a round of extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Every yes.
    EveryYes,
    /// Those of nodes whose grants made the lease, and of those where the key was restored.
    NoStragglers,
    /// The rule: those of nodes that are *continuous*. Their grants made the lease, or the client heard of
    /// their late grants in the attempt's first part (see [`Keys::LostLater`]), or a round found the key there,
    /// and a round that began when that was known was won by continuous nodes.
    Continuous,
    /// Unsafe: as by the rule, and a node is continuous once a round has found the key there.
    FoundOnce,
    /// Unsafe: a late grant makes a node continuous whenever the client hears of it.
    AnyStraggler,
}

/// Whether a key that is missing at a node is put there again, by `SET NX` with the same token,
/// after a round of extension has been won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restoring {
    /// Never.
    Never,
    /// After every round that was won, to nodes that said no.
    Freely,
    /// The same, but never while an earlier `SET` to that node is unanswered.
    OneAtATime,
}

/// Whether a node that restarted empty waits before it votes: until every lease is over, or was
/// extended by a later round, that could have been there when it restarted. Extensions are served
/// all the while; they find no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartCheck {
    /// The rule: until then the node sets no key for any client.
    On,
    /// Unsafe together with restoring, which is let through.
    OnForAcquisitions,
    /// Unsafe: it votes at once.
    Off,
}

/// What is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// No two leases are valid at once.
    Exclusive,
    /// An extension that succeeds proves possession: from the moment that the lease was made to the
    /// moment that the round began, a majority of the nodes had our key at any time.
    Unbroken,
    /// An extension that succeeds proves that no other attempt began and won between these moments.
    NobodyBetween,
}

/// Situations that a check has to reach to be worth something. See [`Model::landmarks`].
pub mod landmark {
    /// A lease, after another one was over.
    pub const SUCCESSION: u32 = 1;
    /// The nodes are split, and no client can win.
    pub const SPLIT: u32 = 2;
    /// A key of an attempt that is over.
    pub const LEFTOVER_KEY: u32 = 4;
    /// A lease that was extended.
    pub const EXTENDED: u32 = 8;
    /// A lease that was extended and has lost a key that the extension had not reached.
    pub const OLD_KEY_EXPIRED: u32 = 16;
    /// A key that was restored.
    pub const RESTORED: u32 = 32;
    /// A lease that an extension has confirmed thanks to a key that was set late.
    pub const RESTS_ON_LATE_KEY: u32 = 64;
    /// A node that waits after a restart while a lease that it had granted is valid.
    pub const CHECKED: u32 = 128;
}

impl<const NODES: usize, const ATTEMPTS: usize> Exclusion<NODES, ATTEMPTS> {
    /// The rules as they are: no extension, no restart.
    pub const fn rules() -> Self {
        Self {
            quorum: Quorum::Majority,
            decision: Decision::InTime,
            keys: Keys::Timed,
            release: Release::Compare,
            owner: Owner::EachAttempt,
            extension: Extension::Compare,
            rounds: 0,
            counting: Counting::EveryYes,
            restoring: Restoring::Never,
            restarts: 0,
            restart_check: RestartCheck::On,
            promise: Promise::Exclusive,
        }
    }
}

impl<const NODES: usize, const ATTEMPTS: usize> Model for Exclusion<NODES, ATTEMPTS> {
    type State = State<NODES, ATTEMPTS>;
    type Action = Action;

    fn initial(&self) -> Self::State {
        State::default()
    }

    fn steps(&self, state: &Self::State, to: &mut impl Take<Self>) {
        let to = &mut |action, next: Self::State| to(action, self.with_gaps(next));
        for attempt in 0..ATTEMPTS {
            self.client_steps(state, attempt, to);
            for node in 0..NODES {
                self.deliveries(state, attempt, node, to);
            }
        }
        for node in 0..NODES {
            self.losses(state, node, to);
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
        property::landmarks(state)
    }
}
