//! Runs a registry on tokio's clock, which a test may pause, on a seed, and on the test's runtime.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use redlock_core::env::{Clock, Entropy, Moment, Sleep, Spawn, Task};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// The clock's time at the beginning of a test, so that earlier moments exist too.
const UPTIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest sleep: tokio's timers have a limited range, and every test ends sooner.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The clock of one runtime, for all threads and runtimes that read it.
pub(super) struct RuntimeClock {
    runtime: Handle,
    began: Instant,
    began_wall: Duration,
}

impl RuntimeClock {
    pub(super) fn new(runtime: &Handle) -> Self {
        let _entered = runtime.enter();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            began: Instant::now(),
            began_wall: wall.unwrap_or_default(),
            runtime: runtime.clone(),
        }
    }

    fn elapsed(&self) -> Duration {
        // Entered, so that a thread of another runtime sees that the clock is paused.
        let _entered = self.runtime.enter();
        self.began.elapsed()
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Moment {
        Moment::from_origin(UPTIME + self.elapsed())
    }

    fn wall(&self) -> Duration {
        self.began_wall + self.elapsed()
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        let since = at.since_origin().saturating_sub(UPTIME).min(NEVER);
        let _entered = self.runtime.enter();
        Sleep::new(tokio::time::sleep_until(self.began + since))
    }
}

/// Runs background work on the test's runtime, so it ends with that runtime.
pub(super) struct RuntimeSpawner(pub(super) Handle);

impl Spawn for RuntimeSpawner {
    fn spawn(&self, task: Task) {
        self.0.spawn(task);
    }
}

/// Random bytes from a seed: the same in every run. Tokens need not be secret here, only different.
pub(super) struct Seeded(Mutex<StdRng>);

impl Default for Seeded {
    fn default() -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(0)))
    }
}

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().fill_bytes(bytes);
    }
}
