//! The pauses between attempts to connect.

use std::time::Duration;

/// The longest pause between attempts to connect. A client notices within this time that a server has returned.
pub(super) const LONGEST_CONNECT_PAUSE: Duration = Duration::from_secs(1);
/// The bound of the first pause. It spreads the attempts of many processes that lost their connections at the same
/// moment. Together, they would overflow the server's queue of new connections (511 places). A host tries again only
/// after a second if it finds that queue full.
const SPREAD: Duration = Duration::from_millis(100);

/// Draws the pauses between attempts to connect. Each pause is random, up to a bound. The bound is [`SPREAD`] at first,
/// and doubles up to [`LONGEST_CONNECT_PAUSE`].
pub(super) struct Backoff {
    bound: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { bound: SPREAD }
    }

    /// Returns the next pause, and doubles the bound.
    pub(super) fn next(&mut self) -> Duration {
        let pause = self.bound.mul_f64(rand::random_range(0.0..=1.0));
        self.bound = (self.bound * 2).min(LONGEST_CONNECT_PAUSE);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let mut longest = vec![0; 6];
        for _ in 0..1000 {
            let mut backoff = Backoff::new();
            let pauses = (0..6).map(|_| backoff.next().as_millis());
            for (longest, pause) in longest.iter_mut().zip(pauses) {
                *longest = pause.max(*longest);
            }
        }
        let bounds = [100, 200, 400, 800, 1000, 1000];
        for (longest, bound) in longest.into_iter().zip(bounds) {
            assert!(longest <= bound && longest > bound * 9 / 10, "{longest}");
        }
    }
}
