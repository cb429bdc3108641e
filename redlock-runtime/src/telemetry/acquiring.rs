//! An acquisition in progress, as metrics and spans show it.

use std::time::Duration;

use redlock_core::env::log_throttled;
use redlock_core::{NodeSet, Request, Resource};
use tracing::Span;

use super::outcome::AcquireOutcome;
use super::span::{self, name_of};
use super::{Gauged, Holding, figure, gauged};
use crate::error::LockError;
use crate::site::Site;

/// From the call to its end, whichever it is. One that is dropped before counts as cancelled.
pub(crate) struct Acquiring {
    span: Span,
    site: &'static str,
    /// The label of the kind of lock.
    kind: &'static str,
    /// Until it ended.
    waiting: Option<Gauged>,
}

impl Acquiring {
    pub(crate) fn begin(site: &'static Site, request: &Request, nodes: &NodeSet) -> Self {
        let (span, kind) = (span::acquire(site, request, nodes), request.kind.label());
        #[cfg(feature = "metrics")]
        super::metrics::zeros(site, kind);
        let site = site.site_name();
        Self {
            span,
            site,
            kind,
            waiting: Some(gauged!(WAITING {
                site: site,
                kind: kind
            })),
        }
    }

    /// The span of the acquisition.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// The lock is there.
    pub(crate) fn acquired(&mut self, site: &'static Site, lease: &redlock_core::Lease) -> Holding {
        span::granted(&self.span, lease);
        let (name, kind) = (self.site, self.kind);
        figure!(histogram WAIT { site: name, kind: kind } record(lease.waited()));
        self.ended(AcquireOutcome::Acquired);
        let holding = Holding::begin(name, lease, Duration::ZERO);
        self.say(site, lease, "locked");
        holding
    }

    /// The lock of a call above is shared.
    pub(crate) fn joined(&mut self, site: &'static Site, lease: &redlock_core::Lease) -> Holding {
        span::leased(&self.span, lease);
        self.ended(AcquireOutcome::Joined);
        // The lock was held before this call came.
        let holding = Holding::begin(self.site, lease, lease.held_for());
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
        self.ended(outcome);
        let _entered = self.span.enter();
        log_refusal(site, resource, nodes, error);
    }

    fn ended(&mut self, outcome: AcquireOutcome) {
        span::ended(&self.span, outcome);
        self.waiting = None;
        let (site, kind, outcome) = (self.site, self.kind, outcome.name());
        figure!(counter ACQUISITIONS { site: site, kind: kind, outcome: outcome } increment(1));
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
        if self.waiting.is_some() {
            self.ended(AcquireOutcome::Cancelled);
        }
    }
}

/// Records a call that was refused before a node was asked.
pub(crate) fn refused(site: &'static Site, resource: &Resource, error: &LockError) {
    let outcome = AcquireOutcome::of(error, false);
    let span = span::refused(site, resource);
    span::ended(&span, outcome);
    let (name, outcome) = (site.site_name(), outcome.name());
    figure!(counter ACQUISITIONS { site: name, outcome: outcome } increment(1));
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
