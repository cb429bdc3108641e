//! An environment: the interfaces that one client uses.

use std::sync::Arc;
use std::time::Duration;

use crate::debug::debug_in_part;

use super::{Clock, Entropy, Moment, Spawn};

/// The parts of the outside world that a client needs.
#[derive(Clone)]
#[non_exhaustive]
pub struct Environment {
    /// The clock of deadlines, validity and waits.
    pub clock: Arc<dyn Clock>,
    /// The source of owner tokens and retry jitter.
    pub entropy: Arc<dyn Entropy>,
    /// The spawner of background tasks, such as the renewal of leases.
    pub spawner: Arc<dyn Spawn>,
}

impl Environment {
    /// Returns an environment with these parts.
    pub fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>, spawner: Arc<dyn Spawn>) -> Self {
        Self {
            clock,
            entropy,
            spawner,
        }
    }

    /// Returns the current moment on this environment's clock.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Returns a random duration in `[delay / 2, delay]`. Two clients that split the votes draw different durations, so one
    /// of them comes first the next time.
    pub(crate) fn jittered(&self, delay: Duration) -> Duration {
        let half = delay / 2;
        let spread = u64::try_from(delay.saturating_sub(half).as_nanos()).unwrap_or(u64::MAX);
        // The modulo's bias is below 2^-15 for any delay under a week.
        let extra = self.entropy.draw() % spread.saturating_add(1);
        half + Duration::from_nanos(extra)
    }
}

debug_in_part!(Environment);

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u8);
    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn jitter_stays_between_half_and_whole_and_survives_zero() {
        let io = crate::IoThread::start().unwrap();
        for byte in [0, 1, 0x7f, 0xff] {
            let environment = Environment {
                entropy: Arc::new(Fixed(byte)),
                ..io.environment()
            };
            for delay in [0, 1, 3, 200, 60_000].map(Duration::from_millis) {
                let drawn = environment.jittered(delay);
                let is_between = (delay / 2..=delay).contains(&drawn);
                assert!(is_between, "{drawn:?} of {delay:?}");
            }
        }
    }
}
