//! Forgetting in time what a client keeps for a moment.

use std::sync::Arc;
use std::time::Duration;

use super::Moment;
use super::caught::caught;
use super::environment::Environment;

const EVERY: Duration = Duration::from_secs(1);

/// Keeps things for a moment, and with them nodes. Without a sweep it would forget them only once the client is used
/// again, and the connections of nodes that the application has dropped would stay open until then.
pub(crate) trait Keeps: Send + Sync + 'static {
    /// Forgets what is no longer needed. True if there is something left: only then does the sweep go on.
    fn forget(&self, now: Moment) -> bool;
}

/// Starts a task that calls [`forget`](Keeps::forget) every second. The task ends once nothing is left, or `kept` is
/// dropped.
pub(crate) fn sweep<T: Keeps>(environment: &Environment, kept: &Arc<T>) {
    let (clock, kept) = (Arc::clone(&environment.clock), Arc::downgrade(kept));
    let mut next = clock.now().saturating_add(EVERY);
    environment.spawner.spawn(Box::pin(async move {
        loop {
            clock.sleep_until(next).await;
            let now = clock.now();
            let forget = || kept.upgrade().is_some_and(|kept| kept.forget(now));
            // If the drop of a node panics, other things may be left.
            let is_any_left = caught("the drop of a node", forget).unwrap_or(true);
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

    /// What each of the next sweeps does. After the last one nothing is left.
    struct Kept(Mutex<Vec<fn()>>);

    impl Keeps for Kept {
        fn forget(&self, _: Moment) -> bool {
            let (next, is_any_left) = {
                let mut sweeps = self.0.lock();
                (sweeps.remove(0), !sweeps.is_empty())
            };
            next();
            is_any_left
        }
    }

    struct Scene {
        clock: Arc<StillClock>,
        tasks: Arc<Tasks>,
        kept: Arc<Kept>,
    }

    impl Scene {
        fn swept(sweeps: &[fn()]) -> Self {
            let (clock, tasks, environment) = by_hand();
            let kept = Arc::new(Kept(Mutex::new(sweeps.to_vec())));
            sweep(&environment, &kept);
            Self { clock, tasks, kept }
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

    #[test]
    fn a_sweep_ends_with_the_client() {
        let mut scene = Scene::swept(&[NOTHING; 9]);
        assert!(scene.goes_on());
        scene.kept = Arc::new(Kept(Mutex::default()));
        assert!(!scene.goes_on());
    }

    /// A node is foreign code, and its drop may panic. No other sweep would begin while this one counts as under way.
    #[test]
    fn a_sweep_goes_on_behind_a_panic() {
        let scene = Scene::swept(&[|| panic!("a bomb"), NOTHING]);
        assert!(scene.goes_on());
        assert!(!scene.goes_on());
        assert!(scene.kept.0.lock().is_empty());
    }
}
