//! Waiting for a key for which others compete.

use std::time::Duration;

use redlock_core::Lease;
use redlock_core::request::Kind as LockKind;
use rslock::{Lock, LockManager};

use super::redis_loop::Taken;
use super::{Contender, Unlocked, ours};

/// The ttl of a lock that other callers want too: far beyond the time for which a caller holds it.
pub(crate) const TTL: Duration = Duration::from_secs(10);

/// How long a caller tries. Nobody should ever wait so long.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// How long a caller tries to get a permit.
pub(crate) const WAIT_FOR_PERMIT: Duration = Duration::from_secs(5);

/// Keeps a lock for this time. Others get a chance to be inside at the same time, also if it is zero.
pub(crate) async fn keep(hold: Duration) {
    if hold.is_zero() {
        tokio::task::yield_now().await;
    } else {
        tokio::time::sleep(hold).await;
    }
}

/// A key that is held.
#[derive(Debug)]
pub enum Held {
    /// By ours.
    Ours(Lease),
    /// By `rslock`.
    Rslock(LockManager, Box<Lock>),
    /// By the loop on `redis`.
    Redis(Taken),
}

impl Contender {
    /// Waits for `key`, for half a minute. All but ours poll, with random pauses below
    /// `retry_delay`, and have plain locks only.
    ///
    /// # Errors
    /// A text that says why the key was not acquired.
    pub async fn acquire(
        &self,
        key: &str,
        kind: LockKind,
        retry_delay: Duration,
    ) -> Result<Held, String> {
        match self {
            Self::Ours(ours) => {
                let is_permit = matches!(kind, LockKind::Permits(_));
                let wait = if is_permit { WAIT_FOR_PERMIT } else { WAIT };
                ours.wait_for(key, kind, wait).await.map(Held::Ours)
            }
            Self::Rslock(manager) => {
                let mut manager = manager.clone();
                // It counts its tries; the pause between two is half of the delay on average.
                let tries = WAIT.as_micros() / (retry_delay / 2).as_micros().max(1);
                manager.set_retry(u32::try_from(tries).unwrap_or(u32::MAX), retry_delay);
                match manager.lock(key, TTL).await {
                    Ok(lock) => Ok(Held::Rslock(manager, Box::new(lock))),
                    Err(error) => Err(format!("not acquired: {error}")),
                }
            }
            Self::Redis(by_hand) => by_hand.wait_for(key, retry_delay).await.map(Held::Redis),
        }
    }
}

impl Held {
    /// Returns the number of the permit, zero without permits.
    pub fn permit(&self) -> u16 {
        match self {
            Self::Ours(lease) => lease.permit().unwrap_or_default(),
            _ => 0,
        }
    }

    /// Gives the key back.
    ///
    /// # Errors
    /// A text that says what was wrong, as far as the implementation tells.
    pub async fn release(self) -> Result<Unlocked, String> {
        match self {
            Self::Ours(lease) => ours::release(lease).await,
            Self::Rslock(manager, lock) => {
                manager.unlock(&lock).await;
                Ok(Unlocked::Confirmed)
            }
            Self::Redis(taken) => taken.release().await,
        }
    }
}
