//! Forgetting in time what a client keeps for a moment.

use std::sync::Arc;
use std::time::Duration;

use super::Moment;
use super::caught::caught;
use super::environment::Environment;

const EVERY: Duration = Duration::from_secs(1);

/// Starts a task that calls `forget` every second, until it returns false: nothing is left to forget. What a client
/// keeps for a moment keeps nodes alive. Without a sweep the client would forget it only once it is used again, and the
/// connections of nodes that the application has dropped would stay open until then.
pub(crate) fn sweep(environment: &Environment, forget: impl Fn(Moment) -> bool + Send + 'static) {
    let clock = Arc::clone(&environment.clock);
    let mut next = clock.now().saturating_add(EVERY);
    environment.spawner.spawn(Box::pin(async move {
        loop {
            clock.sleep_until(next).await;
            let now = clock.now();
            // If the drop of a node panics, other things may be left.
            let is_any_left = caught("the drop of a node", || forget(now)).unwrap_or(true);
            if !is_any_left {
                return;
            }
            next = now.saturating_add(EVERY);
        }
    }));
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::env::still_clock::StillClock;
    use crate::env::tasks::{Tasks, by_hand};

    const NOTHING: fn() = || {};

    /// What each of the next sweeps does.
    type Sweeps = Arc<Mutex<Vec<fn()>>>;

    struct Scene {
        clock: Arc<StillClock>,
        tasks: Arc<Tasks>,
        left: Sweeps,
    }

    impl Scene {
        /// Each sweep does the first of `sweeps`. After the last one nothing is left.
        fn swept(sweeps: &[fn()]) -> Self {
            let (clock, tasks, environment) = by_hand();
            let left = Arc::new(Mutex::new(sweeps.to_vec()));
            let sweeps = Arc::clone(&left);
            sweep(&environment, move |_| {
                let (next, is_any_left) = {
                    let mut sweeps = sweeps.lock();
                    (sweeps.remove(0), !sweeps.is_empty())
                };
                next();
                is_any_left
            });
            Self { clock, tasks, left }
        }

        /// Lets a second pass. True if there is a task still.
        fn goes_on(&self) -> bool {
            self.clock.advance(EVERY);
            self.tasks.poll();
            self.tasks.count() > 0
        }
    }

    #[test]
    fn a_sweep_ends_once_nothing_is_left() {
        let scene = Scene::swept(&[NOTHING; 2]);
        assert!(scene.goes_on());
        assert!(!scene.goes_on());
    }

    /// A node is foreign code, and its drop may panic. No other sweep would begin while this one counts as under way.
    #[test]
    fn a_sweep_goes_on_behind_a_panic() {
        let scene = Scene::swept(&[|| panic!("a bomb"), NOTHING]);
        assert!(scene.goes_on());
        assert!(!scene.goes_on());
        assert!(scene.left.lock().is_empty());
    }
}
