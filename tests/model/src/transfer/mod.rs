//! A lock that is given away: a client with the giver's ticket may take it over.
//!
//! The attempt A is the giver. Its lease ends, and its keys stay for the rest of their ttl. A *claimer* is an
//! attempt that has the ticket: a node grants it if the node's key holds A's token, and the key holds the
//! claimer's from then on. *Others* come without a ticket, as for any lock.
//!
//! Keys are timed: an attempt's key goes away only once its lease is over, by a release or by expiry. What
//! A sent earlier may arrive late: its acquisition, and the message that puts a missing key back.

mod state;
mod steps;

pub use state::{Action, Column, Phase, State, Vote};

use crate::attempts::name;
use crate::search::{Model, Take};

/// The attempt that gives its lock away.
const GIVER: usize = 0;

/// The nodes, the attempts, and the rules.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<const NODES: usize, const ATTEMPTS: usize> {
    /// What each attempt is.
    pub roles: [Role; ATTEMPTS],
    /// When there is a ticket.
    pub giving: Giving,
    /// What a node does with a claim.
    pub claim: Claim,
    /// True: A puts its key back at nodes that lack it, once, while its lease is valid.
    pub puts_back: bool,
    /// What is to hold.
    pub promise: Promise,
}

/// What an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The attempt A. It has no other role.
    Giver,
    /// It has A's ticket.
    Claimer,
    /// It has none.
    Other,
}

/// When there is a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Giving {
    /// The rule: once the giver's lease is over.
    EndsFirst,
    /// Unsafe: while the giver's lease is valid.
    WhileValid,
}

/// What a node does with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The rule: if the key holds the giver's token, it holds the claimer's from then on.
    Replaces,
    /// Unsafe: the same, whatever the key holds.
    Overwrites,
    /// Unsafe: if the key holds the giver's token, it keeps it.
    KeepsToken,
}

/// What is to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// No two leases are valid at once.
    Exclusive,
    /// At most one claim succeeds.
    OneClaim,
}

/// Situations that a check has to reach to be worth something. See [`Model::landmarks`].
pub mod landmark {
    /// A claimer holds the lock.
    pub const CLAIMED: u32 = 1;
    /// Another attempt holds the lock behind a claimer.
    pub const OTHER_BEHIND: u32 = 2;
    /// A claimer gave up after another claimer won.
    pub const SPENT: u32 = 4;
    /// A node has the giver's key while a claimer holds the lock.
    pub const LEFT: u32 = 8;
    /// Another attempt holds the lock although the ticket was not used.
    pub const NOT_CLAIMED: u32 = 16;
}

impl<const NODES: usize, const ATTEMPTS: usize> Transfer<NODES, ATTEMPTS> {
    /// The rules as they are, for attempts of `roles`.
    pub const fn rules(roles: [Role; ATTEMPTS]) -> Self {
        Self {
            roles,
            giving: Giving::EndsFirst,
            claim: Claim::Replaces,
            puts_back: false,
            promise: Promise::Exclusive,
        }
    }
}

/// The names of the attempts, of this number of them, for which `is_it` is true.
fn named(attempts: usize, is_it: impl Fn(usize) -> bool) -> Vec<char> {
    (0..attempts).filter(|a| is_it(*a)).map(name).collect()
}

impl<const NODES: usize, const ATTEMPTS: usize> Model for Transfer<NODES, ATTEMPTS> {
    type State = State<NODES, ATTEMPTS>;
    type Action = Action;

    fn initial(&self) -> Self::State {
        State::default()
    }

    fn steps(&self, state: &Self::State, to: &mut impl Take<Self>) {
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
        let found = match self.promise {
            Promise::Exclusive => named(ATTEMPTS, |a| state.attempts[a] == Phase::Valid),
            Promise::OneClaim => named(ATTEMPTS, |a| {
                self.roles[a] == Role::Claimer && state.has_won[a]
            }),
        };
        let what = match self.promise {
            Promise::Exclusive => "are valid at once",
            Promise::OneClaim => "have claimed the lock by one ticket",
        };
        (found.len() > 1).then(|| format!("{found:?} {what}"))
    }

    fn landmarks(&self, state: &Self::State) -> u32 {
        let any = |is_it: &dyn Fn(usize) -> bool| (0..ATTEMPTS).any(is_it);
        let is = |a: usize, role, phase| self.roles[a] == role && state.attempts[a] == phase;
        let is_claimed = any(&|a| is(a, Role::Claimer, Phase::Valid));
        let was_claimed = any(&|a| is(a, Role::Claimer, Phase::Over) && state.has_won[a]);
        let is_given = state.attempts[GIVER] == Phase::Over && state.has_won[GIVER];
        let is_others = any(&|a| is(a, Role::Other, Phase::Valid));
        let gave_up = any(&|a| is(a, Role::Claimer, Phase::Over) && !state.has_won[a]);
        let is_left = state.columns.iter().any(|column| column.has_key_of(GIVER));
        let seen = [
            (landmark::CLAIMED, is_claimed),
            (landmark::OTHER_BEHIND, is_others && was_claimed),
            (landmark::SPENT, gave_up && (is_claimed || was_claimed)),
            (landmark::LEFT, is_claimed && is_left),
            (landmark::NOT_CLAIMED, is_given && is_others && !was_claimed),
        ];
        let seen = seen.into_iter().filter(|(_, is_seen)| *is_seen);
        seen.fold(0, |all, (landmark, _)| all | landmark)
    }
}
