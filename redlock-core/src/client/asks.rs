//! What an attempt asks for: a lock on keys, or permits.

use std::sync::Arc;

use crate::context::Context;
use crate::env::{Clock, Moment};
use crate::model::request::Request;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeSet;
use crate::quorum::claim::Claim;
use crate::quorum::claim::sharing::SharedAttempt;
use crate::quorum::fencing::counter_keys;
use crate::quorum::round::Round;

use super::permits::{Asked, WonPermits};

/// What an attempt asks for.
pub(crate) trait Asks {
    /// What is needed behind the sending. Nothing for a plain lock: it would be a part of every
    /// acquisition's future.
    type Kept: Narrows;

    /// Sends the acquisition. By value: what is borrowed stays a part of every acquisition's future.
    fn send(
        self,
        context: &Context,
        nodes: &NodeSet,
        request: &Request,
        token: OwnerToken,
        in_time: (Arc<dyn Clock>, Moment),
        hint: Option<u64>,
    ) -> (Arc<Claim>, Arc<Round>, Self::Kept);
}

/// What becomes of the claim once a majority granted it.
pub(crate) trait Narrows: Copy {
    /// What is known of an attempt that a majority granted.
    type Won;

    /// Makes the claim one on the keys that a majority granted.
    fn narrow(self, claim: &mut Arc<Claim>, acquisition: &Arc<Round>) -> Self::Won;

    /// False if the claim was not narrowed: votes that arrive later make no lease of it.
    fn has_won(won: &Self::Won) -> bool;

    /// The permits, if any are asked for.
    fn asked(self) -> Option<Box<Asked>>;
}

/// The keys of a lock on keys that do not depend on the answers.
#[derive(Clone, Copy)]
pub(crate) struct PlainKeys<'a> {
    pub(super) keys: &'a Resource,
    /// What a reader or a writer has besides.
    pub(super) shared: Option<&'a SharedAttempt>,
}

/// A lock on keys that do not depend on the answers.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Asks for PlainKeys<'_> {
    type Kept = Plain;

    fn send(
        self,
        context: &Context,
        nodes: &NodeSet,
        request: &Request,
        token: OwnerToken,
        in_time: (Arc<dyn Clock>, Moment),
        hint: Option<u64>,
    ) -> (Arc<Claim>, Arc<Round>, Self::Kept) {
        let (keys, shared) = (self.keys.clone(), self.shared.cloned());
        let counters = hint.map(|hint| (counter_keys(&keys, &context.key_prefix), hint));
        let (claim, acquisition) =
            Claim::acquire(nodes, keys, token, request.ttl, in_time, counters, shared);
        (claim, acquisition, Plain)
    }
}

impl Narrows for Plain {
    type Won = ();

    fn narrow(self, _claim: &mut Arc<Claim>, _acquisition: &Arc<Round>) {}

    fn has_won((): &()) -> bool {
        true
    }

    fn asked(self) -> Option<Box<Asked>> {
        None
    }
}

impl<'a> Asks for &'a Asked {
    type Kept = &'a Asked;

    fn send(
        self,
        _context: &Context,
        nodes: &NodeSet,
        request: &Request,
        token: OwnerToken,
        in_time: (Arc<dyn Clock>, Moment),
        hint: Option<u64>,
    ) -> (Arc<Claim>, Arc<Round>, Self::Kept) {
        let (order, keys) = (self.order(&token), self.keys.all());
        let hint = hint.unwrap_or_default();
        let (claim, acquisition) =
            Claim::acquire_permits(nodes, keys, order, token, request.ttl, in_time, hint);
        (claim, acquisition, self)
    }
}

impl Narrows for &Asked {
    type Won = Option<Box<WonPermits>>;

    fn narrow(self, claim: &mut Arc<Claim>, acquisition: &Arc<Round>) -> Self::Won {
        let won = WonPermits::of(acquisition)?;
        *claim = claim.narrow(&self.keys, won.permits, acquisition);
        Some(Box::new(won))
    }

    fn has_won(won: &Self::Won) -> bool {
        won.is_some()
    }

    fn asked(self) -> Option<Box<Asked>> {
        Some(Box::new(self.clone()))
    }
}
