//! Delays of messages, and the fate of messages whose connection breaks.

use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::random::Random;

/// The delays and losses of messages.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// The number of 10 000 messages that take [`slow`](Self::slow).
    pub slow_chance: u64,
    /// The longest that a slow message takes, in ms.
    pub slow: u64,
    /// The longest that a message usually takes, in µs.
    pub usual: u64,
}

impl Weather {
    /// Everything arrives within a millisecond.
    pub const CALM: Self = Self {
        slow_chance: 0,
        slow: 1,
        usual: 1000,
    };
}

/// The network between all clients and all nodes.
pub struct Network {
    state: Mutex<State>,
}

struct State {
    weather: Weather,
    random: Random,
}

impl Network {
    /// A network with `weather`.
    pub fn new(weather: Weather, random: Random) -> Self {
        Self {
            state: Mutex::new(State { weather, random }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Changes the weather.
    pub fn set_weather(&self, weather: Weather) {
        self.lock().weather = weather;
    }

    /// Returns how long the next message takes.
    pub fn delay(&self) -> Duration {
        let mut state = self.lock();
        let weather = state.weather;
        if state.random.chance(weather.slow_chance) {
            state.random.millis(1, weather.slow.max(1))
        } else {
            state.random.micros(50, weather.usual.max(50))
        }
    }

    /// Returns how many of `count` messages that are under way on a connection that breaks still arrive,
    /// and how much later. The first ones do: a connection delivers in order.
    pub fn rest_of(&self, count: usize) -> (usize, Duration) {
        let mut state = self.lock();
        let kept = state.random.index(count + 1);
        let later = match state.random.below(4) {
            0 | 1 => Duration::ZERO,
            2 => state.random.millis(0, 200),
            _ => state.random.millis(0, 4000),
        };
        (kept, later)
    }

    /// True `times` out of 10 000.
    pub fn happens(&self, times: u64) -> bool {
        self.lock().random.chance(times)
    }

    /// Returns a random time of `least` to `most` ms.
    pub fn between(&self, least: u64, most: u64) -> Duration {
        self.lock().random.millis(least, most)
    }
}
