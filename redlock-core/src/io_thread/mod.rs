//! The thread that owns the library's timers and background work.
//!
//! Timers and background work must outlive the runtime of the first caller: a `#[tokio::test]` ends its runtime with
//! the test, actix has one runtime for each worker, and a lease may be dropped after its runtime ended. So the library
//! runs them in a separate runtime, on a separate thread. A connection moves there when the runtime that began it has
//! ended.

mod look_ups;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::debug::debug_in_part;
use crate::panics::caught;
use crate::process::notice_forks;
use look_ups::LookUps;

/// A handle to the library's I/O thread. The thread ends with the last handle. Nodes, clocks and sleeps have one.
#[derive(Clone)]
pub struct IoThread(Arc<IoThreadState>);

struct IoThreadState {
    handle: Handle,
    look_ups: LookUps,
    /// Dropping the sender ends the thread.
    _alive: oneshot::Sender<()>,
}

impl IoThread {
    /// Starts a thread named `redlock-io` with its own tokio runtime.
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
                // Run until the sender is dropped. Catch panics, because a timer may wake a caller of another executor.
                while caught("a waker", || runtime.block_on(&mut ended)).is_none() {}
                // Abandon look-ups, because one may hang.
                runtime.shutdown_background();
            })?;
        Ok(Self(Arc::new(IoThreadState {
            handle,
            look_ups: LookUps::default(),
            _alive: alive,
        })))
    }

    /// Returns the handle of the thread's tokio runtime.
    pub fn handle(&self) -> &Handle {
        &self.0.handle
    }

    pub(crate) fn time(&self) -> LibraryTime {
        LibraryTime(Some(self.handle().clone()))
    }
}

/// Lets other threads run the tasks that were just woken. `tokio` keeps the task that a worker woke last in the
/// worker's LIFO slot. If the caller blocks now, that task starves. So an empty task takes the slot.
pub(crate) fn share_woken_tasks() {
    if let Ok(runtime) = Handle::try_current()
        && runtime.runtime_flavor() == RuntimeFlavor::MultiThread
    {
        runtime.spawn(async {});
    }
}

/// Gives access to tokio's time in the library's runtime, on any thread. The caller's own runtime may have a clock that
/// a test has stopped or moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct LibraryTime(Option<Handle>);

impl LibraryTime {
    /// Returns a sleep on the library's thread, which any runtime may poll.
    pub(crate) fn sleep(&self, span: Duration) -> tokio::time::Sleep {
        let _entered = self.0.as_ref().map(Handle::enter);
        tokio::time::sleep(span)
    }

    /// Waits for `work`, but at most for `span` from now.
    pub(crate) fn timeout<W: Future>(&self, span: Duration, work: W) -> tokio::time::Timeout<W> {
        let _entered = self.0.as_ref().map(Handle::enter);
        tokio::time::timeout(span, work)
    }

    pub(crate) fn now(&self) -> Instant {
        match self.0 {
            // The clock of the library's runtime always runs.
            Some(_) => Instant::from_std(std::time::Instant::now()),
            None => Instant::now(),
        }
    }
}

debug_in_part!(IoThread);
