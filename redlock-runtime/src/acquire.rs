//! The one way to a lock: from what a caller wants to a lease.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use redlock_core::{Invalid, NodeSet, OnLost, Request, Resource};

use crate::chain;
use crate::config::HttpSettings;
use crate::error::{LockError, LockErrorKind, Subject};
use crate::held::Place;
use crate::lease::{Lease, check_max_ttl};
use crate::parameters::{OnCancel, Parameters};
use crate::reentrancy::holder_above;
use crate::registry::{Registry, set_of};
use crate::scope;
use crate::site::Site;

/// Who a lock is for.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    /// The annotated function; `None` for the object style.
    pub(crate) site: Option<&'static Site>,
    /// A body runs as soon as the lock is there.
    pub(crate) has_body: bool,
}

/// One acquisition, before defaults.
pub(crate) struct Wanted {
    pub(crate) holder: Holder,
    pub(crate) resource: Resource,
    pub(crate) pools: PoolNames,
    pub(crate) parameters: Parameters,
}

/// One acquisition, with everything decided.
pub(crate) struct Prepared {
    registry: Registry,
    holder: Holder,
    request: Request,
    nodes: NodeSet,
    /// A share of the lease above that serves the request.
    above: Option<Box<redlock_core::Lease>>,
    policies: (OnLost, OnCancel),
}

/// Which pools a lock is taken on.
pub(crate) enum PoolNames {
    Default,
    Static(&'static [&'static str]),
    Owned(Vec<String>),
}

impl Holder {
    fn refused(&self, resource: &Resource, error: LockError) -> LockError {
        tracing::debug!(
            site = self.site.map(tracing::field::debug),
            %resource, reason = %error,
            "not locked",
        );
        self.marked(error)
    }

    fn marked(&self, error: LockError) -> LockError {
        match self.site {
            Some(site) => error.at_site(site),
            None => error,
        }
    }
}

/// How often a call that may be skipped is tried again where nobody won the votes.
const SPLIT_RETRIES: u32 = 5;

impl Wanted {
    /// Everything that can be known, and refused, before anything is sent.
    pub(crate) fn prepare(&self) -> Result<Prepared, LockError> {
        let Some(registry) = scope::current() else {
            let subject = match self.holder.site {
                Some(site) => Subject::Function(site.site_name()),
                None => Subject::Resource(self.resource.clone()),
            };
            let (kind, http) = (LockErrorKind::NotInitialized, HttpSettings::default());
            return Err(self.holder.marked(LockError::new(kind, subject, http)));
        };
        let (http, recorder) = (registry.http(), registry.shared.recorder.clone());
        self.prepare_in(registry).map_err(|kind| {
            let error = LockError::new(kind, Subject::Resource(self.resource.clone()), http);
            let error = self.holder.refused(&self.resource, error);
            recorder.refused(self.holder.site, &self.resource, &error);
            error
        })
    }

    fn prepare_in(&self, registry: Registry) -> Result<Prepared, LockErrorKind> {
        let shared = &*registry.shared;
        let over = shared.overrides.of(self.holder.site);
        let own = match over {
            Some(over) => over.parameters.above(self.parameters),
            None => self.parameters,
        };
        let parameters = own.above(shared.defaults);
        let mut request = parameters
            .request(self.resource.clone())
            .map_err(LockErrorKind::Invalid)?;
        if self.holder.site.is_some_and(|site| site.skips) {
            // It is skipped because somebody else has the lock, and not because nobody won it.
            request.split_retries = SPLIT_RETRIES;
        }
        check_max_ttl(request.ttl, shared.limits.max_ttl).map_err(LockErrorKind::Invalid)?;
        let nodes = match over.and_then(|over| over.nodes.as_ref()) {
            Some(nodes) => Arc::clone(nodes),
            None => registry.node_set(&self.pools)?,
        };
        let above = match chain::current() {
            None => None,
            Some(chain) => {
                let holder = holder_above(&chain, self.holder.site, &request, &nodes);
                // One that went over in this very moment is not there any more.
                holder
                    .map_err(LockErrorKind::Invalid)?
                    .and_then(|link| link.lease.join().map(Box::new))
            }
        };
        Ok(Prepared {
            registry,
            holder: self.holder,
            request,
            nodes,
            above,
            policies: (
                parameters.on_lost.unwrap_or_default(),
                parameters.on_cancel.unwrap_or_default(),
            ),
        })
    }
}

impl Prepared {
    /// The one way to a lock.
    pub(crate) async fn acquire(&mut self) -> Result<Lease, LockError> {
        let recorder = &self.registry.shared.recorder;
        let is_shared = self.above.is_some();
        let record = recorder.begin(self.holder.site, &self.request, &self.nodes, is_shared);
        let acquired = if let Some(joined) = self.above.take() {
            self.join(*joined).await
        } else {
            self.acquire_anew().await
        };
        match acquired {
            Ok(lease) => Ok(lease.recorded(record)),
            Err(error) => {
                let error = self.holder.refused(&self.request.resource, error);
                record.refused(&error);
                Err(error)
            }
        }
    }

    /// Shares the lease of a holder above.
    async fn join(&self, core: redlock_core::Lease) -> Result<Lease, LockError> {
        let held = &self.registry.shared.held;
        // It is below a held lease, which a shutdown waits for.
        let Some(_under_way) = held.begin(true) else {
            return self.fail(LockErrorKind::ShuttingDown);
        };
        // Dropped before it counts as ended.
        let mut core = core;
        if let Err(error) = core.cover(&self.request).await {
            let (resource, http) = (self.request.resource.clone(), self.registry.http());
            return Err(LockError::of_extend(error, resource, http));
        }
        let Some(place) = held.enter(self.holder, core.handle(), true) else {
            return self.fail(LockErrorKind::ShuttingDown);
        };
        tracing::debug!(
            site = self.holder.site.map(tracing::field::debug),
            resource = %self.request.resource, token = core.token_id(),
            "joined the lease of a caller",
        );
        Ok(self.lease(core, place))
    }

    async fn acquire_anew(&self) -> Result<Lease, LockError> {
        let epochs = epochs_of(&self.nodes);
        // Work below a held lease belongs to what a shutdown waits for.
        let is_below = self.registry.is_below_held();
        // Outlives everything below that may have to be undone on the nodes.
        let _under_way;
        let core = {
            let shared = &*self.registry.shared;
            // Made before the gate is read, so that a close in between is heard of.
            let mut closing = pin!(shared.held.closing.notified());
            match shared.held.begin(is_below) {
                Some(under_way) => _under_way = under_way,
                None => return self.fail(LockErrorKind::ShuttingDown),
            }
            let mut acquiring = pin!(shared.client.acquire(&self.nodes, &self.request));
            let acquired = poll_fn(|context| {
                if let Poll::Ready(acquired) = acquiring.as_mut().poll(context) {
                    return Poll::Ready(Some(acquired));
                }
                // Whom it belongs to may end before it does.
                if is_below && self.registry.is_below_held() {
                    Poll::Pending
                } else {
                    closing.as_mut().poll(context).map(|()| None)
                }
            });
            match acquired.await {
                None => return self.fail(LockErrorKind::ShuttingDown),
                Some(Ok(core)) => core,
                Some(Err(error)) => {
                    let (resource, http) = (self.request.resource.clone(), self.registry.http());
                    return Err(LockError::of_acquire(error, resource, http));
                }
            }
        };
        let held = &self.registry.shared.held;
        // Whom it belonged to may be gone by now.
        let is_below = is_below && self.registry.is_below_held();
        let Some(place) = held.enter(self.holder, core.handle(), is_below) else {
            // The gate closed while the last vote came in.
            // Boxed: it is rare, and would be a large part of every acquisition's future.
            Box::pin(core.discard()).await;
            return self.fail(LockErrorKind::ShuttingDown);
        };
        // A node that forgot between its grant and the entry told those that were entered before.
        if epochs_of(&self.nodes) != epochs {
            core.recheck();
        }
        tracing::debug!(
            site = self.holder.site.map(tracing::field::debug),
            resource = %self.request.resource, token = core.token_id(),
            "locked",
        );
        Ok(self.lease(core, place))
    }

    fn lease(&self, core: redlock_core::Lease, place: Place) -> Lease {
        let limits = Arc::clone(&self.registry.shared.limits);
        Lease::new(core, place, limits, self.holder.site, self.policies)
    }

    fn fail(&self, kind: LockErrorKind) -> Result<Lease, LockError> {
        let subject = Subject::Resource(self.request.resource.clone());
        Err(LockError::new(kind, subject, self.registry.http()))
    }
}

impl Registry {
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
