//! The limits and the defaults of a request's values.

use std::time::Duration;

use crate::model::brief::Brief;
use crate::model::invalid::Invalid;

/// The shortest ttl of a lock. The round trip and the drift would use up a shorter one.
pub const MIN_TTL: Duration = Duration::from_millis(10);

/// The longest ttl of a lock, which is the most that a node can count. A client's own limit may be lower.
pub const MAX_TTL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The default ttl of a lock.
pub const DEFAULT_TTL: Duration = Duration::from_secs(60);

/// The default number of retries, for a request without a number or a time.
pub const DEFAULT_RETRY_COUNT: u32 = 2;

/// The default pause between attempts.
pub const DEFAULT_RETRY_DELAY: Duration = Duration::from_millis(200);

/// The default clock drift factor.
pub const DEFAULT_CLOCK_DRIFT_FACTOR: f64 = 0.01;

/// The default least validity.
pub const DEFAULT_MIN_VALIDITY: Duration = Duration::ZERO;

/// The longest time for which a lock is held, by renewals of its lease. A renewal is sent each time that a third of
/// the validity has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxHold {
    /// The lease is not renewed: the lock is held for its ttl at most.
    #[default]
    Ttl,
    /// The lease is renewed until the lock has been held for this time, counted from the attempt that won.
    For(Duration),
    /// The lease is renewed for as long as the holder keeps the lock.
    Unlimited,
}

impl From<Duration> for MaxHold {
    fn from(held: Duration) -> Self {
        Self::For(held)
    }
}

/// The limit at which a caller gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryLimit {
    /// The caller makes this number of retries after the first attempt.
    Count(u32),
    /// The caller tries for this time from the start of its first attempt, which is a hard bound. The time is meant for
    /// waiting on a holder, so the caller gives up earlier if no majority of the nodes answers two retries in a row.
    Wait(Duration),
    /// The caller tries until it has the lock, even while no majority of the nodes answers.
    Forever,
}

impl From<u32> for RetryLimit {
    fn from(count: u32) -> Self {
        Self::Count(count)
    }
}

/// Returns the drift allowance of a ttl. The clocks of client and node may differ by `factor`, and Redis expires keys
/// to the millisecond, for which the Redis page on distributed locks adds 2 ms.
pub(crate) fn drift(ttl: Duration, factor: f64) -> Duration {
    ttl.mul_f64(factor) + Duration::from_millis(2)
}

/// Returns the validity of a lock with this ttl: the ttl less its drift.
pub(crate) fn validity_of(ttl: Duration, factor: f64) -> Duration {
    ttl.saturating_sub(drift(ttl, factor))
}

/// Checks a drift factor.
///
/// # Errors
/// [`Invalid`] unless it is a number of at least 0 and below 1.
pub fn check_drift_factor(factor: f64) -> Result<(), Invalid> {
    if (0.0..1.0).contains(&factor) {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "`clock_drift_factor` of {factor} is not a number from 0 up to 1; the usual one is 0.01"
    )))
}

/// Checks a ttl. The drift factor has to be valid.
///
/// # Errors
/// [`Invalid`] if the ttl is below [`MIN_TTL`], above [`MAX_TTL`], or not above the drift. A ttl with a fraction of a
/// millisecond is invalid too, because a node cannot count it.
pub fn check_ttl(ttl: Duration, factor: f64) -> Result<(), Invalid> {
    if ttl < MIN_TTL {
        return Err(Invalid::new(format!(
            "the ttl of {} is below the {} that a lock needs at least",
            Brief(ttl),
            Brief(MIN_TTL),
        )));
    }
    if ttl > MAX_TTL {
        return Err(Invalid::new(
            "the ttl is above a year, which is the most for a lock; lower it",
        ));
    }
    if !ttl.subsec_nanos().is_multiple_of(1_000_000) {
        return Err(Invalid::new(format!(
            "the ttl of {ttl:?} is not a whole number of milliseconds"
        )));
    }
    if ttl <= drift(ttl, factor) {
        return Err(Invalid::new(format!(
            "the ttl of {} is not above its clock drift of {}; lower `clock_drift_factor` or raise \
             the ttl",
            Brief(ttl),
            Brief(drift(ttl, factor)),
        )));
    }
    Ok(())
}

/// Checks the period of a job whose lock has a valid ttl.
///
/// # Errors
/// [`Invalid`] if the period is below the ttl, because the lock of a killed holder would stay for longer than a period.
/// A period above [`MAX_TTL`] is invalid too, because a node counts it.
pub fn check_period(period: Duration, ttl: Duration) -> Result<(), Invalid> {
    if period < ttl {
        return Err(Invalid::new(format!(
            "`once_per` of {} is below the ttl of {}, for which the lock of a killed process stays; \
             lower the ttl, or raise `once_per`",
            Brief(period),
            Brief(ttl),
        )));
    }
    if period > MAX_TTL {
        return Err(Invalid::new(
            "`once_per` is above a year; no node remembers a run for that long",
        ));
    }
    Ok(())
}
