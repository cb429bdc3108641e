//! A [`Request`] for a lock, and the types of its values.
//!
//! A [`Resource`] has the names to lock, and [`Kind`] is the kind of lock. [`RetryLimit`] bounds the attempts, and
//! [`MaxHold`] bounds the renewal of the lease. A [`Note`] describes the holder.

use std::time::Duration;

use crate::model::brief::Brief;
use crate::model::invalid::Invalid;
use crate::model::limits::validity_of;
use crate::model::resource::Resource;
use crate::setters::setters;

pub use crate::kinds::Kind;
pub use crate::kinds::permits::MAX_PERMITS;
pub use crate::model::limits::{
    DEFAULT_CLOCK_DRIFT_FACTOR, DEFAULT_MIN_VALIDITY, DEFAULT_RETRY_COUNT, DEFAULT_RETRY_DELAY,
    DEFAULT_TTL, MAX_TTL, MIN_TTL, MaxHold, RetryLimit, check_drift_factor, check_period,
    check_ttl,
};
pub use crate::model::name::ResourceName;
pub use crate::model::note::{MAX_NOTE_BYTES, Note};
pub use crate::model::resource::{MAX_NAMES, MAX_RESOURCE_BYTES, RESERVED_PREFIX};

/// A request for one lock. Its setters change the defaults of the protocol.
///
/// ```
/// use std::time::Duration;
/// use redlock_core::Request;
/// use redlock_core::request::RetryLimit;
///
/// let request = Request::new("order:42")
///     .ttl(Duration::from_secs(30))
///     .retry_limit(RetryLimit::Wait(Duration::from_secs(2)))
///     .fencing(true);
/// assert!(request.check().is_ok());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Request {
    /// The names to lock. The client puts its key prefix before each name.
    pub resource: Resource,
    /// The time after which the nodes free the lock on their own.
    pub ttl: Duration,
    /// The limit at which the caller gives up.
    pub retry_limit: RetryLimit,
    /// The longest pause between two attempts. Each pause is a random time, from half of this to all of it, but a pause
    /// ends early if the lock seems to be free.
    pub retry_delay: Duration,
    /// The number of further retries for split votes, once the retries of `retry_limit` are used up. A vote is split if
    /// callers come at the same moment and each gets some of the votes, so that none gets the lock. With
    /// [`RetryLimit::Wait`] this has no effect.
    pub split_retries: u32,
    /// The part of the ttl that is deducted as an allowance for clock drift, in addition to 2 ms.
    pub clock_drift_factor: f64,
    /// The least validity of an acquired lock. An acquisition that leaves less is given up and retried.
    pub min_validity: Duration,
    /// The longest time for which renewals keep the lock.
    pub max_hold: MaxHold,
    /// True if the lock comes with a fencing token.
    pub fencing: bool,
    /// The period of a job. The request fails if a majority of the nodes remembers a run of this period.
    /// [`Lease::remember_run`](crate::Lease::remember_run) records a run.
    pub once_per: Option<Duration>,
    /// A text about the holder, for people. The note never decides who gets the lock. But a waiting caller can only take
    /// the previous holder's keys over as they are if both callers have the same note.
    pub note: Option<Note>,
    /// The kind of lock. The kind decides which callers a holder excludes, and how many holders there may be.
    pub kind: Kind,
}

impl Request {
    /// Returns a request for a plain lock with the defaults of the protocol. These are [`DEFAULT_TTL`],
    /// [`DEFAULT_RETRY_COUNT`], [`DEFAULT_RETRY_DELAY`], [`DEFAULT_CLOCK_DRIFT_FACTOR`] and [`DEFAULT_MIN_VALIDITY`].
    pub fn new(resource: impl Into<Resource>) -> Self {
        Self {
            resource: resource.into(),
            ttl: DEFAULT_TTL,
            retry_limit: RetryLimit::Count(DEFAULT_RETRY_COUNT),
            retry_delay: DEFAULT_RETRY_DELAY,
            split_retries: 0,
            clock_drift_factor: DEFAULT_CLOCK_DRIFT_FACTOR,
            min_validity: DEFAULT_MIN_VALIDITY,
            max_hold: MaxHold::Ttl,
            fencing: false,
            once_per: None,
            note: None,
            kind: Kind::Plain,
        }
    }

    setters! {
        /// Sets the time after which the nodes free the lock on their own.
        ttl: Duration;

        /// Sets the limit at which the caller gives up. A number is a number of retries.
        retry_limit: impl Into<RetryLimit>;

        /// Sets the longest pause between two attempts.
        retry_delay: Duration;

        /// Sets the number of further retries for split votes.
        split_retries: u32;

        /// Sets the part of the ttl that is deducted for clock drift.
        clock_drift_factor: f64;

        /// Sets the least validity of an acquired lock.
        min_validity: Duration;

        /// Sets the longest time for which renewals keep the lock: a duration, or another [`MaxHold`].
        max_hold: impl Into<MaxHold>;

        /// Sets whether the lock comes with a fencing token.
        fencing: bool;

        /// Sets the period of a job.
        once_per: impl Into<Option<Duration>>;

        /// Sets the text about the holder.
        note: impl Into<Option<Note>>;

        /// Sets the kind of lock.
        kind: Kind;
    }

    /// Checks every value against the limits of the protocol.
    ///
    /// # Errors
    /// [`Invalid`], with the wrong values, their limits, and what to do. Of several wrong times, only the first is named.
    pub fn check(&self) -> Result<(), Invalid> {
        Invalid::of_all([
            self.resource.check(),
            self.check_times(),
            self.kind.check(&self.resource, self.fencing, self.once_per),
        ])
    }

    fn check_times(&self) -> Result<(), Invalid> {
        check_drift_factor(self.clock_drift_factor)?;
        check_ttl(self.ttl, self.clock_drift_factor)?;
        if self.retry_limit == RetryLimit::Wait(Duration::ZERO) {
            return Err(Invalid::new(
                "a wait of zero leaves no time to ask the nodes; to try just once, set the number \
                 of retries to 0",
            ));
        }
        let validity = validity_of(self.ttl, self.clock_drift_factor);
        if self.min_validity >= validity {
            return Err(Invalid::new(format!(
                "`min_validity` of {} is not below the ttl less its drift, {}; no acquisition could \
                 ever succeed",
                Brief(self.min_validity),
                Brief(validity),
            )));
        }
        if let MaxHold::For(held) = self.max_hold
            && held < self.ttl
        {
            return Err(Invalid::new(format!(
                "`max_hold` of {} is below the ttl of {}, which the lock is held for anyway; lower \
                 the ttl, or leave `max_hold` out",
                Brief(held),
                Brief(self.ttl),
            )));
        }
        if let Some(period) = self.once_per {
            check_period(period, self.ttl)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limits::drift;

    fn refusal(change: impl FnOnce(&mut Request)) -> String {
        let mut request = Request::new("r");
        change(&mut request);
        request.check().unwrap_err().to_string()
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        assert!(refusal(|r| r.ttl = Duration::ZERO).contains("10 ms"));
        assert!(refusal(|r| r.ttl = Duration::from_millis(1)).contains("10 ms"));
        assert!(refusal(|r| r.ttl = Duration::MAX).contains("year"));
        assert!(refusal(|r| r.ttl = Duration::from_micros(10_500)).contains("whole number"));
        assert!(refusal(|r| r.clock_drift_factor = 0.999_99).contains("drift"));
        for factor in [f64::NAN, f64::INFINITY, -0.1, 1.0] {
            assert!(refusal(|r| r.clock_drift_factor = factor).contains("clock_drift_factor"));
        }
        assert!(refusal(|r| r.min_validity = Duration::from_secs(60)).contains("min_validity"));
        let short = MaxHold::For(Duration::from_secs(59));
        assert!(refusal(|r| r.max_hold = short).contains("max_hold"));
        assert!(refusal(|r| r.once_per = Some(Duration::ZERO)).contains("once_per"));
        assert!(refusal(|r| r.once_per = Some(Duration::from_secs(59))).contains("below the ttl"));
        assert!(refusal(|r| r.once_per = Some(Duration::MAX)).contains("year"));
        let no_wait = RetryLimit::Wait(Duration::ZERO);
        assert!(refusal(|r| r.retry_limit = no_wait).contains("wait of zero"));
        assert!(refusal(|r| r.resource = "".into()).contains("empty"));
        assert!(Request::new("r").check().is_ok());
        for secs in [60, MAX_TTL.as_secs()] {
            assert!(check_period(Duration::from_secs(secs), Duration::from_secs(60)).is_ok());
        }
    }

    #[test]
    fn drift_is_a_hundredth_of_the_ttl_and_2_ms() {
        assert_eq!(
            drift(Duration::from_secs(60), 0.01),
            Duration::from_millis(602)
        );
    }
}
