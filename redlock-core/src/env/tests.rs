//! A clock that a test owns.

use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use super::{Clock, Moment, Sleep};

/// A clock that moves only when the test says so.
#[derive(Default)]
pub(crate) struct StillClock {
    state: Arc<Mutex<ClockState>>,
}

#[derive(Default)]
struct ClockState {
    now: Duration,
    sleeping: Vec<Waker>,
}

/// Returns one clock twice: for the test, and for the code under test.
pub(crate) fn still_clock() -> (Arc<StillClock>, Arc<dyn Clock>) {
    let clock = Arc::new(StillClock::default());
    (Arc::clone(&clock), clock)
}

impl StillClock {
    /// Moves the clock forward by `by`, and wakes the sleepers.
    pub(crate) fn advance(&self, by: Duration) {
        let sleeping = {
            let mut state = self.state.lock();
            state.now += by;
            std::mem::take(&mut state.sleeping)
        };
        sleeping.into_iter().for_each(Waker::wake);
    }
}

impl Clock for StillClock {
    fn now(&self) -> Moment {
        Moment::from_origin(self.state.lock().now)
    }

    fn wall(&self) -> Duration {
        self.state.lock().now
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        let state = Arc::clone(&self.state);
        Sleep::new(std::future::poll_fn(move |context| {
            let mut state = state.lock();
            if Moment::from_origin(state.now) >= at {
                return Poll::Ready(());
            }
            state.sleeping.push(context.waker().clone());
            Poll::Pending
        }))
    }
}
