//! Clocks of the system: one that processes share, and the processor's.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment in ns on `CLOCK_MONOTONIC`. One host, one clock: moments that different processes wrote
/// down may be compared.
pub(crate) type Moment = u64;

pub(crate) fn now() -> Moment {
    nanos(duration(clock_gettime(ClockId::Monotonic)))
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// What all threads of this process have used so far.
pub(crate) fn cpu_time() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

fn duration(time: Timespec) -> Duration {
    // Both parts are non-negative on these clocks.
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
