//! Turns a caller's lock specification into a lease. Every lock is acquired here.

mod gate_race;
mod reentrancy;

use std::fmt::{self, Write as _};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use redlock_core::internal::is_forked;
use redlock_core::request::Note;
use redlock_core::{NodeSet, Request, Resource};
use tracing::Instrument as _;

use crate::call::{AcquireFuture, CallState, leave_request};
use crate::error::{LockError, LockErrorKind};
use crate::lease::{Lease, LeasePolicy, chain};
use crate::parameters::check_ttl;
use crate::parameters::prelude::*;
use crate::registry::held::{HeldEntry, HeldPlace};
use crate::registry::{Registry, scope, signal};
use crate::site::Site;
use crate::telemetry::{self, AcquireArgs, AcquireTelemetry};
use gate_race::race_gate;
use reentrancy::outer_holder;

/// A lock as a caller asks for it, before defaults are applied.
#[derive(Clone)]
#[must_use]
pub struct LockSpec {
    pub(crate) site: &'static Site,
    pub(crate) resource: Resource,
    /// The pools that the code names, for a lock from [`lock`](crate::lock()).
    pub(crate) pools: Option<Vec<String>>,
    pub(crate) options: LockOptions,
    pub(crate) note: Option<Note>,
    /// True if a body runs as soon as the lock is acquired.
    has_body: bool,
}

/// An acquisition whose values are all decided.
struct Acquire {
    registry: Registry,
    site: &'static Site,
    has_body: bool,
    request: Request,
    nodes: NodeSet,
    /// A share of an outer lease, if one serves the request.
    outer: Option<redlock_core::Lease>,
    policy: LeasePolicy,
}

/// The number of retries after a split vote, for a call that may be skipped.
const SPLIT_RETRIES: u32 = 5;

// Setters for the values that the attribute gives as expressions.
for_each_parameter!(setters!(LockSpec, it => it.options));

impl LockSpec {
    /// Specifies a lock on `resource` for the code at `site`.
    pub fn new(site: &'static Site, resource: Resource) -> Self {
        Self {
            site,
            resource,
            pools: None,
            options: site.own_options(),
            note: None,
            has_body: false,
        }
    }

    /// Specifies a lock whose name is a template. Other values go through the trait `NamesLock`, which costs rustc more
    /// in each annotated function.
    pub fn formatted(site: &'static Site, resource: fmt::Arguments<'_>) -> Self {
        Self::new(site, resource.into())
    }

    /// Attaches `text` as the note that people see when they look at the lock. If its `Display` fails, the text written
    /// so far is the note.
    pub fn note(mut self, text: fmt::Arguments<'_>) -> Self {
        let mut note = String::new();
        let _ = note.write_fmt(text);
        self.note = Note::new(note);
        self
    }

    /// Returns an error about this lock, with the registry's context if there is one.
    pub(crate) fn error(&self, kind: LockErrorKind, registry: Option<&Registry>) -> LockError {
        let context = registry.map(|registry| &registry.shared.context);
        LockError::new(kind, &self.resource, self.site, context)
    }

    /// Returns the registry of the calling code.
    pub(crate) fn registry(&self) -> Result<Registry, LockError> {
        scope::current().ok_or_else(|| self.error(LockErrorKind::NotInitialized, None))
    }

    /// Returns the registry of the calling code, and the nodes of the lock.
    pub(crate) fn registry_and_nodes(&self) -> Result<(Registry, NodeSet), LockError> {
        let registry = self.registry()?;
        let pools = &registry.shared.pools;
        match pools.nodes(self.site, self.pools.as_deref()) {
            Ok(nodes) => Ok((registry, nodes)),
            Err(kind) => Err(self.error(kind, Some(&registry))),
        }
    }

    /// Begins a call that runs its body under the lock.
    pub fn begin(self) -> CallState<'static> {
        CallState::acquiring(self.acquire_for_body())
    }

    /// Requests the lock from inside the body. The body has to await the returned future at once.
    pub fn request(self) -> impl Future<Output = ()> + Send {
        leave_request(self.acquire_for_body())
    }

    /// Acquires the lock for a body. The held table lists the lease as one with a body from the start, so a shutdown
    /// never releases the lease as a bare one.
    pub(crate) fn acquire_for_body(mut self) -> AcquireFuture {
        self.has_body = true;
        self.acquire()
    }

    /// Acquires the lock, or a share of an outer lease. The first poll makes all checks that need no message to the
    /// nodes.
    pub(crate) fn acquire(self) -> AcquireFuture {
        Box::pin(async move { self.prepare()?.run().await })
    }

    fn prepare(&self) -> Result<Acquire, LockError> {
        let placed = self.registry_and_nodes();
        let decided = placed.and_then(|(registry, nodes)| {
            let decided = self.decide(&registry, nodes);
            decided.map_err(|kind| self.error(kind, Some(&registry)))
        });
        decided.inspect_err(|error| {
            // In a forked process, a subscriber or a recorder might wait for a thread that only the parent has.
            if !is_forked() {
                let journal = scope::current().and_then(|it| it.shared.journal.clone());
                telemetry::record_early_refusal(self.site, &self.resource, error, journal);
            }
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
        // Retry split votes, because a call is skipped only if another caller holds the lock.
        let split_retries = if parameters.skips { SPLIT_RETRIES } else { 0 };
        let request = request.map_err(LockErrorKind::Invalid)?;
        let request = request.note(self.note.clone()).split_retries(split_retries);
        check_ttl(request.ttl, shared.context.max_ttl).map_err(LockErrorKind::Invalid)?;
        let remember = parameters.remember.unwrap_or(Remember::Success);
        let innermost = chain::innermost();
        let holder = outer_holder(innermost.as_ref(), site, &request, &nodes);
        let holder = holder.map_err(LockErrorKind::Invalid)?;
        // `join` returns `None` if the lease ends at this moment.
        let outer = holder.and_then(|link| link.lease.core.join());
        let policy = LeasePolicy {
            on_lost: parameters.on_lost,
            remember: request.once_per.map(|_| remember),
        };
        Ok(Acquire {
            registry: registry.clone(),
            site,
            has_body: self.has_body,
            request,
            nodes,
            outer,
            policy,
        })
    }
}

impl Acquire {
    async fn run(mut self) -> Result<Lease, LockError> {
        let outer = self.outer.take();
        let (site, request, nodes) = (self.site, &self.request, &self.nodes);
        let args = AcquireArgs {
            request,
            nodes,
            is_joined: outer.is_some(),
        };
        let shared = &*self.registry.shared;
        let journal = shared.journal.as_ref();
        let mut acquiring = AcquireTelemetry::begin(site, args, journal);
        let span = acquiring.span.clone();
        let (core, place) = match self.lock(outer).instrument(span).await {
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
        Ok(Lease::new(core, place, context, site, self.policy, holding))
    }

    /// Returns the error with the registry's context, and with the holder if it is in this process.
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

    /// Acquires the lock, and enters its lease into the held table.
    async fn lock(
        &self,
        outer: Option<redlock_core::Lease>,
    ) -> Result<(redlock_core::Lease, HeldPlace), LockErrorKind> {
        let shared = &*self.registry.shared;
        let held = &shared.held;
        let epochs = epochs_of(&self.nodes);
        // Ask again at each use, because the outer lease may end while the call waits.
        let is_below = || is_below_held(shared.context.registry);
        // Declared first, so that it is dropped after the acquisition and the lease, whose drops send releases.
        let begun = held.begin_acquisition(is_below());
        let _under_way = begun.ok_or(LockErrorKind::ShuttingDown)?;
        let core = race_gate(held, is_below, pin!(self.acquire_core(outer))).await?;
        let entry = HeldEntry::new(self.site, core.handle(), self.has_body);
        let Some(place) = held.enter(entry, is_below()) else {
            // The gate closed while the last vote arrived, so give the lock back.
            core.release().await;
            return Err(LockErrorKind::ShuttingDown);
        };
        // A node may have forgotten the lock after its grant. Only leases in the table are rechecked then, and this
        // lease was not there yet. So compare the epochs.
        if epochs_of(&self.nodes) != epochs {
            core.recheck();
        }
        Ok((core, place))
    }

    /// Acquires the lock from the nodes, or extends the outer lease to cover this call.
    async fn acquire_core(
        &self,
        outer: Option<redlock_core::Lease>,
    ) -> Result<redlock_core::Lease, LockErrorKind> {
        let (client, request) = (&self.registry.shared.client, &self.request);
        let Some(mut core) = outer else {
            let acquired = client.acquire(&self.nodes, request).await;
            return acquired.map_err(LockErrorKind::of_acquire);
        };
        if let Some(period) = request.once_per {
            // One look is enough, because the outer lease excludes everybody else.
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

/// True if the running code is below a valid lease of this registry.
fn is_below_held(registry: u64) -> bool {
    let innermost = chain::innermost();
    chain::outwards(innermost.as_ref())
        .any(|link| link.lease.context.registry == registry && !link.lease.is_over())
}

/// Returns the sum of the nodes' epochs. The sum changes when a node begins a new epoch.
fn epochs_of(nodes: &NodeSet) -> u32 {
    nodes
        .iter()
        .fold(0, |sum, node| sum.wrapping_add(node.epoch()))
}
