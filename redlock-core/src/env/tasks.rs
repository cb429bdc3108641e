//! Background tasks that a test polls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use parking_lot::Mutex;

use super::io_thread::IoThread;
use super::still_clock::{StillClock, still_clock};
use super::{Environment, Spawn, Task};

/// Tasks that run only when the test says so.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Vec<Task>>);

impl Spawn for Tasks {
    fn spawn(&self, task: Task) {
        self.0.lock().push(task);
    }
}

impl Tasks {
    /// Polls each task once.
    pub(crate) fn poll(&self) {
        let mut context = Context::from_waker(Waker::noop());
        // A task may spawn another one.
        let mut tasks = self.take();
        tasks.retain_mut(|task| Pin::new(task).poll(&mut context).is_pending());
        self.0.lock().append(&mut tasks);
    }

    /// Takes the tasks out, as a runtime does that ends.
    pub(crate) fn take(&self) -> Vec<Task> {
        std::mem::take(&mut *self.0.lock())
    }

    /// The number of tasks that have not ended.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }
}

/// A clock and tasks for the test, and the environment for the code under test.
pub(crate) fn by_hand() -> (Arc<StillClock>, Arc<Tasks>, Environment) {
    let (clock, as_clock) = still_clock();
    let tasks = Arc::new(Tasks::default());
    let environment = Environment {
        clock: as_clock,
        spawner: Arc::clone(&tasks) as _,
        ..IoThread::start().unwrap().environment()
    };
    (clock, tasks, environment)
}
