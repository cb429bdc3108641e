//! When a lease is renewed.

use std::time::Duration;

use crate::env::Moment;
use crate::model::limits::drift;

use super::LeaseHandle;

/// The shortest pause before the retry of a renewal without a majority, and the shortest time for which a
/// retry is waited for: a tenth of the ttl, and no more than this. Nodes that refuse at once would be asked
/// in an ever faster row towards the end of the lease, by all leases together, just when they are in
/// trouble.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// How much earlier than due a lease may be renewed together with another one. It is never more than a
/// small part of its validity.
pub(super) const EARLIEST: Duration = Duration::from_millis(20);

/// How a lease is renewed.
#[derive(Clone, Copy)]
pub(super) struct RenewalTerms {
    pub(super) ttl: Duration,
    /// The time for which the lease is renewed, and the moment when it is over.
    pub(super) max_hold: Duration,
    pub(super) end: Moment,
}

impl RenewalTerms {
    /// How much earlier than due the lease may be renewed.
    pub(super) fn earliness(&self) -> Duration {
        EARLIEST.min(self.ttl / 30)
    }
}

impl LeaseHandle {
    /// The moment when a third of the validity of `ttl` has passed, even if an extension with a longer
    /// ttl came in between.
    pub(super) fn renewal_due(&self, ttl: Duration) -> Moment {
        let validity = ttl.saturating_sub(drift(ttl, self.shared.clock_drift_factor));
        let rest = validity.saturating_sub(validity / 3);
        self.shared.deadline().saturating_sub(rest)
    }

    /// The moment of the next try after one without a majority, or one behind the deadline.
    pub(super) fn retry_due(&self, ttl: Duration, now: Moment) -> Moment {
        let deadline = self.shared.deadline();
        let left = deadline.saturating_since(now);
        match retry_pause(left, ttl) {
            Some(pause) => now.saturating_add(pause),
            // It is over by then, also for a lease that is renewed early with others.
            None => deadline.saturating_add(EARLIEST),
        }
    }
}

pub(super) fn shortest(ttl: Duration) -> Duration {
    SHORTEST_PAUSE.min(ttl / 10)
}

/// The pause before the next try if `left` is left of the validity: a third of it. `None` if no time would
/// be left for the answers.
fn retry_pause(left: Duration, ttl: Duration) -> Option<Duration> {
    let shortest = shortest(ttl);
    let pause = (left / 3).max(shortest);
    (left >= pause + shortest).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses of a lease whose nodes refuse at once, from its first renewal on.
    fn pauses(ttl: Duration) -> Vec<Duration> {
        let mut left = ttl * 2 / 3;
        let next = || {
            let pause = retry_pause(left, ttl)?;
            left -= pause;
            Some(pause)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn tries_are_not_made_faster_and_faster_towards_the_end() {
        let ms = Duration::from_millis;
        for (ttl, shortest, tries) in [(60_000, 100, 14), (1000, 100, 3), (100, 10, 3)] {
            let pauses = pauses(ms(ttl));
            assert!(
                pauses.iter().all(|pause| *pause >= ms(shortest)),
                "{pauses:?}"
            );
            assert_eq!(pauses.len(), tries, "{pauses:?}");
            let left = (ms(ttl) * 2 / 3).saturating_sub(pauses.iter().sum());
            assert!(left >= ms(shortest), "the last try has {left:?}");
        }
    }
}
