//! The parameters of a lock, layer by layer.

use std::time::Duration;

use redlock_core::{OnLost, Request, Resource, Retry, RetryLimit};

/// What one layer says; `None` leaves it to the layer below. The layers, from the top: the
/// attribute or the object style's calls, the registry's defaults, the built-in values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Parameters {
    pub(crate) ttl: Option<Duration>,
    /// `wait` or `retry_count`: the two answer the same question, so that a layer that sets one
    /// clears the other of the layers below.
    pub(crate) limit: Option<RetryLimit>,
    pub(crate) retry_delay: Option<Duration>,
    pub(crate) clock_drift_factor: Option<f64>,
    pub(crate) on_lost: Option<OnLost>,
}

impl Parameters {
    /// Nothing said.
    pub(crate) const NONE: Self = Self {
        ttl: None,
        limit: None,
        retry_delay: None,
        clock_drift_factor: None,
        on_lost: None,
    };

    /// This layer above `lower`.
    pub(crate) fn above(self, lower: Self) -> Self {
        Self {
            ttl: self.ttl.or(lower.ttl),
            limit: self.limit.or(lower.limit),
            retry_delay: self.retry_delay.or(lower.retry_delay),
            clock_drift_factor: self.clock_drift_factor.or(lower.clock_drift_factor),
            on_lost: self.on_lost.or(lower.on_lost),
        }
    }

    /// This layer above the built-in values, as a request for `resource`.
    pub(crate) fn request(self, resource: Resource) -> Request {
        let built_in = Request::new(resource);
        Request {
            ttl: self.ttl.unwrap_or(built_in.ttl),
            retry: Retry {
                limit: self.limit.unwrap_or(built_in.retry.limit),
                delay: self.retry_delay.unwrap_or(built_in.retry.delay),
            },
            clock_drift_factor: self
                .clock_drift_factor
                .unwrap_or(built_in.clock_drift_factor),
            ..built_in
        }
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
        let request = merged.request("r".into());
        assert_eq!(
            (request.ttl, request.retry.delay),
            (seconds(1), Duration::from_millis(200))
        );
    }
}
