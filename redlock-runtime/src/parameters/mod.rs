//! The parameters of a lock, layer by layer.

use std::time::Duration;

use redlock_core::{Invalid, OnLost, Renewal, Request, Resource, Retry, RetryLimit};

/// What one layer says; `None` leaves it to the layer below. The layers, from the top: what
/// the configuration says of the function, the attribute or the object style's calls, the registry's
/// defaults, the built-in values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) ttl: Option<Duration>,
    /// `wait` or `retry_count`: the two answer the same question, so that a layer that sets one
    /// clears the other of the layers below.
    pub(crate) limit: Option<RetryLimit>,
    pub(crate) retry_delay: Option<Duration>,
    pub(crate) clock_drift_factor: Option<f64>,
    pub(crate) min_validity: Option<MinValidity>,
    pub(crate) max_hold: Option<Renewal>,
    pub(crate) min_hold: Option<Duration>,
    pub(crate) fencing: Option<bool>,
    pub(crate) on_lost: Option<OnLost>,
    pub(crate) on_cancel: Option<OnCancel>,
}

/// What an acquisition has to leave of the validity; one that leaves less is given up and retried,
/// so that no lock is born nearly expired.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MinValidity {
    /// At least so long.
    Time(Duration),
    /// At least this part of the ttl, from 0 up to, but not, 1.
    Fraction(f64),
}

impl From<Duration> for MinValidity {
    fn from(least: Duration) -> Self {
        Self::Time(least)
    }
}

impl From<f64> for MinValidity {
    fn from(fraction: f64) -> Self {
        Self::Fraction(fraction)
    }
}

/// How long a caller keeps trying for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// For so long. A hard bound.
    For(Duration),
    /// Until it has the lock.
    Forever,
}

impl From<Duration> for Wait {
    fn from(budget: Duration) -> Self {
        Self::For(budget)
    }
}

impl Wait {
    pub(crate) const fn limit(self) -> RetryLimit {
        match self {
            Self::For(budget) => RetryLimit::Wait(budget),
            Self::Forever => RetryLimit::Forever,
        }
    }
}

impl MinValidity {
    fn of(self, ttl: Duration) -> Result<Duration, Invalid> {
        match self {
            Self::Time(least) => Ok(least),
            Self::Fraction(part) if (0.0..1.0).contains(&part) => Ok(ttl.mul_f64(part)),
            Self::Fraction(part) => Err(Invalid::new(format!(
                "`min_validity` of {part} is no part of the ttl; give a number from 0 up to 1, or \
                 a time"
            ))),
        }
    }
}

/// What happens to the lock when its body was cut off in the middle: cancelled because the lease
/// was lost or the process shuts down, dropped by the caller, or ended by a panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnCancel {
    /// It is released at once.
    #[default]
    Release,
    /// It stays until its ttl ends, because what the body sent may still be at work.
    Expire,
}

impl Parameters {
    /// Nothing said.
    pub(crate) const NONE: Self = Self {
        ttl: None,
        limit: None,
        retry_delay: None,
        clock_drift_factor: None,
        min_validity: None,
        max_hold: None,
        min_hold: None,
        fencing: None,
        on_lost: None,
        on_cancel: None,
    };

    /// This layer above `lower`.
    pub(crate) fn above(self, lower: Self) -> Self {
        Self {
            ttl: self.ttl.or(lower.ttl),
            limit: self.limit.or(lower.limit),
            retry_delay: self.retry_delay.or(lower.retry_delay),
            clock_drift_factor: self.clock_drift_factor.or(lower.clock_drift_factor),
            min_validity: self.min_validity.or(lower.min_validity),
            max_hold: self.max_hold.or(lower.max_hold),
            min_hold: self.min_hold.or(lower.min_hold),
            fencing: self.fencing.or(lower.fencing),
            on_lost: self.on_lost.or(lower.on_lost),
            on_cancel: self.on_cancel.or(lower.on_cancel),
        }
    }

    /// The names of what this layer says.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let limit = match self.limit {
            None => None,
            Some(RetryLimit::Count(_)) => Some("retry_count"),
            Some(_) => Some("wait"),
        };
        let names = [
            self.ttl.map(|_| "ttl"),
            limit,
            self.retry_delay.map(|_| "retry_delay"),
            self.clock_drift_factor.map(|_| "clock_drift_factor"),
            self.min_validity.map(|_| "min_validity"),
            self.max_hold.map(|_| "max_hold"),
            self.min_hold.map(|_| "min_hold"),
            self.fencing.map(|_| "fencing"),
            self.on_lost.map(|_| "on_lost"),
            self.on_cancel.map(|_| "on_cancel"),
        ];
        names.into_iter().flatten().collect()
    }

    /// This layer above the built-in values, as a request for `resource`.
    ///
    /// # Errors
    /// [`Invalid`] where a value is no value at all; [`Request::check`] has the limits.
    pub(crate) fn request(self, resource: Resource) -> Result<Request, Invalid> {
        let mut request = Request::new(resource);
        request.ttl = self.ttl.unwrap_or(request.ttl);
        request.retry = Retry {
            limit: self.limit.unwrap_or(request.retry.limit),
            delay: self.retry_delay.unwrap_or(request.retry.delay),
        };
        request.clock_drift_factor = self
            .clock_drift_factor
            .unwrap_or(request.clock_drift_factor);
        if let Some(least) = self.min_validity {
            request.min_validity = least.of(request.ttl)?;
        }
        request.renewal = self.max_hold.unwrap_or(request.renewal);
        request.min_hold = self.min_hold.unwrap_or(request.min_hold);
        request.fencing = self.fencing.unwrap_or(request.fencing);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_layer_wins_value_by_value() {
        let seconds = Duration::from_secs;
        let lower = Parameters {
            ttl: Some(seconds(1)),
            limit: Some(RetryLimit::Count(7)),
            ..Parameters::NONE
        };
        let higher = Parameters {
            limit: Some(RetryLimit::Wait(seconds(3))),
            on_lost: Some(OnLost::Continue),
            ..Parameters::NONE
        };
        let merged = higher.above(lower);
        assert_eq!(merged.ttl, Some(seconds(1)));
        assert_eq!(
            merged.limit,
            Some(RetryLimit::Wait(seconds(3))),
            "`wait` clears `retry_count`"
        );
        assert_eq!(merged.on_lost, Some(OnLost::Continue));
        let request = merged.request("r".into()).unwrap();
        assert_eq!(
            (request.ttl, request.retry.delay),
            (seconds(1), Duration::from_millis(200))
        );
    }

    #[test]
    fn a_fraction_is_of_the_ttl_that_won() {
        let parameters = |part: f64| Parameters {
            ttl: Some(Duration::from_secs(10)),
            min_validity: Some(part.into()),
            ..Parameters::NONE
        };
        let request = parameters(0.5).request("r".into()).unwrap();
        assert_eq!(request.min_validity, Duration::from_secs(5));
        for part in [1.0, -0.1, f64::NAN] {
            let refused = parameters(part).request("r".into()).unwrap_err();
            assert!(refused.to_string().contains("min_validity"), "{refused}");
        }
    }
}
