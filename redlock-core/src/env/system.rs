//! The system as an environment: the boot clock, the operating system's randomness, and the library's thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rand::rngs::SysRng;
use rand::{Rng as _, TryRng as _};

use super::{Clock, Entropy, Environment, Moment, Sleep, SleepKind, Spawn, Task};
use crate::io_thread::IoThread;

/// The longest time of one tokio timer. Tokio's timers stop while the host is suspended, so a sleep looks at the boot clock
/// again after this time.
const LONGEST_NAP: Duration = Duration::from_secs(1);

impl IoThread {
    /// Returns the production environment: the boot clock, the operating system's randomness, and this thread
    /// for background work.
    pub fn environment(&self) -> Environment {
        let io = Arc::new(self.clone());
        Environment::new(io.clone(), io.clone(), io)
    }
}

impl Spawn for IoThread {
    fn spawn(&self, task: Task) {
        self.handle().spawn(task);
    }
}

/// The operating system's randomness for tokens. Each caller in a line draws a pause, so pauses need no system call.
impl Entropy for IoThread {
    fn fill(&self, bytes: &mut [u8]) {
        if SysRng.try_fill_bytes(bytes).is_err() {
            // Current kernels do not fail here. If one does, a token of this generator is better than a panic.
            rand::rng().fill_bytes(bytes);
        }
    }

    fn draw(&self) -> u64 {
        rand::rng().next_u64()
    }
}

/// The time since boot, with suspended time, and timers on the library's thread.
impl Clock for IoThread {
    fn now(&self) -> Moment {
        Moment::from_origin(since_boot())
    }

    fn wall(&self) -> Duration {
        let now = std::time::SystemTime::now();
        // Zero, for a clock before 1970, means that there is no hint.
        now.duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default()
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        Sleep(SleepKind::Library(LibrarySleep {
            io: self.clone(),
            at,
            timer: None,
        }))
    }
}

/// A sleep by the boot clock.
pub(super) struct LibrarySleep {
    /// Keeps the thread alive, because the thread has to wake the sleeper.
    io: IoThread,
    at: Moment,
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Future for LibrarySleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(timer) = &mut self.timer
                && timer.as_mut().poll(context).is_pending()
            {
                return Poll::Pending;
            }
            let left = self.at.saturating_since(self.io.now());
            if left.is_zero() {
                return Poll::Ready(());
            }
            let nap = self.io.time().sleep(left.min(LONGEST_NAP));
            self.timer = Some(Box::pin(nap));
        }
    }
}

/// Returns the time since boot by `CLOCK_BOOTTIME`, because `std::time::Instant` stops while the host is suspended.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // The conversions never fail, because both parts are non-negative on this clock.
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Returns the time since the first call, by the standard library's monotonic clock. On macOS and Windows, the version of
/// the system decides if this clock stops during suspension. The guide says so in `understand/pause.md`.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn since_boot() -> Duration {
    static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    ORIGIN.get_or_init(std::time::Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_works_on_any_executor_and_outlives_the_last_handle() {
        let io = IoThread::start().unwrap();
        let clock = io.environment().clock;
        let before = clock.now();
        let sleep = clock.sleep_until(before.saturating_add(Duration::from_millis(5)));
        drop((io, clock));
        // Leave out tokio's timers here, so that the sleep has to bring its own.
        let bare = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        bare.block_on(sleep);
        let after = before.saturating_add(Duration::from_millis(5));
        assert!(Moment::from_origin(since_boot()) >= after);
    }
}
