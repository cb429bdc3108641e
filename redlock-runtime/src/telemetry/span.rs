//! The spans: `redlock.acquire`, from the call to the lock, and `redlock.hold`, from there until the
//! release is confirmed. They are siblings, so that a trace shows the one beside the other.
//!
//! Attributes of OpenTelemetry's semantic conventions have their names from there (`code.*`,
//! `error.type`); our own begin with `redlock.`, and times are in seconds.

use std::fmt;

use redlock_core::lease::{BodyOutcome, FencingToken};
use redlock_core::{LeaseHandle, NodeSet, Request};
use tracing::field::{DisplayValue, Empty, display};
use tracing::{Span, info_span};

use super::outcome::AcquireOutcome;
use crate::error::LockError;
use crate::parameters::Mode;
use crate::site::Site;

/// The span of an acquisition, from the call on. Add a new field to [`refused`] as well.
pub(crate) fn acquire(site: &'static Site, request: &Request, nodes: &NodeSet) -> Span {
    info_span!(
        "redlock.acquire",
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        code.function.name = site.function(),
        code.file.path = site.file(),
        code.line.number = site.line(),
        redlock.site = name_of(site),
        redlock.resource = %request.resource,
        redlock.pools = %Names(nodes),
        redlock.mode = Mode::of(request.kind).map(Mode::as_str),
        redlock.outcome = Empty,
        redlock.votes = Empty,
        redlock.attempts = Empty,
        redlock.wait = Empty,
        redlock.token = Empty,
        redlock.fencing_token = Empty,
        redlock.permit = Empty,
    )
}

/// The span of an acquisition that was refused before any node was named. It has those fields of
/// [`acquire`] that are known by then.
pub(crate) fn refused(site: &'static Site, resource: &redlock_core::Resource) -> Span {
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
        redlock.outcome = Empty,
        redlock.attempts = Empty,
        redlock.wait = Empty,
    )
}

/// Records the outcome on an acquisition's span.
pub(crate) fn ended(span: &Span, outcome: AcquireOutcome) {
    span.record("redlock.outcome", outcome.name());
    if outcome.is_error() {
        failed(span, outcome.name());
    }
}

/// Records on the span how the lock was acquired.
pub(crate) fn granted(span: &Span, lease: &LeaseHandle) {
    if span.is_disabled() {
        return;
    }
    span.record("redlock.votes", display(GrantedOf(lease)));
    span.record("redlock.attempts", lease.attempts());
    span.record("redlock.wait", lease.waited().as_secs_f64());
    leased(span, lease);
}

/// Records the number of attempts and the time of a failed acquisition, if known.
pub(crate) fn tried(span: &Span, error: &LockError) {
    if let Some((attempts, waited)) = error.effort().filter(|_| !span.is_disabled()) {
        span.record("redlock.attempts", attempts);
        span.record("redlock.wait", waited.as_secs_f64());
    }
}

/// Records which lease the call has.
pub(crate) fn leased(span: &Span, lease: &LeaseHandle) {
    span.record("redlock.token", lease.token_id());
    if let Some(token) = lease.fencing_token() {
        span.record("redlock.fencing_token", token.as_u64());
    }
    if let Some(permit) = lease.permit() {
        span.record("redlock.permit", permit);
    }
}

fn failed(span: &Span, kind: &'static str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}

/// The span of a body under its lease.
pub(crate) struct HoldSpan(Span);

impl HoldSpan {
    pub(crate) fn begin(site: &'static Site, lease: &LeaseHandle) -> Self {
        let span = info_span!(
            "redlock.hold",
            otel.status_code = Empty,
            error.type = Empty,
            redlock.site = name_of(site),
            redlock.resource = %lease.resource(),
            redlock.mode = Mode::of(lease.kind()).map(Mode::as_str),
            redlock.token = lease.token_id(),
            redlock.fencing_token = lease.fencing_token().map(FencingToken::as_u64),
            redlock.permit = lease.permit(),
            redlock.outcome = Empty,
            redlock.held = Empty,
        );
        Self(span)
    }

    pub(crate) fn span(&self) -> &Span {
        &self.0
    }

    /// Records how the body ended.
    pub(crate) fn ended(&self, lease: &LeaseHandle, held: &BodyOutcome<()>) {
        if self.0.is_disabled() {
            return;
        }
        let (outcome, over) = match held {
            BodyOutcome::Done(()) => ("done", None),
            BodyOutcome::Late((), over) => ("late", Some(over)),
            BodyOutcome::Cancelled(over) => ("lost", Some(over)),
            _ => return,
        };
        self.0.record("redlock.outcome", outcome);
        self.0
            .record("redlock.held", lease.held_for().as_secs_f64());
        if let Some(over) = over {
            failed(&self.0, over.as_str());
        }
    }
}

/// A site's name, as logs show it.
pub(crate) fn name_of(site: &'static Site) -> DisplayValue<&'static str> {
    display(site.site_name())
}

/// `2/3`: two of the three nodes of the lease have granted it.
pub(crate) struct GrantedOf<'a>(pub(crate) &'a LeaseHandle);

impl fmt::Display for GrantedOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0.votes(), self.0.nodes().len())
    }
}

/// `a,b,c`
pub(super) struct Names<'a>(pub(super) &'a NodeSet);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, node) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{}", node.name())?;
        }
        Ok(())
    }
}
