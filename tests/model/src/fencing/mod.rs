//! How a fencing token is taken from a majority of counters, with no assumption on time.
//!
//! Every attempt sends one acquisition to each node. A node that grants it to a writer counts up by two;
//! a node that grants it to a reader does not. It answers its counter. The attempt takes the highest answer C
//! of a majority, asks the granting nodes that are below C to *confirm* it, which they do while the attempt's
//! key is still there, and holds the lease once a majority of the granting nodes is known to stand at C. The
//! token is C for a reader, and C − 1 for a writer. A holder of a plain lock is a writer here.
//!
//! Readers have keys of their own, beside each other. A writer's key is alone.
//!
//! A node also answers where its counter stood *before* a grant. A writer owns the numbers above all of these answers
//! of its majority and below C, but so many at most: its *block*. Its process uses them up in leases one after the
//! other: each [takes the lock over](HandOver) from the one before, without a message. Where leases are not handed
//! over, all numbers of a block count as used at once.
//!
//! Keys vanish at any moment: expired early, evicted, deleted, released by mistake. So two leases
//! may well be held at once here; that is what the token is for. A release can do nothing that a
//! vanishing key does not do, so there is none in this model; for releases see [`crate::exclusion`].
//!
//! An answer is there once it is given, and what would have no effect is not delivered: a client that reads an
//! answer late cannot be told from one whose answer is late, and a message without effect from a lost one.
//!
//! The model is a little more generous than the protocol, so that an implementation may be too: a
//! grant that comes in after C was chosen may still be confirmed and counted.

mod blocks;
mod clocks;
mod property;
mod state;
mod steps;

pub use state::{Action, Attempt, Cell, Column, Phase, Standing, State, Store, Vote};

use crate::search::{Model, Take};

/// What a majority is, and the rules for taking a token.
#[derive(Clone, Copy, Debug)]
pub struct Fencing<const NODES: usize, const ATTEMPTS: usize> {
    /// The attempts that read: a bit for each. The others write.
    pub readers: u8,
    /// Where the counter stands behind a writer.
    pub writer: Writer,
    /// The most numbers of a block.
    pub most: u8,
    /// Which numbers are the block.
    pub block: Block,
    /// How the leases of one process follow each other.
    pub hand_over: HandOver,
    /// When keys vanish.
    pub keys: Keys,
    /// What makes a token safe to use.
    pub confirm: Confirm,
    /// How often an acquisition may run.
    pub acquisition: Acquisition,
    /// What a restart does to a counter.
    pub counters: Counters,
    /// What the client's clock adds.
    pub hints: Hints,
    /// What the nodes' clocks show.
    pub clocks: Clocks,
    /// When an idle counter goes away.
    pub expiry: Expiry,
    /// Whether keys that are missing are put back.
    pub restoring: Restoring,
    /// What is to hold.
    pub promise: Promise,
}

/// Where the counter stands behind a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The rule: one above the writer's token. A reader may take the counter as it stands.
    OneBelow,
    /// Unsafe: at the writer's token.
    AtTheCounter,
    /// Unsafe: one above the writer's token, and only one above where it stood before.
    OneStep,
}

/// Which numbers are the block of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The rule: those below the count, and above each counter of the majority as it stood before.
    BelowTheCount,
    /// Unsafe: the number below the count, and those that follow it.
    AboveTheCount,
    /// Unsafe: counters stand one above the first number only when the lease is held.
    ConfirmedAtItsFirst,
    /// Unsafe: those above the counter of one node of the majority as it stood before.
    AboveOneNode,
}

/// How the next caller of a process takes over a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Never. Leases do not end.
    Never,
    /// The rule: while the lease is held, with the next number of its block.
    Counting,
    /// Unsafe: with the number that the lease before had.
    SameNumber,
    /// Unsafe: also once the lease is over.
    AfterTheEnd,
    /// Unsafe: a lease that was acquired takes a number that is left in the block of an earlier one.
    OfALostLease,
}

/// When keys vanish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// At any moment.
    VanishAnyTime,
    /// Once the attempt or its lease is over.
    VanishOnceOver,
}

/// How an attempt makes sure of its count, which is T here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirm {
    /// The rule: nodes that granted and answered at most T; below T they confirm, and only while
    /// the key there is still the attempt's.
    WhereGranted,
    /// Unsafe: T is used as it is.
    Never,
    /// Unsafe: asked to confirm, but the answers are not waited for.
    NotAwaited,
    /// Unsafe: a node that granted raises its counter without a look at the key.
    KeyNotChecked,
    /// Unsafe: any node may raise its counter to T, and counts then.
    AnyMajority,
    /// Unsafe: a node that answered more than T counts as well.
    HigherCounts,
}

/// How often one acquisition may run at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquisition {
    /// The rule: no `SET` is sent twice with the same owner token.
    Once,
    /// Unsafe: a client library sent it again, and the copy may run at any time.
    Resent,
}

/// What nodes do with their counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// The nodes keep the counters, also if the lock keys are lost.
    Kept,
    /// A restart loses the counter with everything else, and the node votes again at once.
    LostAtRestart,
    /// A restart loses the counter, and the node votes again only when every attempt that had begun
    /// by then is over. Of this rule the model uses one part: the node grants none of these attempts.
    LostAndGuarded,
}

/// The client's clock reading in an acquisition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hints {
    /// None: `c = c + 1`.
    None,
    /// `c = max(c + 1, hint)` with any of these, another at each node: wild clocks, clamped by
    /// nodes whose own clocks differ.
    Any(&'static [u8]),
    /// Right clocks: an attempt that starts later has a hint that is this much higher.
    Clock(u8),
    /// Right clocks, with any of the numbers on top: an attempt asks for room that the last block did not have. A node
    /// limits the hint to its clock and the most that it allows, which is the last.
    Asked(u8, &'static [u8]),
}

/// What the nodes' clocks show. Counts with [`Hints::Clock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// The time.
    Right,
    /// More than the time on some nodes, until each of them is mended.
    Ahead {
        /// The number of these nodes.
        nodes: usize,
        /// How far their clocks are ahead. Each of these nodes takes a hint for so much later.
        by: u8,
    },
}

/// When an idle counter expires. All attempts that had begun by then are over. Of this rule the model
/// uses one part: the node grants none of these attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Never.
    Never,
    /// The rule: not before the time has passed it, also where a wrong clock was mended meanwhile.
    Passed,
    /// Unsafe: at any time, wherever it stands.
    Idle,
}

/// Whether an attempt sets its key again where it is missing, with the same owner token. The `SET`
/// may arrive at any time after it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restoring {
    /// Never.
    Never,
    /// Sent once the lease is held; leaves the counter alone.
    OnceHeld,
    /// Unsafe: sent by an attempt that still waits for confirmations.
    BeforeHeld,
}

/// What is to hold of any two leases, A and B. Two readers may have one token. The lower token of two readers
/// need not have been granted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// What users are told: no two tokens are equal, and if A was held before the first node
    /// granted B, then A's token is lower.
    Users,
    /// The same, and at each node that counts for both, the lower token was granted first. This
    /// decides the order of any two leases, as two majorities share a node.
    GrantOrder,
    /// What is left without counters but with right clocks: no two tokens are equal, and if A was
    /// held before B started, then A's token is lower.
    StartOrder,
    /// A store to which each lease tells its number as it begins never knows one that is as high. Readers may share a
    /// number.
    Store,
}

/// Situations that a check has to reach to be worth something. See [`Model::landmarks`].
pub mod landmark {
    /// A token that all the majority answered: one round trip.
    pub const ONE_ROUND: u32 = 1;
    /// A token that some node had to confirm.
    pub const CONFIRMED: u32 = 2;
    /// Two leases taken.
    pub const TWO_LEASES: u32 = 4;
    /// Three leases taken.
    pub const THREE_LEASES: u32 = 8;
    /// A node refused to confirm, or would, because the key is no longer the attempt's.
    pub const CONFIRM_TOO_LATE: u32 = 16;
    /// A holder's key was granted away at a node that counts for it.
    pub const STALE_HOLDER: u32 = 32;
    /// A restored key, at a node that never granted the attempt.
    pub const KEY_IS_BACK: u32 = 64;
    /// Two readers at one node.
    pub const READERS: u32 = 128;
    /// A reader and a writer have held, and the reader's token is one above the writer's.
    pub const CLOSE: u32 = 256;
    /// A lease with a block of several numbers.
    pub const BLOCK: u32 = 512;
    /// A lease that was taken over.
    pub const TAKEN_OVER: u32 = 1024;
    /// Leases of two attempts, one after the other.
    pub const ONE_AFTER_THE_OTHER: u32 = 2048;
}

impl<const NODES: usize, const ATTEMPTS: usize> Fencing<NODES, ATTEMPTS> {
    /// The rules as they are: nothing unsafe, no clocks.
    pub const fn rules() -> Self {
        Self {
            readers: 0,
            writer: Writer::OneBelow,
            most: 1,
            block: Block::BelowTheCount,
            hand_over: HandOver::Never,
            keys: Keys::VanishAnyTime,
            confirm: Confirm::WhereGranted,
            acquisition: Acquisition::Once,
            counters: Counters::Kept,
            hints: Hints::None,
            clocks: Clocks::Right,
            expiry: Expiry::Never,
            restoring: Restoring::Never,
            promise: Promise::GrantOrder,
        }
    }
}

impl<const NODES: usize, const ATTEMPTS: usize> Model for Fencing<NODES, ATTEMPTS> {
    type State = State<NODES, ATTEMPTS>;
    type Action = Action;

    fn initial(&self) -> Self::State {
        let mut state = State::default();
        if let Clocks::Ahead { nodes, .. } = self.clocks {
            for column in state.columns.iter_mut().take(nodes) {
                column.is_ahead = true;
            }
        }
        if !self.has_starts() {
            for attempt in &mut state.attempts {
                attempt.phase = Phase::Trying;
            }
        }
        state
    }

    fn steps(&self, state: &Self::State, to: &mut impl Take<Self>) {
        self.all_steps(state, to);
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
