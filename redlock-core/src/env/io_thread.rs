//! The thread that owns every timer of the library, and background work.
//!
//! These must not belong to the runtime of the first caller: a `#[tokio::test]` ends its runtime with the test, actix
//! has one runtime for each worker, and a lease may be dropped after its runtime ended. The library therefore has a
//! runtime of its own, on a thread of its own. A connection moves there when the runtime that began it has ended.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::SysRng;
use rand::{Rng as _, TryRng as _};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::unconstrained;
use tokio::time::Instant;

use super::caught::caught;
use super::names::LookUps;
use super::process::notice_forks;
use super::{Clock, Entropy, Environment, Moment, Sleep, SleepKind, Spawn, Task};

/// Tokio's timers stop while the host is suspended, but the boot clock does not.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// The most timers that are kept for later sleeps.
const MOST_SPARE: usize = 1024;

type Timer = Pin<Box<tokio::time::Sleep>>;

/// A handle to the library's I/O thread. The thread ends with the last clone. Each node, clock and
/// sleep holds one.
#[derive(Clone)]
pub struct IoThread(Arc<Shared>);

struct Shared {
    handle: Handle,
    /// Timers that were used. Most sleeps are over before their time and are followed by others, and tokio defers a timer
    /// with a fraction of the work that a new timer takes.
    spare: Mutex<Vec<Timer>>,
    look_ups: LookUps,
    /// Dropping the sender ends the thread.
    _alive: oneshot::Sender<()>,
}

impl IoThread {
    /// Starts a thread named `redlock-io` with a tokio runtime of its own.
    ///
    /// # Errors
    /// When the operating system refuses the runtime's descriptors or the thread.
    pub fn start() -> io::Result<Self> {
        notice_forks();
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
                // A look-up may hang, and nobody waits for it.
                runtime.shutdown_background();
            })?;
        Ok(Self(Arc::new(Shared {
            handle,
            spare: Mutex::default(),
            look_ups: LookUps::default(),
            _alive: alive,
        })))
    }

    /// The handle of the thread's tokio runtime.
    pub fn handle(&self) -> &Handle {
        &self.0.handle
    }

    pub(super) fn look_ups(&self) -> &LookUps {
        &self.0.look_ups
    }

    pub(crate) fn time(&self) -> LibraryTime {
        LibraryTime::of(Some(self.handle().clone()))
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
        match self.0 {
            // The clock of the library's runtime is never stopped.
            Some(_) => Instant::from_std(std::time::Instant::now()),
            None => Instant::now(),
        }
    }
}

impl std::fmt::Debug for IoThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IoThread").finish_non_exhaustive()
    }
}

impl Spawn for IoThread {
    fn spawn(&self, task: Task) {
        self.handle().spawn(task);
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
        Sleep(SleepKind::Library(LibrarySleep {
            io: self.clone(),
            at,
            timer: None,
        }))
    }
}

/// A sleep by the boot clock.
pub(super) struct LibrarySleep {
    /// Keeps the thread alive: without the thread the sleeper would never wake.
    io: IoThread,
    at: Moment,
    timer: Option<Timer>,
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
            let nap = left.min(LONGEST_NAP);
            let timer = self.timer.take().or_else(|| self.io.0.spare.lock().pop());
            self.timer = Some(match timer {
                Some(mut timer) => {
                    timer
                        .as_mut()
                        .reset(Instant::from_std(std::time::Instant::now() + nap));
                    timer
                }
                None => Box::pin(self.io.time().sleep(nap)),
            });
        }
    }
}

impl Drop for LibrarySleep {
    fn drop(&mut self) {
        let Some(mut timer) = self.timer.take() else {
            return;
        };
        // The timer forgets the sleeper's waker.
        let mut context = Context::from_waker(Waker::noop());
        let is_set = pin!(unconstrained(timer.as_mut())).poll(&mut context);
        let mut spare = self.io.0.spare.lock();
        if is_set.is_pending() && spare.len() < MOST_SPARE {
            spare.push(timer);
        }
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
    use crate::waiting::tests::Woken;

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
        let after = before.saturating_add(Duration::from_millis(5));
        assert!(Moment::from_origin(since_boot()) >= after);
    }

    #[test]
    fn a_timer_that_is_used_again_has_forgotten_its_last_sleeper() {
        let io = IoThread::start().unwrap();
        let clock = io.environment().clock;
        let later = |millis| clock.now().saturating_add(Duration::from_millis(millis));
        let sleeper = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&sleeper));
        let mut sleep = clock.sleep_until(later(10));
        let polled = Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        drop((sleep, waker));
        assert_eq!(Arc::strong_count(&sleeper), 1);
        assert_eq!(io.0.spare.lock().len(), 1);
        let until = later(30);
        io.handle().block_on(clock.sleep_until(until));
        assert!(clock.now() >= until && sleeper.take() == 0);
        assert!(io.0.spare.lock().is_empty(), "the timer was used");
    }
}
