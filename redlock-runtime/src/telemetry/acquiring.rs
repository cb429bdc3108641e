//! An acquisition, as its span `redlock.acquire`, figures and the log show it.
//!
//! Attributes of OpenTelemetry's semantic conventions have their names from there (`code.*`,
//! `error.type`); our own begin with `redlock.`, and times are in seconds.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::lease::FencingToken;
use redlock_core::logging::log_throttled;
use redlock_core::request::Kind;
use redlock_core::{LeaseHandle, NodeSet, Request, Resource};
use tracing::field::Empty;
use tracing::{Span, debug, info_span};

use super::{Gauged, Holding, Journal, JournalLine, failed, figure, gauged, kind_of, name_of};
use crate::error::{LockError, Reason};
use crate::parameters::Mode;
use crate::site::Site;

/// From the call to its end, whichever it is. One that is dropped before counts as cancelled.
pub(crate) struct Acquiring {
    span: Span,
    site: &'static Site,
    /// The label of the kind of lock.
    kind: &'static str,
    /// True if a caller's lease serves the call.
    is_joined: bool,
    line: Option<Box<dyn JournalLine>>,
    /// Until it ended.
    waiting: Option<Gauged>,
}

impl Acquiring {
    pub(crate) fn begin(
        site: &'static Site,
        request: &Request,
        nodes: &NodeSet,
        is_joined: bool,
        journal: Option<&Arc<dyn Journal>>,
    ) -> Self {
        let (name, kind) = (site.site_name(), request.kind.label());
        #[cfg(feature = "metrics")]
        super::metrics::zeros(site, kind);
        let asked = Some((request, nodes, is_joined));
        let line = journal.map(|it| Arc::clone(it).begin(site, &request.resource, asked));
        Self {
            span: span(site, &request.resource, Some((request.kind, nodes))),
            site,
            kind,
            is_joined,
            line,
            waiting: Some(gauged!(WAITING {
                site: name,
                kind: kind
            })),
        }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// The lock is there, or a share of it.
    pub(crate) fn acquired(mut self, lease: &LeaseHandle) -> Holding {
        let (site, kind) = (self.site.site_name(), self.kind);
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
                self.tried(lease.attempts(), lease.waited());
            }
            self.span.record("redlock.token", lease.token_id());
            let fencing_token = lease.fencing_token().map(FencingToken::as_u64);
            self.span.record("redlock.fencing_token", fencing_token);
            self.span.record("redlock.permit", lease.permit());
        }
        self.ended(outcome);
        let line = self.line.take();
        if let Some(line) = &line {
            line.held(lease);
        }
        let entered = self.span.enter();
        debug!(
            site = name_of(self.site),
            resource = %lease.resource(), token = lease.token_id(),
            votes = %votes(), attempts = lease.attempts(), waited = ?lease.waited(),
            "{text}",
        );
        drop(entered);
        Holding::begin(self.site, lease, self.is_joined, line)
    }

    /// There is none, for this reason.
    pub(crate) fn refused(&mut self, resource: &Resource, nodes: &NodeSet, error: &LockError) {
        if let Some((attempts, waited)) = error.effort() {
            self.tried(attempts, waited);
        }
        if let Some(line) = &self.line {
            line.refused(error);
        }
        let outcome = match kind_of(error) {
            "contended" if self.site.skips => "skipped",
            kind => kind,
        };
        // A call that is skipped, or whose job ran already, is as planned.
        if !["skipped", "already_run"].contains(&outcome) {
            failed(&self.span, outcome);
        }
        self.ended(outcome);
        log_refusal(self.site, resource, nodes, error);
    }

    /// Records the number of attempts and the time that they took.
    fn tried(&self, attempts: u32, waited: Duration) {
        self.span.record("redlock.attempts", attempts);
        self.span.record("redlock.wait", waited.as_secs_f64());
    }

    fn ended(&mut self, outcome: &'static str) {
        self.span.record("redlock.outcome", outcome);
        self.waiting = None;
        let (site, kind) = (self.site.site_name(), self.kind);
        figure!(counter ACQUISITIONS { site: site, kind: kind, outcome: outcome } increment(1));
    }
}

impl Drop for Acquiring {
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.ended("cancelled");
        }
    }
}

/// Records a call that was refused before a node was asked.
pub(crate) fn refused(
    site: &'static Site,
    resource: &Resource,
    error: &LockError,
    journal: Option<Arc<dyn Journal>>,
) {
    if let Some(journal) = journal {
        journal.begin(site, resource, None).refused(error);
    }
    let (name, outcome) = (site.site_name(), kind_of(error));
    let span = span(site, resource, None);
    span.record("redlock.outcome", outcome);
    failed(&span, outcome);
    figure!(counter ACQUISITIONS { site: name, outcome: outcome } increment(1));
    debug!(site = name_of(site), %resource, reason = %Reason(error), "not locked");
}

/// The span of an acquisition, from the call on. A call that is refused at once has no kind and no nodes.
fn span(site: &'static Site, resource: &Resource, asked: Option<(Kind, &NodeSet)>) -> Span {
    info_span!(
        "redlock.acquire",
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        code.function.name = site.function(),
        code.file.path = site.file(),
        code.line.number = site.line(),
        redlock.site = name_of(site),
        redlock.resource = %resource,
        redlock.pools = asked.map(|(_, nodes)| names(nodes)),
        redlock.mode = asked.and_then(|(kind, _)| Mode::of(kind)).map(Mode::as_str),
        redlock.outcome = Empty,
        redlock.votes = Empty,
        redlock.attempts = Empty,
        redlock.wait = Empty,
        redlock.token = Empty,
        redlock.fencing_token = Empty,
        redlock.permit = Empty,
    )
}

/// Logs a refusal outside of its span, whose fields would repeat each fact. Operators are told of a missing majority,
/// and of refusals by other holders, which a holder that died leaves behind until its keys expire. A call that its
/// function skips is as planned.
fn log_refusal(site: &'static Site, resource: &Resource, nodes: &NodeSet, error: &LockError) {
    let site_name = name_of(site);
    let (throttle, reason) = (error.throttle(), Reason(error));
    if error.is_unavailable() {
        log_throttled!(
            throttle,
            names(nodes),
            WARN,
            "not locked",
            site = site_name, %resource, %reason
        );
    } else if !error.is_contended() && !error.is_already_run() {
        debug!(site = site_name, %resource, %reason, "not locked");
    } else if site.skips {
        debug!(site = site_name, %resource, %reason, "skipped");
    } else {
        log_throttled!(
            throttle,
            site.site_name(),
            INFO,
            "not locked",
            site = site_name, %resource, %reason
        );
    }
}

/// `a,b,c`
fn names(nodes: &NodeSet) -> String {
    let names: Vec<&str> = nodes.iter().map(|node| node.name()).collect();
    names.join(",")
}
