//! A clock that a test owns.

use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use redlock_core::env::{Clock, Moment, Sleep};
use redlock_core::{Client, Environment, Settings};

use crate::core::fixture::{IO, SOON};

/// Stands still until it is told otherwise. What completes on it needed no timeout, on however
/// busy a machine.
#[derive(Clone, Default)]
pub(crate) struct StillClock {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    now: Duration,
    sleeping: Vec<Waker>,
}

impl StillClock {
    /// The production environment but for this clock.
    pub(crate) fn environment(&self) -> Environment {
        let production = IO.environment();
        Environment::new(
            Arc::new(self.clone()),
            production.entropy,
            production.spawner,
        )
    }

    /// Returns a client on this clock, whose node timeout is no part of the test.
    pub(crate) fn client(&self) -> Client {
        let settings = Settings::default().node_timeout(SOON);
        Client::with_settings(self.environment(), settings)
    }

    /// Moves the clock on by `by`, and wakes all sleepers.
    pub(crate) fn advance(&self, by: Duration) {
        let sleeping = {
            let mut state = self.state.lock().unwrap();
            state.now += by;
            std::mem::take(&mut state.sleeping)
        };
        sleeping.into_iter().for_each(Waker::wake);
    }

    /// Moves on while no timer fires, as when the host was suspended: a timer counts the time that
    /// the host ran.
    pub(crate) fn jump(&self, by: Duration) {
        self.state.lock().unwrap().now += by;
    }
}

impl Clock for StillClock {
    fn now(&self) -> Moment {
        Moment::from_origin(self.state.lock().unwrap().now)
    }

    fn wall(&self) -> Duration {
        self.state.lock().unwrap().now
    }

    fn sleep_until(&self, at: Moment) -> Sleep {
        let clock = self.clone();
        Sleep::new(std::future::poll_fn(move |context| {
            let mut state = clock.state.lock().unwrap();
            if Moment::from_origin(state.now) >= at {
                return Poll::Ready(());
            }
            state.sleeping.push(context.waker().clone());
            Poll::Pending
        }))
    }
}
