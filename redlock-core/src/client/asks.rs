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

use super::permits::Asked;

/// What an attempt asks for.
pub(crate) trait Asks: Copy {
    /// What is known of an attempt that a majority granted.
    type Won;

    /// Sends the acquisition.
    fn send(
        self,
        context: &Context,
        nodes: &NodeSet,
        request: &Request,
        token: OwnerToken,
        in_time: (Arc<dyn Clock>, Moment),
        hint: Option<u64>,
    ) -> (Arc<Claim>, Arc<Round>);

    /// Makes the claim one on the keys that a majority granted. `None` if it was not narrowed: votes that
    /// arrive later make no lease of it.
    fn narrow(self, claim: &mut Arc<Claim>, acquisition: &Arc<Round>) -> Option<Self::Won>;

    /// The permits, if any are asked for.
    fn asked(self) -> Option<Asked>;
}

/// The keys of a lock on keys that do not depend on the answers.
#[derive(Clone, Copy)]
pub(crate) struct PlainKeys<'a> {
    pub(super) keys: &'a Resource,
    /// What a reader or a writer has besides.
    pub(super) shared: Option<&'a SharedAttempt>,
}

impl Asks for PlainKeys<'_> {
    type Won = ();

    fn send(
        self,
        context: &Context,
        nodes: &NodeSet,
        request: &Request,
        token: OwnerToken,
        in_time: (Arc<dyn Clock>, Moment),
        hint: Option<u64>,
    ) -> (Arc<Claim>, Arc<Round>) {
        let (keys, shared) = (self.keys.clone(), self.shared.cloned());
        let counters = hint.map(|hint| (counter_keys(&keys, &context.key_prefix), hint));
        Claim::acquire(nodes, keys, token, request.ttl, in_time, counters, shared)
    }

    fn narrow(self, _claim: &mut Arc<Claim>, _acquisition: &Arc<Round>) -> Option<()> {
        Some(())
    }

    fn asked(self) -> Option<Asked> {
        None
    }
}

impl Asks for &Asked {
    /// The number of the permit.
    type Won = u16;

    fn send(
        self,
        _context: &Context,
        nodes: &NodeSet,
        request: &Request,
        token: OwnerToken,
        in_time: (Arc<dyn Clock>, Moment),
        _hint: Option<u64>,
    ) -> (Arc<Claim>, Arc<Round>) {
        let (order, keys) = (self.order(&token), self.keys.all());
        Claim::acquire_permit(nodes, keys, order, token, request.ttl, in_time)
    }

    fn narrow(self, claim: &mut Arc<Claim>, acquisition: &Arc<Round>) -> Option<u16> {
        if !acquisition.tally().is_won() {
            return None;
        }
        let permit = acquisition.permit()?;
        *claim = claim.narrow(self.keys.of(permit)?, acquisition);
        Some(permit)
    }

    fn asked(self) -> Option<Asked> {
        Some(self.clone())
    }
}
