//! The pauses between attempts to connect.

use std::time::Duration;

use rand::{Rng, RngExt as _};

/// The client notices within this time that a server is back.
pub(in crate::redis) const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The longest first pause before another attempt to connect. Many processes that lost their connections at the same
/// moment come back spread over this time. All at once they would overflow the server's queue of connections (511).
/// A connection that finds the queue full is tried again by the host, a second later.
pub(in crate::redis) const SPREAD: Duration = Duration::from_millis(100);

/// The pauses between attempts to connect. Each is drawn from the time up to a bound. The bound is [`SPREAD`] at
/// first, and doubles up to [`LONGEST_PAUSE`].
pub(in crate::redis) struct Backoff {
    bound: Duration,
}

impl Backoff {
    pub(in crate::redis) fn new() -> Self {
        Self { bound: SPREAD }
    }

    /// The next pause.
    pub(in crate::redis) fn next(&mut self) -> Duration {
        self.draw(&mut rand::rng())
    }

    fn draw(&mut self, rng: &mut impl Rng) -> Duration {
        let pause = self.bound.mul_f64(rng.random_range(0.0..=1.0));
        self.bound = (self.bound * 2).min(LONGEST_PAUSE);
        pause
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    fn millis(pauses: impl IntoIterator<Item = Duration>) -> Vec<u128> {
        pauses.into_iter().map(|it| it.as_millis()).collect()
    }

    #[test]
    fn first_attempts_of_many_processes_are_spread_evenly() {
        let mut rng = StdRng::seed_from_u64(1);
        let first = (0..1000).map(|_| Backoff::new().draw(&mut rng));
        let mut parts = [0; 10];
        for pause in millis(first) {
            parts[usize::try_from(pause / 10).unwrap().min(9)] += 1;
        }
        let fair = 70..130;
        assert!(parts.iter().all(|part| fair.contains(part)), "{parts:?}");
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let mut rng = StdRng::seed_from_u64(1);
        let mut longest = vec![0; 6];
        for _ in 0..1000 {
            let mut backoff = Backoff::new();
            let pauses = millis((0..6).map(|_| backoff.draw(&mut rng)));
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
