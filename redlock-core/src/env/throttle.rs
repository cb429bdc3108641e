//! A log line at most once a second.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::Moment;

const PAUSE: Duration = Duration::from_secs(1);

/// Passes an event that comes a second or more after the last passed one. Each cause of log lines has
/// its own: a fault of a node concerns all leases at once.
#[derive(Debug, Default)]
pub struct Throttle {
    /// When the next one may pass, in ns since the clock's origin.
    opens: AtomicU64,
    held_back: AtomicU64,
}

impl Throttle {
    /// The number of suppressed events since the last passed one; `None` if this one is suppressed.
    pub fn pass(&self, now: Moment) -> Option<u64> {
        let nanos =
            |moment: Moment| u64::try_from(moment.since_origin().as_nanos()).unwrap_or(u64::MAX);
        let opens = self.opens.load(Relaxed);
        let next = nanos(now.saturating_add(PAUSE));
        let passes = nanos(now) >= opens
            // Of several that come at once, one passes.
            && self.opens.compare_exchange(opens, next, Relaxed, Relaxed).is_ok();
        if passes {
            return Some(self.held_back.swap(0, Relaxed));
        }
        self.held_back.fetch_add(1, Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_passes_a_second_and_says_how_many_did_not() {
        let throttle = Throttle::default();
        let at = |ms| Moment::from_origin(Duration::from_millis(ms));
        assert_eq!(throttle.pass(at(5)), Some(0));
        assert_eq!(throttle.pass(at(6)), None);
        assert_eq!(throttle.pass(at(1004)), None);
        assert_eq!(throttle.pass(at(1005)), Some(2));
        assert_eq!(throttle.pass(at(1006)), None);
    }
}
