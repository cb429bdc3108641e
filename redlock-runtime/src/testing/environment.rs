//! The environment of a test's registry: tokio's clock, seeded randomness, and the test's runtime.
//!
//! A test may pause tokio's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use redlock_core::env::{Clock, Entropy, Moment, Sleep, Spawn, Task};
use tokio::runtime::Handle;
use tokio::time::Instant;

/// The clock's time at the beginning of a test. It is above zero, so that earlier moments exist too.
const UPTIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest sleep, because tokio's timers have a limited range. Every test ends sooner.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The clock of one runtime, which other threads and runtimes can read too.
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
        // Enter the runtime, so that a thread of another runtime sees that the clock is paused.
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

/// Runs background work on the test's runtime, so that the work ends with that runtime.
pub(super) struct RuntimeSpawner(pub(super) Handle);

impl Spawn for RuntimeSpawner {
    fn spawn(&self, task: Task) {
        self.0.spawn(task);
    }
}

/// Random bytes from a fixed seed, equal in every run. Tests need distinct tokens, but not secret ones.
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
