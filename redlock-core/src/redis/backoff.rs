//! The pauses between attempts to connect.

use std::time::Duration;

/// The client notices within this time that a server is back.
pub(super) const LONGEST_CONNECT_PAUSE: Duration = Duration::from_secs(1);
/// The longest first pause before another attempt to connect. Many processes that lost their connections at the same
/// moment come back spread over this time. All at once they would overflow the server's queue of connections (511).
/// A connection that finds the queue full is tried again by the host, a second later.
const SPREAD: Duration = Duration::from_millis(100);

/// The pauses between attempts to connect. Each is drawn from the time up to a bound. The bound is [`SPREAD`] at
/// first, and doubles up to [`LONGEST_CONNECT_PAUSE`].
pub(super) struct Backoff {
    bound: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { bound: SPREAD }
    }

    /// The next pause.
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
