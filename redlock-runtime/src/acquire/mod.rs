//! The one way to a lock: from what a caller wants to a lease.

mod look;
mod reentrancy;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use redlock_core::lease::OnLost;
use redlock_core::request::Note;
use redlock_core::{NodeSet, Request, Resource};
use tracing::Instrument as _;

use crate::error::{LockError, LockErrorKind};
use crate::lease::{Lease, chain};
use crate::parameters::{Counts, LockOptions};
use crate::registry::held::{HeldPlace, Holder};
use crate::registry::limits::check_ttl;
use crate::registry::pools::set_of;
use crate::registry::{Registry, scope};
use crate::telemetry::{self, Acquiring};
pub(crate) use look::shown;
use reentrancy::holder_above;

/// One acquisition, before defaults are applied.
pub(crate) struct Wanted {
    pub(crate) holder: Holder,
    pub(crate) resource: Resource,
    pub(crate) pools: PoolNames,
    pub(crate) options: LockOptions,
    pub(crate) note: Option<Note>,
}

/// One acquisition, with all values decided.
pub(crate) struct Prepared {
    registry: Registry,
    holder: Holder,
    request: Request,
    nodes: NodeSet,
    /// A share of the outer lease that serves the request.
    above: Option<redlock_core::Lease>,
    policies: Policies,
}

/// The policy for a body whose lease is lost, and which runs count if there is a period.
type Policies = (OnLost, Option<Counts>);

/// An acquisition in progress.
pub(crate) type Acquisition = Pin<Box<dyn Future<Output = Result<Lease, LockError>> + Send>>;

/// A lock and its entry in the table.
type HeldLock = (redlock_core::Lease, HeldPlace);

/// The pools on which a lock is taken.
pub(crate) enum PoolNames {
    Default,
    Static(&'static [&'static str]),
    Owned(Vec<String>),
}

/// Number of retries of a call that may be skipped, if no caller won the votes.
const SPLIT_RETRIES: u32 = 5;

impl Wanted {
    fn error(&self, kind: LockErrorKind) -> LockError {
        LockError::new(kind, self.resource.clone(), self.holder.site)
    }

    /// Makes all checks that are possible before anything is sent.
    pub(crate) fn prepare(&self) -> Result<Prepared, LockError> {
        let Some(registry) = scope::current() else {
            return Err(self.refused(None, LockErrorKind::NotInitialized));
        };
        let decided = self.decide(&registry);
        decided.map_err(|kind| self.refused(Some(&registry), kind))
    }

    fn refused(&self, registry: Option<&Registry>, kind: LockErrorKind) -> LockError {
        let error = match registry.map(|registry| &registry.shared.limits) {
            Some(limits) => self.error(kind).of_call(limits.http, &limits.throttle),
            None => self.error(kind),
        };
        telemetry::refused(self.holder.site, &self.resource, &error);
        if let Some(registry) = registry {
            let recorder = &registry.shared.recorder;
            recorder.refused(self.holder.site, &self.resource, &error);
        }
        error
    }

    /// The nodes of the lock: the override's, the lock's own, or the default ones.
    fn nodes(&self, registry: &Registry) -> Result<NodeSet, LockErrorKind> {
        let shared = &*registry.shared;
        let over = shared.overrides.of(self.holder.site);
        match (over.and_then(|over| over.nodes.as_ref()), &self.pools) {
            (Some(nodes), _) => Ok(Arc::clone(nodes)),
            (None, names) => registry.node_set(names),
        }
    }

    fn decide(&self, registry: &Registry) -> Result<Prepared, LockErrorKind> {
        let shared = &*registry.shared;
        let replaced = self.holder.site.check_replaced(&self.resource);
        replaced.map_err(LockErrorKind::Invalid)?;
        let over = shared.overrides.of(self.holder.site);
        let own = match over {
            Some(over) => over.options.above(self.options),
            None => self.options,
        };
        let skips = self.holder.site.skips;
        let parameters = own.above(shared.defaults).decided(skips);
        let mut request = parameters
            .request(self.resource.clone())
            .map_err(LockErrorKind::Invalid)?;
        request.note.clone_from(&self.note);
        if parameters.skips {
            // A call is skipped because another holder has the lock, and not because no caller won
            // a majority.
            request.split_retries = SPLIT_RETRIES;
        }
        check_ttl(request.ttl, shared.limits.max_ttl).map_err(LockErrorKind::Invalid)?;
        let nodes = self.nodes(registry)?;
        let counts = parameters.counts.unwrap_or(Counts::Success);
        let counts = request.once_per.map(|_| counts);
        let above = match chain::current() {
            None => None,
            Some(chain) => {
                let holder = holder_above(&chain, self.holder.site, &request, &nodes);
                // A lease that ended at this moment is no longer in the table.
                holder
                    .map_err(LockErrorKind::Invalid)?
                    .and_then(|link| link.lease.join())
            }
        };
        Ok(Prepared {
            registry: registry.clone(),
            holder: self.holder,
            request,
            nodes,
            above,
            policies: (parameters.on_lost, counts),
        })
    }
}

impl Prepared {
    /// Acquires the lock, or a share of the outer lease. This is the only way to a lock.
    pub(crate) fn acquire(self) -> Acquisition {
        Box::pin(self.acquired())
    }

    async fn acquired(mut self) -> Result<Lease, LockError> {
        let above = self.above.take();
        let (site, request) = (self.holder.site, &self.request);
        let shared = &*self.registry.shared;
        let recorder = &shared.recorder;
        let is_joined = above.is_some();
        let record = recorder.begin(site, request, &self.nodes, is_joined);
        let mut acquiring = Acquiring::begin(site, request, &self.nodes);
        let work = async {
            match above {
                Some(above) => self.join(above).await,
                None => self.acquire_anew().await,
            }
        };
        let (core, place) = match work.instrument(acquiring.span()).await {
            Ok(held) => held,
            Err(error) => {
                let error = self.named(error);
                let resource = &self.request.resource;
                acquiring.refused(site, resource, &self.nodes, &error);
                record.refused(&error);
                return Err(error);
            }
        };
        let holding = if is_joined {
            acquiring.joined(site, &core)
        } else {
            acquiring.acquired(site, &core)
        };
        let limits = Arc::clone(&shared.limits);
        let lease = Lease::new(core, place, limits, site, self.policies, holding);
        Ok(lease.recorded(record))
    }

    /// Adds to the error what the registry knows, and the holder if it is in this process.
    fn named(&self, error: LockError) -> LockError {
        let registry = &self.registry;
        let limits = &registry.shared.limits;
        let error = error.of_call(limits.http, &limits.throttle);
        let is_here = matches!(error.kind(), LockErrorKind::Contended(contended)
            if contended.waiters > 0
                || contended.holding.owner().is_none_or(|owner| owner == registry.owner()));
        let holder = || registry.holder_of(&self.request.resource, &self.nodes);
        let holder = is_here.then(holder).flatten();
        error.held_here(holder)
    }

    /// Shares the lease of an outer holder.
    async fn join(&self, core: redlock_core::Lease) -> Result<HeldLock, LockError> {
        let held = &self.registry.shared.held;
        // The call is below a held lease, and a shutdown waits for that lease.
        let Some(_under_way) = held.begin(true) else {
            return self.fail(self.registry.refusal());
        };
        // The share is dropped before it counts as ended.
        let mut core = core;
        if let Some(period) = self.request.once_per {
            // The lock is held above, so one look is enough.
            self.look(core.nodes(), period).await?;
        }
        if let Err(error) = core.cover(&self.request).await {
            let resource = self.request.resource.clone();
            return Err(LockError::of_extend(error, resource, self.holder.site));
        }
        let Some(place) = held.enter(self.holder, core.handle(), true) else {
            return self.fail(self.registry.refusal());
        };
        Ok((core, place))
    }

    async fn acquire_anew(&self) -> Result<HeldLock, LockError> {
        let epochs = epochs_of(&self.nodes);
        // A shutdown waits for work below a held lease.
        let is_below = self.registry.is_below_held();
        // Declared first, so that it is dropped after everything whose drop sends a release.
        let _under_way;
        let core = {
            let shared = &*self.registry.shared;
            // Registered before the gate is read, so that a close in between is noticed.
            let mut closing = pin!(shared.held.closing.notified());
            match shared.held.begin(is_below) {
                Some(under_way) => _under_way = under_way,
                None => return self.fail(self.registry.refusal()),
            }
            let mut acquiring = pin!(shared.client.acquire(&self.nodes, &self.request));
            let acquired = poll_fn(move |context| {
                if let Poll::Ready(acquired) = acquiring.as_mut().poll(context) {
                    return Poll::Ready(Some(acquired));
                }
                // The outer lease may end before this share does.
                if is_below && self.registry.is_below_held() {
                    Poll::Pending
                } else {
                    closing.as_mut().poll(context).map(|()| None)
                }
            });
            match acquired.await {
                None => return self.fail(self.registry.refusal()),
                Some(Ok(core)) => core,
                Some(Err(error)) => {
                    let resource = self.request.resource.clone();
                    return Err(LockError::of_acquire(error, resource, self.holder.site));
                }
            }
        };
        // The outer lease may have ended while the call waited.
        let is_below = is_below && self.registry.is_below_held();
        let held = &self.registry.shared.held;
        let Some(place) = held.enter(self.holder, core.handle(), is_below) else {
            // The gate closed while the last vote arrived.
            core.release().await;
            return self.fail(self.registry.refusal());
        };
        // A node may have forgotten after its grant and before this entry. Only leases in the table
        // were told of that.
        if epochs_of(&self.nodes) != epochs {
            core.recheck();
        }
        Ok((core, place))
    }

    fn error(&self, kind: LockErrorKind) -> LockError {
        LockError::new(kind, self.request.resource.clone(), self.holder.site)
    }

    fn fail(&self, kind: LockErrorKind) -> Result<HeldLock, LockError> {
        Err(self.error(kind))
    }
}

impl Registry {
    fn is_below_held(&self) -> bool {
        let innermost = chain::current();
        std::iter::successors(innermost.as_deref(), |link| link.above.as_deref()).any(|link| {
            link.lease.registry() == self.shared.limits.registry && !link.lease.is_over()
        })
    }

    /// The nodes of these pools.
    pub(crate) fn node_set(&self, names: &PoolNames) -> Result<NodeSet, LockErrorKind> {
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
            PoolNames::Owned(names) => set_of(&shared.pools, names.iter().map(String::as_str)),
        }
    }
}

/// The sum of the nodes' epochs. It changes when a node begins a new epoch.
fn epochs_of(nodes: &NodeSet) -> u32 {
    nodes
        .iter()
        .fold(0, |sum, node| sum.wrapping_add(node.epoch()))
}
