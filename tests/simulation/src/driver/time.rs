//! The library's time and tasks, wherever they are asked for.

use std::time::Duration;

use redlock_core::env::{Clock, Moment, Sleep, Spawn, Task};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::EPOCH_MICROS;

/// Tokio's clock of the library's runtime, with the servers' time.
pub(super) struct PausedClock {
    began: Instant,
    home: Handle,
}

impl PausedClock {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            home: Handle::current(),
        }
    }
}

impl Clock for PausedClock {
    fn now(&self) -> Moment {
        let _entered = self.home.enter();
        Moment::from_origin(self.began.elapsed())
    }

    fn wall(&self) -> Duration {
        let _entered = self.home.enter();
        Duration::from_micros(EPOCH_MICROS) + self.began.elapsed()
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        let left = at.saturating_since(self.now());
        let _entered = self.home.enter();
        Sleep::new(sleep(left))
    }
}

/// Tasks of the library's runtime.
pub(super) struct Here(pub(super) Handle);

impl Spawn for Here {
    fn spawn(&self, task: Task) {
        self.0.spawn(task);
    }
}
