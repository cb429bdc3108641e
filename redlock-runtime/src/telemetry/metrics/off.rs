//! Without the feature `metrics`: the same calls, which do nothing.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::Environment;
use redlock_core::node::ObserveAnswers;
use redlock_core::request::Kind;

use super::outcome::AcquireOutcome;
use crate::error::LockError;
use crate::health::PoolHealth;
use crate::site::Site;

#[derive(Default)]
pub(crate) struct Metrics;

impl Metrics {
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn waiting(&self, _site: &'static Site, _kind: Kind) -> Waiting {
        Waiting { is_ended: false }
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn stands(&self, _site: &'static Site) {}
}

pub(crate) struct InOffice;

impl InOffice {
    pub(crate) fn begin(_site: &'static Site) -> Self {
        Self
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) fn ended(&self, _length: Duration) {}
}

pub(crate) struct Waiting {
    is_ended: bool,
}

impl Waiting {
    pub(crate) fn acquired(&mut self, _lease: &redlock_core::Lease) -> Holding {
        self.is_ended = true;
        Holding
    }

    pub(crate) fn joined(&mut self, _lease: &redlock_core::Lease) -> Holding {
        self.is_ended = true;
        Holding
    }

    pub(crate) fn ended(&mut self, _outcome: AcquireOutcome) {
        self.is_ended = true;
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }
}

pub(crate) struct Holding;

#[expect(clippy::unused_self, reason = "as with the feature")]
impl Holding {
    pub(crate) fn ended(&self, _lease: &redlock_core::Lease) {}

    pub(crate) fn unconfirmed(&self) {}
}

pub(crate) fn count_refusal(_site: &'static Site, _outcome: AcquireOutcome) {}

pub(crate) fn count_swallowed(error: &LockError) -> &'static str {
    AcquireOutcome::of(error, false).name()
}

pub(crate) fn answers_of(_pool: &str) -> Option<Arc<dyn ObserveAnswers>> {
    None
}

pub(crate) fn sample_nodes(
    _metrics: &Arc<Metrics>,
    _environment: &Environment,
    _read: impl Fn() -> Option<Vec<PoolHealth>> + Send + 'static,
) {
}
