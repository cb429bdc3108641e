//! The clock that all processes of a soak share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A moment in ns since the host booted: the clock that the library measures validity by. One host,
/// one clock, so that moments which different processes wrote down may be compared.
pub(crate) type Moment = u64;

pub(crate) fn now() -> Moment {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let clock = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    // Both parts are non-negative on these clocks.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
