//! Tasks, of one process or of several, that want the same key.

mod crew;
mod figures;
mod hammer;
mod hold;
mod worker;

pub(crate) use crew::{Crew, Worker};
pub(crate) use figures::Figures;
pub(crate) use hammer::hammer;
pub(crate) use hold::{Hold, Log, overlap};
pub use worker::work;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::{Moment, nanos, now};
use crate::contender::Kind;

/// The lock that the tasks of a turn want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Lock {
    Plain,
    /// One of this number of permits: only ours can.
    Permit(u16),
    /// Each task reads, from another moment on: only ours can.
    Read,
}

impl Lock {
    /// Returns the number of permits; without them there is one.
    pub(crate) fn permits(self) -> usize {
        match self {
            Self::Permit(count) => count.into(),
            Self::Plain | Self::Read => 1,
        }
    }
}

/// One turn of one contender, as a process gets to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Turn {
    pub(crate) kind: Kind,
    pub(crate) key: String,
    pub(crate) lock: Lock,
    /// The number of tasks of each process.
    pub(crate) crowds: Vec<usize>,
    /// How long the key is held; zero is long enough for others to be scheduled in between.
    pub(crate) hold: Duration,
    /// How long a task waits behind a release before it asks again.
    pub(crate) pause: Duration,
    /// The retry delay of contenders that poll.
    pub(crate) retry_delay: Duration,
    pub(crate) window: Window,
}

/// The measured part of a turn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Window {
    pub(crate) begin: Moment,
    pub(crate) end: Moment,
}

impl Window {
    pub(crate) fn after(warm_up: Duration, run: Duration) -> Self {
        let begin = now() + nanos(warm_up);
        Self {
            begin,
            end: begin + nanos(run),
        }
    }

    pub(crate) fn contains(&self, moment: Moment) -> bool {
        (self.begin..self.end).contains(&moment)
    }

    pub(crate) fn length(&self) -> Duration {
        Duration::from_nanos(self.end - self.begin)
    }
}
