//! A claim on permits: first on all of them, then on those that a majority granted.

use std::sync::Arc;
use std::time::Duration;

use crate::env::{Clock, Moment};
use crate::model::permits::PermitSet;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::operation::{Operation, Want};
use crate::node::{NodeSet, PermitOrder};
use crate::quorum::fencing::Hint;
use crate::quorum::permits::PermitKeys;
use crate::quorum::round::{Goal, Round};

use super::{Claim, ClaimEnd};

impl Claim {
    /// Sends an acquisition of permits to all nodes at once, and returns its votes too. The claim is on all
    /// permits until it is [narrowed](Self::narrow), because each node decides which ones it grants.
    pub(crate) fn acquire_permits(
        nodes: &NodeSet,
        keys: &Resource,
        order: PermitOrder,
        token: OwnerToken,
        ttl: Duration,
        in_time: (Arc<dyn Clock>, Moment),
        hint: Hint,
    ) -> (Arc<Self>, Arc<Round>) {
        let want = Want::AcquirePermits {
            ttl,
            hint: hint.micros,
        };
        let operation = Operation::new(keys.clone(), token.clone(), want);
        let operation = operation
            .with_permits(order)
            .in_nodes_time(hint.is_of_nodes);
        let (operation, in_time) = (Arc::new(operation), Some(in_time));
        let acquisition = Round::start_with(nodes, &operation, Goal::Majority, in_time, |_| true);
        let claim = Self::sent(nodes, keys.clone(), token, ttl, &acquisition, None);
        (Arc::new(claim), acquisition)
    }

    /// The same claim on `won` alone, which a majority granted. Every node that may have granted other
    /// permits is sent their release, behind the acquisition on the same connection. From then on the claim
    /// is that of a plain lock on the keys of these permits.
    pub(crate) fn narrow(
        &self,
        keys: &PermitKeys,
        won: PermitSet,
        acquisition: &Arc<Round>,
    ) -> Arc<Self> {
        let (token, ttl) = (self.token.clone(), self.longest_ttl());
        let counters = keys.counters_of(won);
        let claim = Self::sent(&self.nodes, keys.of(won), token, ttl, acquisition, counters);
        // From here on the acquisition goes to no other server of a Redis Cluster.
        self.end(ClaimEnd::Narrowed);
        let rest = keys.all_but(won);
        if rest.names().len() > 0 {
            let release = Operation::new(rest, claim.token.clone(), Want::Release { ttl });
            // A seat that granted exactly these permits has no others of ours.
            claim.send_to(release, !acquisition.granted_seats(), Goal::All);
        }
        Arc::new(claim)
    }
}
