//! The interfaces to the outside world in an [`Environment`]: time ([`Clock`]), randomness
//! ([`Entropy`]), and background work ([`Spawn`]).
//!
//! Core takes all three from the [`Environment`] of its client, and never from global state or the ambient runtime.
//! Production uses the boot clock, a CSPRNG and the library's own I/O thread ([`crate::IoThread::environment`]). A test
//! uses parts of its own, for example one clock for each client, and may let these clocks differ.

pub(crate) mod environment;
mod system;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod timeout;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::debug::debug_in_part;
pub use environment::Environment;
use system::LibrarySleep;

/// A point in time on one [`Clock`]. It counts whole nanoseconds since an origin that only that clock knows, so moments of
/// different clocks cannot be compared. The largest value is about 584 years after the origin.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// Returns the moment `since` after the clock's origin, or the largest value on overflow.
    pub const fn from_origin(since: Duration) -> Self {
        Self(nanos(since))
    }

    /// Returns the time from the clock's origin to this moment.
    pub const fn since_origin(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// Returns the time from `earlier` to this moment, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Returns this moment plus `by`, or the largest value on overflow.
    #[must_use]
    pub const fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(nanos(by)))
    }

    /// Returns this moment minus `by`, or the origin on underflow.
    #[must_use]
    pub const fn saturating_sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(by)))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Moment").field(&self.since_origin()).finish()
    }
}

/// Returns the nanoseconds of `span`, or the largest value on overflow.
const fn nanos(span: Duration) -> u64 {
    let seconds = span.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(span.subsec_nanos() as u64)
}

/// Returns a duration in whole µs. The number is signed, for differences between clocks.
pub(crate) fn micros(span: Duration) -> i128 {
    // The conversion never fails, because a duration has less than 2^84 µs.
    i128::try_from(span.as_micros()).unwrap_or(i128::MAX)
}

/// A sleep of a [`Clock`]. Dropping it removes the timer.
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep(SleepKind);

enum SleepKind {
    Library(LibrarySleep),
    Other(Pin<Box<dyn Future<Output = ()> + Send>>),
}

impl Sleep {
    /// Returns a sleep that ends when `future` completes.
    pub fn new(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(SleepKind::Other(Box::pin(future)))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.0 {
            SleepKind::Library(sleep) => Pin::new(sleep).poll(context),
            SleepKind::Other(future) => future.as_mut().poll(context),
        }
    }
}

debug_in_part!(Sleep);

/// Background work for a [`Spawn`].
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A monotonic clock that also counts while the host is suspended. Otherwise a lease would seem valid although its time
/// passed while a laptop slept, or a virtual machine migrated.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current moment. A later call never returns an earlier moment.
    fn now(&self) -> Moment;

    /// Returns the time since the Unix epoch, by the host's clock. That clock may jump, so the time serves only as a hint.
    fn wall(&self) -> Duration;

    /// Returns a future that completes once [`now`](Self::now) has reached `at`, or a little later. The future must work
    /// on any executor, and may be dropped at any time.
    fn sleep_until(&self, at: Moment) -> Sleep;
}

/// A source of unpredictable bytes. Owner tokens need it, because a token is the right to release the lock.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `bytes` from a cryptographically secure generator. A simulation may use a seeded generator.
    fn fill(&self, bytes: &mut [u8]);

    /// Returns a random number for the length of a pause. The number may come from a cheaper generator than a token.
    fn draw(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// Runs background work, which must go on when the caller's own runtime ends.
pub trait Spawn: Send + Sync + 'static {
    /// Runs `task` to its end, detached from the caller.
    fn spawn(&self, task: Task);
}
