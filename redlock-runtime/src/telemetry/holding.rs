//! Shows a held lease in its span `redlock.hold` and in figures.
//!
//! The span is a sibling of `redlock.acquire`, so that a trace shows the two next to each other.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::LeaseHandle;
use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::{BodyOutcome, FencingToken, ObserveExtensions};
use redlock_core::targets;
use tracing::field::Empty;
use tracing::{Span, info_span};

use super::journal::JournalLine;
use super::{GaugeCount, count_in_gauge, figure, mark_failed};
use crate::site::Site;

/// The telemetry of a held lease, from its acquisition until its holder drops it.
pub(crate) struct HoldTelemetry {
    /// The span in which the body runs.
    pub(crate) span: Span,
    labels: Labels,
    /// The age of the lease when this call joined it. Zero if the call acquired the lock itself.
    before: Duration,
    line: Option<JournalLine>,
    _held: GaugeCount,
}

/// The labels of the figures: the site and the kind of lock.
#[derive(Clone, Copy)]
struct Labels(&'static str, &'static str);

impl HoldTelemetry {
    pub(super) fn begin(
        site: &'static Site,
        lease: &LeaseHandle,
        is_joined: bool,
        line: Option<JournalLine>,
    ) -> Self {
        let (name, kind) = (site.name(), lease.kind().label());
        let labels = Labels(name, kind);
        if cfg!(feature = "metrics") {
            lease.observe_extensions(Arc::new(labels));
        }
        let span = info_span!(
            target: targets::LEASE,
            "redlock.hold",
            otel.status_code = Empty,
            error.type = Empty,
            redlock.site = %name,
            redlock.resource = %lease.resource(),
            redlock.kind = kind,
            redlock.token = lease.token_id(),
            redlock.fencing_token = lease.fencing_token().map(FencingToken::as_u64),
            redlock.permit = lease.permit(),
            redlock.outcome = Empty,
            redlock.held = Empty,
        );
        let before = is_joined.then(|| lease.held_for());
        Self {
            span,
            labels,
            before: before.unwrap_or_default(),
            line,
            _held: count_in_gauge!(HELD {
                site: name,
                kind: kind
            }),
        }
    }

    /// Records how the body ended.
    pub(crate) fn record_body_end(&self, lease: &LeaseHandle, outcome: &BodyOutcome<()>) {
        if self.span.is_disabled() {
            return;
        }
        let (outcome, over) = match outcome {
            BodyOutcome::Done(()) => ("done", None),
            BodyOutcome::Late((), over) => ("late", Some(over)),
            BodyOutcome::Cancelled(over) => ("lost", Some(over)),
        };
        self.span.record("redlock.outcome", outcome);
        let held = lease.held_for().as_secs_f64();
        self.span.record("redlock.held", held);
        if let Some(over) = over {
            mark_failed(&self.span, over.as_str());
        }
    }

    /// Records that the holder is done, before the release is sent. `is_cut_off` says that the body has not returned.
    pub(crate) fn end(&self, lease: &LeaseHandle, is_cut_off: bool) {
        let Labels(site, kind) = self.labels;
        figure!(histogram HOLD { site: site, kind: kind } record(
            lease.held_for().saturating_sub(self.before)
        ));
        if self.line.is_none() && !cfg!(feature = "metrics") {
            // Only the metrics and the journal record the end of the lease.
            return;
        }
        let over = lease.over();
        if let Some(over) = over.as_ref().filter(|it| **it != LeaseEnd::Released) {
            let reason = over.as_str();
            figure!(counter LOST { site: site, kind: kind, reason: reason } increment(1));
        }
        if let Some(line) = &self.line {
            line.record_end(over, is_cut_off);
        }
    }
}

impl ObserveExtensions for Labels {
    fn observe_extension(&self, outcome: Result<(), &ExtendError>) {
        let Self(site, kind) = *self;
        let outcome = match outcome {
            Ok(()) => "extended",
            Err(ExtendError::Unavailable(_)) => "unavailable",
            // The holder dropped the lease during the extension.
            Err(ExtendError::Ended(LeaseEnd::Released)) => return,
            Err(_) => "lost",
        };
        figure!(counter EXTENSIONS { site: site, kind: kind, outcome: outcome } increment(1));
    }
}
