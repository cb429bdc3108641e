//! The one way to a lock: from what a caller wants to a lease.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use redlock_core::{Invalid, NodeSet, OnLost, Request, Resource};

use crate::chain;
use crate::error::{LockError, LockErrorKind, Subject};
use crate::held::Place;
use crate::lease::{Lease, check_max_ttl};
use crate::parameters::{OnCancel, Parameters};
use crate::reentrancy::holder_above;
use crate::registry::{Registry, set_of};
use crate::site::Site;

/// One acquisition, before defaults.
pub(crate) struct Wanted {
    pub(crate) resource: Resource,
    pub(crate) site: Option<&'static Site>,
    pub(crate) pools: PoolNames,
    pub(crate) parameters: Parameters,
    /// A body runs as soon as the lock is there.
    pub(crate) has_body: bool,
}

/// One acquisition, with everything decided.
struct Prepared {
    request: Request,
    nodes: NodeSet,
    /// A share of the lease above that serves the request.
    above: Option<redlock_core::Lease>,
    policies: (OnLost, OnCancel),
}

/// Which pools a lock is taken on.
pub(crate) enum PoolNames {
    Default,
    Static(&'static [&'static str]),
    Owned(Vec<String>),
}

impl Registry {
    /// The one way to a lock.
    pub(crate) async fn acquire(&self, wanted: Wanted) -> Result<Lease, LockError> {
        let acquired = match self.prepare(&wanted) {
            Ok(mut prepared) => match prepared.above.take() {
                Some(joined) => self.join(&wanted, &prepared, joined).await,
                None => self.acquire_anew(&wanted, &prepared).await,
            },
            Err(kind) => Err(self.error(kind, &wanted.resource)),
        };
        acquired.map_err(|error| {
            tracing::debug!(
                site = wanted.site.map(tracing::field::debug),
                resource = %wanted.resource, reason = %error,
                "not locked",
            );
            match wanted.site {
                Some(site) => error.at_site(site),
                None => error,
            }
        })
    }

    /// Everything that can be known, and refused, before anything is sent.
    fn prepare(&self, wanted: &Wanted) -> Result<Prepared, LockErrorKind> {
        let shared = &*self.shared;
        let parameters = wanted.parameters.above(shared.defaults);
        let request = parameters
            .request(wanted.resource.clone())
            .map_err(LockErrorKind::Invalid)?;
        check_max_ttl(request.ttl, shared.limits.max_ttl).map_err(LockErrorKind::Invalid)?;
        let nodes = self.node_set(&wanted.pools)?;
        let above = match chain::current() {
            None => None,
            Some(chain) => {
                let holder = holder_above(&chain, wanted.site, &request, &nodes);
                // One that went over in this very moment is not there any more.
                holder
                    .map_err(LockErrorKind::Invalid)?
                    .and_then(|link| link.lease.join())
            }
        };
        Ok(Prepared {
            request,
            nodes,
            above,
            policies: (
                parameters.on_lost.unwrap_or_default(),
                parameters.on_cancel.unwrap_or_default(),
            ),
        })
    }

    /// Shares the lease of a holder above.
    async fn join(
        &self,
        wanted: &Wanted,
        prepared: &Prepared,
        mut core: redlock_core::Lease,
    ) -> Result<Lease, LockError> {
        let shared = &*self.shared;
        let fail = |kind| Err(self.error(kind, &wanted.resource));
        // It is below a held lease, which a shutdown waits for.
        let Some(_under_way) = shared.held.begin(true) else {
            return fail(LockErrorKind::ShuttingDown);
        };
        if let Err(error) = core.cover(&prepared.request).await {
            let resource = wanted.resource.clone();
            return Err(LockError::of_extend(error, resource, self.http()));
        }
        let Some(place) = shared.held.enter(wanted, core.handle(), true) else {
            return fail(LockErrorKind::ShuttingDown);
        };
        tracing::debug!(
            site = wanted.site.map(tracing::field::debug),
            resource = %wanted.resource, token = core.token_id(),
            "joined the lease of a caller",
        );
        Ok(self.lease(core, place, wanted, prepared))
    }

    async fn acquire_anew(&self, wanted: &Wanted, prepared: &Prepared) -> Result<Lease, LockError> {
        let shared = &*self.shared;
        let Prepared { request, nodes, .. } = prepared;
        let fail = |kind| Err(self.error(kind, &wanted.resource));
        let epochs = epochs_of(nodes);
        // Work below a held lease belongs to what a shutdown waits for.
        let is_below = self.is_below_held();
        // Outlives everything below that may have to be undone on the nodes.
        let _under_way;
        let acquired = {
            // Made before the gate is read, so that a close in between is heard of.
            let mut closing = pin!(shared.held.closing.notified());
            match shared.held.begin(is_below) {
                Some(under_way) => _under_way = under_way,
                None => return fail(LockErrorKind::ShuttingDown),
            }
            let mut acquiring = pin!(shared.client.acquire(nodes, request));
            poll_fn(|context| {
                if let Poll::Ready(acquired) = acquiring.as_mut().poll(context) {
                    return Poll::Ready(Some(acquired));
                }
                if is_below {
                    Poll::Pending
                } else {
                    closing.as_mut().poll(context).map(|()| None)
                }
            })
            .await
        };
        let core = match acquired {
            None => return fail(LockErrorKind::ShuttingDown),
            Some(Ok(core)) => core,
            Some(Err(error)) => {
                let resource = wanted.resource.clone();
                return Err(LockError::of_acquire(error, resource, self.http()));
            }
        };
        let Some(place) = shared.held.enter(wanted, core.handle(), is_below) else {
            // The gate closed while the last vote came in.
            core.release().await;
            return fail(LockErrorKind::ShuttingDown);
        };
        // A node that forgot between its grant and the entry told those that were entered before.
        if epochs_of(nodes) != epochs {
            core.recheck();
        }
        tracing::debug!(
            site = wanted.site.map(tracing::field::debug),
            resource = %request.resource, token = core.token_id(),
            "locked",
        );
        Ok(self.lease(core, place, wanted, prepared))
    }

    fn lease(
        &self,
        core: redlock_core::Lease,
        place: Place,
        wanted: &Wanted,
        prepared: &Prepared,
    ) -> Lease {
        let limits = Arc::clone(&self.shared.limits);
        Lease::new(core, place, limits, wanted.site, prepared.policies)
    }

    fn error(&self, kind: LockErrorKind, resource: &Resource) -> LockError {
        LockError::new(kind, Subject::Resource(resource.clone()), self.http())
    }

    fn is_below_held(&self) -> bool {
        let innermost = chain::current();
        std::iter::successors(innermost.as_deref(), |link| link.above.as_deref()).any(|link| {
            link.lease.registry() == self.shared.limits.registry && !link.lease.is_over()
        })
    }

    fn node_set(&self, names: &PoolNames) -> Result<NodeSet, LockErrorKind> {
        let shared = &*self.shared;
        match names {
            PoolNames::Default => Ok(Arc::clone(&shared.default_set)),
            PoolNames::Static(names) => {
                let known = shared.known_sets.iter().find(|(known, _)| known == names);
                match known {
                    Some((_, set)) => Ok(Arc::clone(set)),
                    None => set_of(&shared.pools, names.iter().copied()),
                }
            }
            PoolNames::Owned(names) => {
                for (index, name) in names.iter().enumerate() {
                    if names[..index].contains(name) {
                        return Err(LockErrorKind::Invalid(Invalid::new(format!(
                            "the pool `{name}` is named twice; one pool has one vote"
                        ))));
                    }
                }
                set_of(&shared.pools, names.iter().map(String::as_str))
            }
        }
    }
}

/// Another number whenever one of the nodes began a new epoch.
fn epochs_of(nodes: &NodeSet) -> u32 {
    nodes
        .iter()
        .fold(0, |sum, node| sum.wrapping_add(node.epoch()))
}
