//! An acquisition in progress, as metrics and spans show it.

use redlock_core::env::log_throttled;
use redlock_core::{NodeSet, Request, Resource};
use tracing::Span;

use super::metrics::{self, Holding, Metrics, Waiting};
use super::outcome::AcquireOutcome;
use super::span::{self, name_of};
use crate::error::LockError;
use crate::site::Site;

/// From the call to its end, whichever it is. One that is dropped before counts as cancelled.
pub(crate) struct Acquiring {
    span: Span,
    waiting: Waiting,
}

impl Acquiring {
    pub(crate) fn begin(
        metrics: &Metrics,
        site: &'static Site,
        request: &Request,
        nodes: &NodeSet,
    ) -> Self {
        Self {
            span: span::acquire(site, request, nodes),
            waiting: metrics.waiting(site, request.kind),
        }
    }

    /// The span of the acquisition.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// The lock is there.
    pub(crate) fn acquired(&mut self, site: &'static Site, lease: &redlock_core::Lease) -> Holding {
        span::granted(&self.span, lease);
        span::ended(&self.span, AcquireOutcome::Acquired);
        let holding = self.waiting.acquired(lease);
        self.say(site, lease, "locked");
        holding
    }

    /// The lock of a call above is shared.
    pub(crate) fn joined(&mut self, site: &'static Site, lease: &redlock_core::Lease) -> Holding {
        span::leased(&self.span, lease);
        span::ended(&self.span, AcquireOutcome::Joined);
        let holding = self.waiting.joined(lease);
        self.say(site, lease, "joined the lease of a caller");
        holding
    }

    /// There is none, for this reason.
    pub(crate) fn refused(
        &mut self,
        site: &'static Site,
        resource: &Resource,
        nodes: &NodeSet,
        error: &LockError,
    ) {
        let outcome = AcquireOutcome::of(error, site.skips);
        span::tried(&self.span, error);
        span::ended(&self.span, outcome);
        self.waiting.ended(outcome);
        let _entered = self.span.enter();
        log_refusal(site, resource, nodes, error);
    }

    fn say(&self, site: &'static Site, lease: &redlock_core::Lease, what: &'static str) {
        let _entered = self.span.enter();
        log!(
            debug,
            site = name_of(site),
            resource = %lease.resource(), token = lease.token_id(),
            votes = %span::GrantedOf(lease), attempts = lease.attempts(), waited = ?lease.waited(),
            "{what}",
        );
    }
}

impl Drop for Acquiring {
    fn drop(&mut self) {
        if self.waiting.is_ended() {
            return;
        }
        self.waiting.ended(AcquireOutcome::Cancelled);
        span::ended(&self.span, AcquireOutcome::Cancelled);
    }
}

/// Records a call that was refused before a node was asked.
pub(crate) fn refused(site: &'static Site, resource: &Resource, error: &LockError) {
    let outcome = AcquireOutcome::of(error, false);
    let span = span::refused(site, resource);
    span::ended(&span, outcome);
    metrics::count_refusal(site, outcome);
    let _entered = span.enter();
    log!(debug, site = name_of(site), %resource, reason = %error, "not locked");
}

/// The caller handles a refusal. Operators are told of a missing majority, and of refusals by other
/// holders, which a holder that died leaves behind until its keys expire. A call that its function skips is
/// as planned.
fn log_refusal(site: &'static Site, resource: &Resource, nodes: &NodeSet, error: &LockError) {
    let site_name = name_of(site);
    let throttle = error.throttle();
    if error.is_unavailable() {
        log_throttled!(
            throttle,
            span::Names(nodes).to_string(),
            WARN,
            "not locked",
            site = site_name, %resource, reason = %error
        );
    } else if !error.is_contended() && !error.is_already_run() {
        log!(debug, site = site_name, %resource, reason = %error, "not locked");
    } else if site.skips {
        log!(debug, site = site_name, %resource, reason = %error, "skipped");
    } else {
        log_throttled!(
            throttle,
            site.site_name(),
            INFO,
            "not locked",
            site = site_name, %resource, reason = %error
        );
    }
}
