//! The thread that owns every timer of the library, and background work.
//!
//! These must not belong to the runtime of the first caller: a `#[tokio::test]` ends its runtime with the test, actix
//! has one runtime for each worker, and a lease may be dropped after its runtime ended. The library therefore has a
//! runtime of its own, on a thread of its own. A connection moves there when the runtime that began it has ended.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SysRng;
use rand::{Rng as _, TryRng as _};
use tokio::runtime::{Handle, RuntimeFlavor, TryCurrentError};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::caught::caught;
use super::{Clock, Entropy, Environment, Moment, Sleep, Spawn, Task};

/// Tokio's timers stop while the host is suspended, but the boot clock does not.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// A handle to the library's I/O thread. The thread ends with the last clone. Each node, clock and
/// sleep holds one.
#[derive(Clone)]
pub struct IoThread {
    handle: Handle,
    /// Dropping the sender ends the thread.
    alive: Arc<oneshot::Sender<()>>,
}

impl IoThread {
    /// Starts a thread named `redlock-io` with a tokio runtime of its own.
    ///
    /// # Errors
    /// When the operating system refuses the runtime's descriptors or the thread.
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let (alive, mut ended) = oneshot::channel::<()>();
        std::thread::Builder::new()
            .name("redlock-io".into())
            .spawn(move || {
                // Resolves with an error once the sender is dropped; nothing is ever sent. A timer may wake a caller of
                // another executor, whose waker may panic.
                while caught("a waker", || runtime.block_on(&mut ended)).is_none() {}
            })?;
        Ok(Self {
            handle,
            alive: Arc::new(alive),
        })
    }

    /// The handle of the thread's tokio runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn time(&self) -> LibraryTime {
        LibraryTime::of(Some(self.handle.clone()))
    }

    /// The production environment: the boot clock, the operating system's randomness, and this thread
    /// for background work.
    pub fn environment(&self) -> Environment {
        let io = Arc::new(self.clone());
        Environment {
            clock: io.clone(),
            entropy: io.clone(),
            spawner: io,
        }
    }
}

/// Lets the tasks that were just woken run on other threads. A worker of tokio keeps the task that it woke last for
/// itself. A caller that drops a lease may block the worker next. Then another task has to be in that place.
pub(crate) fn share_woken_tasks() {
    if let Ok(runtime) = Handle::try_current()
        && runtime.runtime_flavor() == RuntimeFlavor::MultiThread
    {
        runtime.spawn(async {});
    }
}

/// Tokio's time in the library's runtime, on any thread. A caller may run in a runtime whose clock a test has
/// stopped or moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct LibraryTime(Option<Handle>);

impl LibraryTime {
    /// Without a handle, the time is that of the calling thread.
    pub(crate) const fn of(library: Option<Handle>) -> Self {
        Self(library)
    }

    /// A sleep on the library's thread, which any runtime may poll.
    pub(crate) fn sleep(&self, span: Duration) -> tokio::time::Sleep {
        let _entered = self.0.as_ref().map(Handle::enter);
        tokio::time::sleep(span)
    }

    /// Waits for `work`, at most for `span`, which begins now.
    pub(crate) fn timeout<W: Future>(&self, span: Duration, work: W) -> tokio::time::Timeout<W> {
        let _entered = self.0.as_ref().map(Handle::enter);
        tokio::time::timeout(span, work)
    }

    pub(crate) fn now(&self) -> Instant {
        let is_ending = |error: TryCurrentError| error.is_thread_local_destroyed();
        if Handle::try_current().is_err_and(is_ending) {
            // No runtime can be entered at the end of a thread.
            return Instant::from_std(std::time::Instant::now());
        }
        let _entered = self.0.as_ref().map(Handle::enter);
        Instant::now()
    }
}

impl std::fmt::Debug for IoThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IoThread").finish_non_exhaustive()
    }
}

impl Spawn for IoThread {
    fn spawn(&self, task: Task) {
        self.handle.spawn(task);
    }
}

/// The operating system's randomness.
impl Entropy for IoThread {
    fn fill(&self, bytes: &mut [u8]) {
        if SysRng.try_fill_bytes(bytes).is_err() {
            // No kernel in use fails here. A token of this generator is better than a panic.
            rand::rng().fill_bytes(bytes);
        }
    }
}

/// Time since boot, suspended time included, with timers on the library's thread.
impl Clock for IoThread {
    fn now(&self) -> Moment {
        Moment::from_origin(since_boot())
    }

    fn wall(&self) -> Duration {
        let now = std::time::SystemTime::now();
        // A host whose clock is before 1970 has no hint.
        now.duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default()
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        // Keeps the thread alive: without the thread the sleeper would never wake.
        let (library, alive) = (self.time(), Arc::clone(&self.alive));
        Sleep::new(async move {
            let _alive = alive;
            loop {
                let left = at.saturating_since(Moment::from_origin(since_boot()));
                if left.is_zero() {
                    return;
                }
                library.sleep(left.min(LONGEST_NAP)).await;
            }
        })
    }
}

/// `std::time::Instant` stops while the host is suspended; `CLOCK_BOOTTIME` does not.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    // Both parts are non-negative on this clock.
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Other systems use the standard library's monotonic clock. macOS and Windows stop it during
/// suspension or not, by version; the guide says so in `understand/pause.md`.
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
        // A runtime without timers of its own: the sleep must bring its own.
        let bare = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        bare.block_on(sleep);
        assert!(
            Moment::from_origin(since_boot()) >= before.saturating_add(Duration::from_millis(5))
        );
    }
}
