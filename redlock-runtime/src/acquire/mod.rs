//! The one way to a lock: from what a caller wants to a lease.

mod reentrancy;

use std::fmt::{self, Write as _};
use std::future::{Future, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use redlock_core::lease::OnLost;
use redlock_core::process::is_forked;
use redlock_core::request::Note;
use redlock_core::{NodeSet, Request, Resource};
use tracing::Instrument as _;

use crate::error::{LockError, LockErrorKind};
use crate::lease::{Lease, chain};
use crate::parameters::{Counts, LockOptions, check_ttl};
use crate::registry::held::{HeldEntry, HeldPlace};
use crate::registry::{Registry, scope, signal};
use crate::site::Site;
use crate::telemetry::{self, AcquireTelemetry};
use reentrancy::holder_above;

/// One acquisition, before defaults are applied.
#[derive(Clone)]
pub(crate) struct LockSpec {
    pub(crate) site: &'static Site,
    pub(crate) resource: Resource,
    /// True if a body runs as soon as the lock is acquired.
    pub(crate) has_body: bool,
    /// The pools that an object-style lock names.
    pub(crate) pools: Option<Vec<String>>,
    pub(crate) options: LockOptions,
    pub(crate) note: Option<Note>,
}

/// One acquisition, with all values decided.
struct Acquire {
    registry: Registry,
    site: &'static Site,
    has_body: bool,
    request: Request,
    nodes: NodeSet,
    /// A share of the outer lease that serves the request.
    above: Option<redlock_core::Lease>,
    on_lost: OnLost,
    /// The runs that the nodes remember, if there is a period.
    counts: Option<Counts>,
}

/// An acquisition in progress.
pub(crate) type AcquireFuture = Pin<Box<dyn Future<Output = Result<Lease, LockError>> + Send>>;

/// Number of retries of a call that may be skipped, if no caller won the votes.
const SPLIT_RETRIES: u32 = 5;

impl LockSpec {
    pub(crate) fn new(resource: Resource, site: &'static Site, has_body: bool) -> Self {
        Self {
            site,
            resource,
            has_body,
            pools: None,
            options: LockOptions::NONE,
            note: None,
        }
    }

    /// Shows `text` to people who look at the lock. If its `Display` fails, shows what it wrote until then.
    pub(crate) fn set_note(&mut self, text: impl fmt::Display) {
        let mut note = String::new();
        let _ = write!(note, "{text}");
        self.note = Note::new(note);
    }

    /// The error of this lock, in a registry if there is one.
    pub(crate) fn error(&self, kind: LockErrorKind, registry: Option<&Registry>) -> LockError {
        let context = registry.map(|registry| &registry.shared.context);
        LockError::new(kind, &self.resource, self.site, context)
    }

    /// The registry of the calling code, and the nodes of the lock.
    pub(crate) fn registry_and_nodes(&self) -> Result<(Registry, NodeSet), LockError> {
        let Some(registry) = scope::current() else {
            return Err(self.error(LockErrorKind::NotInitialized, None));
        };
        let pools = &registry.shared.pools;
        match pools.nodes(self.site, self.pools.as_deref()) {
            Ok(nodes) => Ok((registry, nodes)),
            Err(kind) => Err(self.error(kind, Some(&registry))),
        }
    }

    /// Acquires the lock, or a share of an outer lease. This is the only way to a lock. All checks that are possible
    /// before anything is sent are made at once.
    pub(crate) fn acquire(&self) -> AcquireFuture {
        match self.prepare() {
            Ok(acquire) => Box::pin(acquire.acquire()),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn prepare(&self) -> Result<Acquire, LockError> {
        let decide = |(registry, nodes): (Registry, NodeSet)| {
            let decided = self.decide(&registry, nodes);
            decided.map_err(|kind| self.error(kind, Some(&registry)))
        };
        self.registry_and_nodes()
            .and_then(decide)
            .inspect_err(|error| {
                if is_forked() {
                    // A subscriber or a recorder may wait for a thread that is not here.
                    return;
                }
                let journal = scope::current().and_then(|it| it.shared.journal.clone());
                telemetry::record_early_refusal(self.site, &self.resource, error, journal);
            })
    }

    fn decide(&self, registry: &Registry, nodes: NodeSet) -> Result<Acquire, LockErrorKind> {
        let shared = &*registry.shared;
        let site = self.site;
        let replaced = site.check_replaced(&self.resource);
        replaced.map_err(LockErrorKind::Invalid)?;
        let own = match shared.pools.overriding(site) {
            Some(over) => over.options.above(self.options),
            None => self.options,
        };
        let parameters = own.above(shared.defaults).decided(site.skips);
        let request = parameters.request(self.resource.clone());
        let mut request = request.map_err(LockErrorKind::Invalid)?;
        request.note.clone_from(&self.note);
        if parameters.skips {
            // A call is skipped because another holder has the lock, and not because no caller won
            // a majority.
            request.split_retries = SPLIT_RETRIES;
        }
        check_ttl(request.ttl, shared.context.max_ttl).map_err(LockErrorKind::Invalid)?;
        let counts = parameters.counts.unwrap_or(Counts::Success);
        let above = match chain::current() {
            None => None,
            Some(chain) => {
                let holder = holder_above(&chain, site, &request, &nodes);
                let holder = holder.map_err(LockErrorKind::Invalid)?;
                // A lease that ended at this moment is no longer in the table.
                holder.and_then(|link| link.lease.core.join())
            }
        };
        Ok(Acquire {
            registry: registry.clone(),
            site,
            has_body: self.has_body,
            counts: request.once_per.map(|_| counts),
            request,
            nodes,
            above,
            on_lost: parameters.on_lost,
        })
    }
}

impl Acquire {
    async fn acquire(mut self) -> Result<Lease, LockError> {
        let above = self.above.take();
        let is_joined = above.is_some();
        let (site, request, nodes) = (self.site, &self.request, &self.nodes);
        let shared = &*self.registry.shared;
        let journal = shared.journal.as_ref();
        let mut acquiring = AcquireTelemetry::begin(site, request, nodes, is_joined, journal);
        let span = acquiring.span().clone();
        let (core, place) = match self.lock(above).instrument(span).await {
            Ok(held) => held,
            Err(kind) => {
                let error = self.error(kind);
                acquiring.record_refusal(&request.resource, nodes, &error);
                return Err(error);
            }
        };
        let holding = acquiring.record_acquired(&core);
        let at_first = || signal::log_if_keys_stay(&self.registry);
        shared.first_lease.call_once(at_first);
        let context = Arc::clone(&shared.context);
        let policies = (self.on_lost, self.counts);
        Ok(Lease::new(core, place, context, site, policies, holding))
    }

    /// The error, with what the registry knows, and the holder if it is in this process.
    fn error(&self, kind: LockErrorKind) -> LockError {
        let (registry, resource) = (&self.registry, &self.request.resource);
        let is_here = matches!(&kind, LockErrorKind::Contended(contended)
            if contended.waiters > 0
                || contended.holding.owner().is_none_or(|owner| owner == registry.owner()));
        let holder = || registry.shared.held.holder_of(resource, &self.nodes);
        let holder = is_here.then(holder).flatten();
        let context = Some(&registry.shared.context);
        LockError::new(kind, resource, self.site, context).held_here(holder)
    }

    /// The lock and its place in the table.
    async fn lock(
        &self,
        above: Option<redlock_core::Lease>,
    ) -> Result<(redlock_core::Lease, HeldPlace), LockErrorKind> {
        let shared = &*self.registry.shared;
        let epochs = epochs_of(&self.nodes);
        // A shutdown waits for work below a held lease. The outer lease may end while the call waits.
        let is_below = || is_below_held(shared.context.registry);
        // Declared first, so that it is dropped after everything whose drop sends a release.
        let _under_way;
        let core = {
            let mut closed = pin!(shared.held.closed.wait());
            _under_way = shared
                .held
                .begin_acquisition(is_below())
                .ok_or(LockErrorKind::ShuttingDown)?;
            let mut asking = pin!(self.ask(above));
            let asked = poll_fn(|context| match asking.as_mut().poll(context) {
                Poll::Pending if !is_below() => closed
                    .as_mut()
                    .poll(context)
                    .map(|()| Err(LockErrorKind::ShuttingDown)),
                asked => asked,
            });
            asked.await?
        };
        let held = &shared.held;
        let entry = HeldEntry::new(self.site, core.handle(), self.has_body);
        let Some(place) = held.enter(entry, is_below()) else {
            // The gate closed while the last vote arrived.
            core.release().await;
            return Err(LockErrorKind::ShuttingDown);
        };
        // A node may have forgotten after its grant and before this entry. Only leases in the table
        // were told of that.
        if epochs_of(&self.nodes) != epochs {
            core.recheck();
        }
        Ok((core, place))
    }

    /// Asks the nodes for the lock, or makes the lease above last for as long as this call needs it.
    async fn ask(
        &self,
        above: Option<redlock_core::Lease>,
    ) -> Result<redlock_core::Lease, LockErrorKind> {
        let (client, request) = (&self.registry.shared.client, &self.request);
        let Some(mut core) = above else {
            let acquired = client.acquire(&self.nodes, request).await;
            return acquired.map_err(LockErrorKind::of_acquire);
        };
        if let Some(period) = request.once_per {
            // The lock is held above, so one look is enough.
            let looked = client
                .last_run(&self.nodes, &request.resource, period)
                .await;
            if let Some(run) = looked.map_err(LockErrorKind::Invalid)? {
                return Err(LockErrorKind::AlreadyRun(run));
            }
        }
        core.cover(request)
            .await
            .map_err(LockErrorKind::of_extend)?;
        Ok(core)
    }
}

/// True if the running code is below a lease of this registry that is not over.
fn is_below_held(registry: u64) -> bool {
    let innermost = chain::current();
    std::iter::successors(innermost.as_deref(), |link| link.above.as_deref())
        .any(|link| link.lease.context.registry == registry && !link.lease.is_over())
}

/// The sum of the nodes' epochs. It changes when a node begins a new epoch.
fn epochs_of(nodes: &NodeSet) -> u32 {
    nodes
        .iter()
        .fold(0, |sum, node| sum.wrapping_add(node.epoch()))
}
