//! Tasks, of one process or of several, that want the same key.

mod crew;
mod figures;
mod hammer;
mod hold;
mod worker;

pub(crate) use crew::{Crew, Worker};
pub use figures::Figures;
pub(crate) use hammer::hammer;
pub use hammer::keep;
pub(crate) use hold::overlap;
pub use hold::{Hold, Log};
pub use worker::work;

use std::time::Duration;

use redlock_core::request::Kind as LockKind;
use serde::{Deserialize, Serialize};

use crate::clock::{Moment, nanos, now};
use crate::contender::Kind;

/// The lock that the tasks of a turn want. All but the plain one are for ours alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lock {
    /// The plain lock.
    Plain,
    /// One of this number of permits.
    Permit(u16),
    /// Each task reads, from another moment on.
    Read,
    /// Each task writes among readers, at random moments.
    Write,
    /// The same with the plain lock.
    PlainWrite,
}

impl Lock {
    /// Returns the number of permits; without them there is one.
    pub(crate) fn permits(self) -> usize {
        match self {
            Self::Permit(count) => count.into(),
            _ => 1,
        }
    }

    pub(crate) fn kind(self) -> LockKind {
        match self {
            Self::Plain | Self::PlainWrite => LockKind::Plain,
            Self::Permit(count) => LockKind::Permits(count),
            Self::Read => LockKind::Read,
            Self::Write => LockKind::Write,
        }
    }

    /// Returns how long a caller tries.
    pub(crate) fn patience(self) -> Duration {
        Duration::from_secs(match self {
            Self::Plain | Self::Read => 30,
            Self::Permit(_) => 5,
            Self::Write | Self::PlainWrite => 1,
        })
    }
}

/// One turn of one contender, as a process gets to know it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Turn {
    /// The contender.
    pub kind: Kind,
    /// The name of the lock.
    pub key: String,
    /// The lock.
    pub lock: Lock,
    /// The number of tasks of each process.
    pub crowds: Vec<usize>,
    /// The time for which the key is held. Zero is long enough for others to be scheduled in between.
    pub hold: Duration,
    /// The pause of a task between a release and its next question.
    pub pause: Duration,
    /// The retry delay of contenders that poll.
    pub retry_delay: Duration,
    /// The measured part.
    pub window: Window,
}

/// The measured part of a turn.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Window {
    /// Its first moment.
    pub begin: Moment,
    /// The moment after its last one.
    pub end: Moment,
}

impl Window {
    /// Returns the window of this length, after the time to warm up.
    pub fn after(warm_up: Duration, run: Duration) -> Self {
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
