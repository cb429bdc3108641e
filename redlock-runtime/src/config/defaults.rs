//! The builder's parameters for locks that do not say them.

use std::time::Duration;

use redlock_core::{OnLost, Renewal, RetryLimit};

use super::Config;
use crate::parameters::{MinValidity, OnCancel, Wait};

impl Config {
    /// The ttl of a lock that names none: 60 s by default.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.defaults.ttl = Some(ttl);
        self
    }

    /// The retries of a lock that names none: 2 by default.
    #[must_use]
    pub fn retry_count(mut self, count: u32) -> Self {
        self.defaults.limit = Some(RetryLimit::Count(count));
        self
    }

    /// How long a lock that names neither keeps trying, in the place of a number of retries: for
    /// a [`Duration`], or [forever](Wait::Forever). The one that is said last counts.
    #[must_use]
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.defaults.limit = Some(wait.into().limit());
        self
    }

    /// The delay between attempts of a lock that names none: a random time between half of this
    /// and this, 200 ms by default.
    #[must_use]
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.defaults.retry_delay = Some(delay);
        self
    }

    /// The drift factor of a lock that names none: 0.01 by default.
    #[must_use]
    pub fn clock_drift_factor(mut self, factor: f64) -> Self {
        self.defaults.clock_drift_factor = Some(factor);
        self
    }

    /// What happens to a body whose lease ends, where the lock does not say: cancelled by default.
    #[must_use]
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.defaults.on_lost = Some(on_lost);
        self
    }

    /// The least validity that an acquisition has to leave, where the lock does not say: none by
    /// default. A [`Duration`], or a part of the ttl such as `0.66`.
    #[must_use]
    pub fn min_validity(mut self, least: impl Into<MinValidity>) -> Self {
        self.defaults.min_validity = Some(least.into());
        self
    }

    /// For how long leases are renewed by themselves, where the lock does not say: not at all by
    /// default. A [`Duration`], or [`Renewal::Unlimited`].
    #[must_use]
    pub fn max_hold(mut self, held: impl Into<Renewal>) -> Self {
        self.defaults.max_hold = Some(held.into());
        self
    }

    /// How long locks are kept at least, where they do not say: not at all by default. A release
    /// before then leaves the keys until then.
    #[must_use]
    pub fn min_hold(mut self, held: Duration) -> Self {
        self.defaults.min_hold = Some(held);
        self
    }

    /// Whether locks that do not say take a fencing token: no by default.
    #[must_use]
    pub fn fencing(mut self, fencing: bool) -> Self {
        self.defaults.fencing = Some(fencing);
        self
    }

    /// What happens to a lock whose body was cut off in the middle, where it does not say:
    /// released at once by default.
    #[must_use]
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.defaults.on_cancel = Some(on_cancel);
        self
    }
}
