//! Types of parameters' values.

use std::time::Duration;

use redlock_core::error::Invalid;

/// The least validity of an acquired lock. An acquisition that leaves less is given up and retried, so that every lock
/// lasts for a useful time.
///
/// ```
/// use std::time::Duration;
/// use redlock_runtime::parameters::{LockOptions, MinValidity};
///
/// let part = LockOptions::new().min_validity(0.66);
/// assert_eq!(part, LockOptions::new().min_validity(MinValidity::Fraction(0.66)));
/// let time = LockOptions::new().min_validity(Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MinValidity {
    /// An acquired lock is valid for at least this time.
    Time(Duration),
    /// An acquired lock is valid for at least this fraction of the ttl, from 0 to below 1.
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

impl MinValidity {
    /// Returns the least validity of a lock with `ttl`.
    ///
    /// # Errors
    /// [`Invalid`] unless the fraction is from 0 to below 1.
    pub(super) fn of(self, ttl: Duration) -> Result<Duration, Invalid> {
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

/// The time for which a caller keeps trying for a lock.
///
/// ```
/// use std::time::Duration;
/// use redlock_runtime::parameters::Wait;
///
/// let patient = redlock_runtime::lock("order:42").wait(Duration::from_secs(5));
/// let leader = redlock_runtime::lock("leader").wait(Wait::Forever);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// The caller tries for this time, which is a hard bound. It gives up earlier if no majority of the nodes answers two
    /// retries in a row.
    For(Duration),
    /// The caller tries until it has the lock. It continues even while no majority of the nodes answers.
    Forever,
}

impl From<Duration> for Wait {
    fn from(budget: Duration) -> Self {
        Self::For(budget)
    }
}

/// The runs of a job that count for its period, [`once_per`](crate::LockBuilder::once_per). The run of a process that
/// was killed never counts.
///
/// ```
/// use std::time::Duration;
/// use redlock_runtime::parameters::Remember;
///
/// let hour = Duration::from_secs(3600);
/// let billing = redlock_runtime::lock("billing").once_per(hour).remember(Remember::EveryRun);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remember {
    /// A run counts if it ended well, under a lock that was held until then.
    Success,
    /// Every run that began counts. It may have failed, panicked, been cancelled or dropped, or lost its lock.
    EveryRun,
}
