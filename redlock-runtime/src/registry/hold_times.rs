//! How long the functions of this process hold their locks, to tell a refused caller when to come
//! back. A key's remaining time is no such advice: it is the ttl of a holder that may crash, and not
//! the time of its work.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redlock_core::LeaseHandle;
use redlock_core::node::Remaining;

use crate::site::Site;

/// An average for each function in microseconds, by the address of its site.
#[derive(Debug, Default)]
pub(crate) struct HoldTimes(BTreeMap<usize, u64>);

impl HoldTimes {
    /// A holder is done. A moving average with a weight of one eighth for each holder.
    pub(crate) fn record(&mut self, site: &'static Site, held_micros: u32) {
        let held = u64::from(held_micros);
        let average = self.0.entry(site.address()).or_insert(held);
        *average = (*average * 7 + held) / 8;
    }

    /// The usual time; `None` if no holder is done yet.
    pub(crate) fn usual(&self, site: &'static Site) -> Option<Duration> {
        let average = self.0.get(&site.address())?;
        Some(Duration::from_micros(*average))
    }
}

/// How long a lease was held until its body had returned. With it, no clock is read at the end of the lease. It is
/// a part of every lease, so it is small.
#[derive(Debug, Default)]
pub(crate) struct HoldTime {
    /// Microseconds; zero if no body has returned.
    measured: AtomicU32,
}

impl HoldTime {
    pub(crate) fn set(&self, held: Duration) {
        self.measured.store(micros(held), Ordering::Relaxed);
    }

    /// The microseconds until now, if the time was not measured.
    pub(crate) fn micros_of(&self, lease: &LeaseHandle) -> u32 {
        match self.measured.load(Ordering::Relaxed) {
            0 => micros(lease.held_for()),
            measured => measured,
        }
    }
}

/// At least 1, and at most `u32::MAX`, which is 71 minutes: a longer time counts as 71 minutes.
fn micros(held: Duration) -> u32 {
    u32::try_from(held.as_micros().max(1)).unwrap_or(u32::MAX)
}

/// The time after which a lock is likely free, by the `usual` time of its function, the `ttl` with
/// which that function locks, and the remaining time of the holder's key. `None` if the key is not
/// of such a holder.
///
/// A holder that took longer than usual so far is expected to take as long again. So the advice
/// doubles for the key of a process that died.
pub(crate) fn free_after(usual: Duration, ttl: Duration, remaining: Remaining) -> Option<Duration> {
    match remaining {
        // A key that lives longer than the function's ttl was set by another function.
        Remaining::Expires(left) => {
            let so_far = ttl.checked_sub(left)?;
            Some(usual.max(so_far).min(left))
        }
        Remaining::Unknown => Some(usual),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_usual_time_follows_what_is_measured() {
        static ONE: Site = Site::new(|| (), "module", "one", "file", 1, 1, "r");
        static OTHER: Site = Site::new(|| (), "module", "other", "file", 2, 1, "r");
        let mut times = HoldTimes::default();
        assert_eq!(times.usual(&ONE), None);
        times.record(&ONE, 300_000);
        assert_eq!(times.usual(&ONE), Some(ms(300)));
        for _ in 0..50 {
            times.record(&ONE, 800_000);
        }
        let usual = times.usual(&ONE).unwrap();
        assert!((ms(790)..=ms(800)).contains(&usual), "{usual:?}");
        assert_eq!(times.usual(&OTHER), None);
    }

    #[test]
    fn the_advice_is_the_work_and_not_the_ttl() {
        let free = |left| free_after(ms(300), ms(30_000), Remaining::Expires(ms(left)));
        assert_eq!(free(29_900), Some(ms(300)));
        // This one takes longer than usual, or is dead: the advice doubles with its age.
        assert_eq!(free(29_000), Some(ms(1_000)));
        assert_eq!(free(28_000), Some(ms(2_000)));
        assert_eq!(free(20_000), Some(ms(10_000)));
        // Never longer than the key lives.
        assert_eq!(free(9_000), Some(ms(9_000)));
        assert_eq!(free(100), Some(ms(100)));
        // Of another function, which is known by its ttl.
        assert_eq!(free(60_000), None);
    }

    #[test]
    fn a_key_without_a_known_end_is_judged_by_the_usual_time_if_it_may_be_a_lock() {
        let free = |remaining| free_after(ms(300), ms(30_000), remaining);
        assert_eq!(free(Remaining::Unknown), Some(ms(300)));
        assert_eq!(free(Remaining::Never), None);
        assert_eq!(free(Remaining::NotALock), None);
    }
}
