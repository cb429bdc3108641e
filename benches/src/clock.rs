//! Clocks of the system: a clock that processes share, and the processor's time.

use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// A moment in ns on `CLOCK_MONOTONIC`. One host, one clock: moments that different processes wrote
/// down may be compared.
pub type Moment = u64;

/// Returns this moment.
pub fn now() -> Moment {
    nanos(duration(clock_gettime(ClockId::Monotonic)))
}

pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the processor time of all threads of this process so far.
pub(crate) fn cpu_time() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// Returns the time in user mode of the processes for which this one has waited, and of their children. It is zero on a
/// system without `/proc`.
pub(crate) fn cpu_time_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may have blanks. It is the second field, and the
    // children's user time the 16th.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = fields.split_whitespace().nth(13);
    let ticks = ticks.and_then(|ticks| ticks.parse::<u64>().ok());
    let millis = ticks.unwrap_or_default() * 1000 / clock_ticks_per_second();
    Duration::from_millis(millis)
}

fn duration(time: Timespec) -> Duration {
    // Both parts are non-negative on these clocks.
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
