//! The implementations that are compared.

mod fleet;
mod held;
mod ours;
mod raw;
mod redis_loop;

use std::time::Duration;

use rslock::LockManager;
use serde::{Deserialize, Serialize};

pub use fleet::in_turn;
pub(crate) use fleet::{Fleet, rounds};
pub use ours::Ours;
pub(crate) use raw::RawLoop;
pub(crate) use redis_loop::{RedisLoop, Wait};

/// The ttl of a lock that no other caller wants: far beyond any run, so that a key that was not
/// released is still there to be found.
pub(crate) const TTL: Duration = Duration::from_secs(120);

/// Which implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// `redlock-core`.
    Ours,
    /// The `rslock` crate.
    Rslock,
    /// A simple loop with the `redis` crate, which waits for all nodes.
    WaitForAll,
    /// The same, returning as soon as a majority has answered.
    WaitForMajority,
    /// `redlock-core` with fencing tokens.
    Fenced,
}

impl Kind {
    /// All but the fenced one, in the order of the tables.
    pub const ALL: [Self; 4] = [
        Self::Ours,
        Self::Rslock,
        Self::WaitForAll,
        Self::WaitForMajority,
    ];

    /// Returns the place in [`ALL`](Self::ALL), and so among the samples of a round. The fenced one follows.
    pub const fn place(self) -> usize {
        self as usize
    }

    /// Returns its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "redlock",
            Self::Rslock => "rslock",
            Self::WaitForAll => "redis, all",
            Self::WaitForMajority => "redis, majority",
            Self::Fenced => "redlock, fenced",
        }
    }
}

/// The end of a pair that locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unlocked {
    /// As far as the implementation tells, by a release that a majority confirmed.
    Confirmed,
    /// The release was sent, but was not confirmed in the time that the implementation waits for
    /// it. That is no failure on a machine that stalls now and then, but the key has to be gone in
    /// the end.
    Unconfirmed,
}

/// An implementation, connected to its nodes. All clones share its connections, one to each node.
#[derive(Clone, Debug)]
pub(crate) enum Contender {
    /// See [`Kind::Ours`].
    Ours(Ours),
    /// See [`Kind::Rslock`].
    Rslock(LockManager),
    /// See [`Kind::WaitForAll`] and [`Kind::WaitForMajority`].
    Redis(RedisLoop),
}

impl Contender {
    /// Connects to the servers at `urls`, from the current tokio runtime.
    pub(crate) async fn connect(kind: Kind, urls: &[String]) -> Self {
        let loop_to = async |wait| Self::Redis(RedisLoop::connect(urls, wait).await);
        let ours = Ours::connect(urls, Duration::from_secs(1));
        match kind {
            Kind::Ours => Self::Ours(ours.await),
            Kind::Fenced => Self::Ours(ours.await.fenced()),
            Kind::Rslock => Self::Rslock(LockManager::new(urls.to_vec())),
            Kind::WaitForAll => loop_to(Wait::ForAll).await,
            Kind::WaitForMajority => loop_to(Wait::ForMajority).await,
        }
    }

    /// Locks `key` and releases it.
    ///
    /// # Errors
    /// A text that says what failed: the acquisition, after the retries that the implementation
    /// makes by itself, or the release.
    pub(crate) async fn pair(&self, key: &str) -> Result<Unlocked, String> {
        match self {
            Self::Ours(ours) => ours.pair(key).await,
            Self::Rslock(manager) => {
                let lock = manager.lock(key, TTL).await;
                let lock = lock.map_err(|error| format!("not acquired: {error}"))?;
                // It does not say whether this worked; a key that is left does.
                manager.unlock(&lock).await;
                Ok(Unlocked::Confirmed)
            }
            Self::Redis(by_hand) => by_hand.pair(key).await,
        }
    }
}
