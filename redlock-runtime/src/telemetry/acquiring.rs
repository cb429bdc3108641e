//! Shows an acquisition in its span `redlock.acquire`, in figures and in the log.
//!
//! Attributes that OpenTelemetry's semantic conventions define have the names given there (`code.*`, `error.type`). Our
//! own attributes begin with `redlock.`. Times are in seconds.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::internal::log_throttled;
use redlock_core::lease::FencingToken;
use redlock_core::targets;
use redlock_core::{LeaseHandle, NodeSet, Request, Resource};
use tracing::field::Empty;
use tracing::{Span, debug, info_span};

use super::journal::{Journal, JournalLine};
use super::{GaugeCount, HoldTelemetry, count_in_gauge, figure, kind_of, mark_failed};
use crate::error::{LockError, Reason};
use crate::site::Site;

/// The values of an acquisition, once they are decided.
#[derive(Clone, Copy)]
pub(crate) struct AcquireArgs<'a> {
    pub(crate) request: &'a Request,
    pub(crate) nodes: &'a NodeSet,
    /// True if the call shares the lease of a caller above it.
    pub(crate) is_joined: bool,
}

/// The telemetry of one acquisition, from the call to its end. An acquisition that is dropped earlier counts as
/// cancelled.
pub(crate) struct AcquireTelemetry {
    pub(crate) span: Span,
    site: &'static Site,
    /// The label of the lock's kind.
    kind: &'static str,
    /// True if the call shares the lease of a caller above it.
    is_joined: bool,
    line: Option<JournalLine>,
    /// `None` once the acquisition has ended.
    waiting: Option<GaugeCount>,
}

impl AcquireTelemetry {
    pub(crate) fn begin(
        site: &'static Site,
        args: AcquireArgs<'_>,
        journal: Option<&Arc<Journal>>,
    ) -> Self {
        let (name, resource) = (site.name(), &args.request.resource);
        let kind = args.request.kind.label();
        #[cfg(feature = "metrics")]
        super::metrics::register_zeros(site, kind);
        Self {
            span: span(site, resource, Some(args)),
            site,
            kind,
            is_joined: args.is_joined,
            line: journal.map(|journal| journal.begin(site, resource, Some(args))),
            waiting: Some(count_in_gauge!(WAITING {
                site: name,
                kind: kind
            })),
        }
    }

    /// Records that the call got the lock, or a share of the lease of a caller above it.
    pub(crate) fn record_acquired(mut self, lease: &LeaseHandle) -> HoldTelemetry {
        let (site, kind) = (self.site.name(), self.kind);
        let (outcome, text) = if self.is_joined {
            ("joined", "joined the lease of a caller")
        } else {
            figure!(histogram WAIT { site: site, kind: kind } record(lease.waited()));
            ("acquired", "locked")
        };
        let votes = || format!("{}/{}", lease.votes(), lease.nodes().len());
        if !self.span.is_disabled() {
            if !self.is_joined {
                self.span.record("redlock.votes", votes());
                self.record_effort(lease.attempts(), lease.waited());
            }
            self.span.record("redlock.token", lease.token_id());
            let fencing_token = lease.fencing_token().map(FencingToken::as_u64);
            self.span.record("redlock.fencing_token", fencing_token);
            self.span.record("redlock.permit", lease.permit());
        }
        self.end(outcome);
        let line = self.line.take();
        if let Some(line) = &line {
            line.record_lease(lease);
        }
        let entered = self.span.enter();
        debug!(
            target: targets::LOCK, %site,
            resource = %lease.resource(), token = lease.token_id(),
            votes = %votes(), attempts = lease.attempts(), waited = ?lease.waited(),
            "{text}",
        );
        drop(entered);
        HoldTelemetry::begin(self.site, lease, self.is_joined, line)
    }

    /// Records that the caller was refused, with the reason.
    pub(crate) fn record_refusal(
        &mut self,
        resource: &Resource,
        nodes: &NodeSet,
        error: &LockError,
    ) {
        if let Some((attempts, waited)) = error.effort() {
            self.record_effort(attempts, waited);
        }
        if let Some(line) = &self.line {
            line.record_refusal(error);
        }
        let outcome = match kind_of(error) {
            "contended" if self.site.skips => "skipped",
            kind => kind,
        };
        // A call that is skipped, or whose job ran already, ends as planned.
        if !["skipped", "already_run"].contains(&outcome) {
            mark_failed(&self.span, outcome);
        }
        self.end(outcome);
        log_refusal(self.site, resource, nodes, error);
    }

    /// Records the number of attempts and the time spent on them.
    fn record_effort(&self, attempts: u32, waited: Duration) {
        self.span.record("redlock.attempts", attempts);
        self.span.record("redlock.wait", waited.as_secs_f64());
    }

    fn end(&mut self, outcome: &'static str) {
        self.span.record("redlock.outcome", outcome);
        self.waiting = None;
        let (site, kind) = (self.site.name(), self.kind);
        figure!(counter ACQUISITIONS { site: site, kind: kind, outcome: outcome } increment(1));
    }
}

impl Drop for AcquireTelemetry {
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.end("cancelled");
        }
    }
}

/// Records a call that was refused before any node was asked.
pub(crate) fn record_early_refusal(
    site: &'static Site,
    resource: &Resource,
    error: &LockError,
    journal: Option<Arc<Journal>>,
) {
    if let Some(journal) = journal {
        journal.begin(site, resource, None).record_refusal(error);
    }
    let (name, outcome) = (site.name(), kind_of(error));
    let span = span(site, resource, None);
    span.record("redlock.outcome", outcome);
    mark_failed(&span, outcome);
    figure!(counter ACQUISITIONS { site: name, outcome: outcome } increment(1));
    debug!(target: targets::LOCK, site = %name, %resource, reason = %Reason(error), "not locked");
}

/// Begins the span of an acquisition. `args` is `None` for a call that is refused early.
fn span(site: &'static Site, resource: &Resource, args: Option<AcquireArgs<'_>>) -> Span {
    info_span!(
        target: targets::LOCK,
        "redlock.acquire",
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        code.function.name = site.function,
        code.file.path = site.file(),
        code.line.number = site.line(),
        redlock.site = %site.name(),
        redlock.resource = %resource,
        redlock.pools = args.map(|args| names(args.nodes)),
        redlock.kind = args.map(|args| args.request.kind.label()),
        redlock.outcome = Empty,
        redlock.votes = Empty,
        redlock.attempts = Empty,
        redlock.wait = Empty,
        redlock.token = Empty,
        redlock.fencing_token = Empty,
        redlock.permit = Empty,
    )
}

/// Logs a refusal outside of its span, because the span's fields would repeat each fact.
///
/// A missing majority concerns operators, and so does a refusal by another holder, because a dead holder causes
/// refusals until its keys expire. A skip is as planned, so it is logged at debug.
fn log_refusal(site: &'static Site, resource: &Resource, nodes: &NodeSet, error: &LockError) {
    let name = site.name();
    let (throttle, reason) = (error.throttle(), Reason(error));
    if error.is_unavailable() {
        log_throttled!(
            target: targets::LOCK, throttle,
            names(nodes),
            WARN,
            "not locked",
            site = %name, %resource, %reason
        );
    } else if !error.is_contended() && !error.is_already_run() {
        debug!(target: targets::LOCK, site = %name, %resource, %reason, "not locked");
    } else if site.skips {
        debug!(target: targets::LOCK, site = %name, %resource, %reason, "skipped");
    } else {
        log_throttled!(
            target: targets::LOCK, throttle,
            name,
            INFO,
            "not locked",
            site = %name, %resource, %reason
        );
    }
}

/// Returns the names of the nodes as `a,b,c`.
fn names(nodes: &NodeSet) -> String {
    let names: Vec<&str> = nodes.iter().map(|node| node.name()).collect();
    names.join(",")
}
