//! Waiting for a key for which others compete.

use std::time::Duration;

use redlock_core::Lease;
use rslock::{Lock, LockManager};

use super::redis_loop::Taken;
use super::{Contender, Unlocked, ours};
use crate::contended::Turn;

/// The ttl of a lock that other callers want too: far beyond the time for which a caller holds it.
pub(crate) const TTL: Duration = Duration::from_secs(10);

/// A key that is held.
#[derive(Debug)]
pub(crate) enum Held {
    /// By ours.
    Ours(Lease),
    /// By `rslock`.
    Rslock(LockManager, Box<Lock>),
    /// By the loop on `redis`.
    Redis(Taken),
}

impl Contender {
    /// Waits for the lock of the turn. All but ours poll, with random pauses below the turn's `retry_delay`.
    ///
    /// # Errors
    /// A text that says why the lock was not acquired.
    pub(crate) async fn acquire(&self, turn: &Turn) -> Result<Held, String> {
        let (key, patience) = (turn.key.as_str(), turn.lock.patience());
        match self {
            Self::Ours(ours) => {
                let lease = ours.wait_for(key, turn.lock.kind(), patience).await;
                lease.map(Held::Ours)
            }
            Self::Rslock(manager) => {
                let mut manager = manager.clone();
                // It counts its tries; the pause between two is half of the delay on average.
                let tries = patience.as_micros() / (turn.retry_delay / 2).as_micros().max(1);
                manager.set_retry(u32::try_from(tries).unwrap_or(u32::MAX), turn.retry_delay);
                match manager.lock(key, TTL).await {
                    Ok(lock) => Ok(Held::Rslock(manager, Box::new(lock))),
                    Err(error) => Err(format!("not acquired: {error}")),
                }
            }
            Self::Redis(by_hand) => {
                let taken = by_hand.wait_for(key, patience, turn.retry_delay).await;
                taken.map(Held::Redis)
            }
        }
    }
}

impl Held {
    /// Returns the number of the permit, zero without permits.
    pub(crate) fn permit(&self) -> u16 {
        match self {
            Self::Ours(lease) => lease.permit().unwrap_or_default(),
            _ => 0,
        }
    }

    /// Gives the key back.
    ///
    /// # Errors
    /// A text that says what was wrong, as far as the implementation tells.
    pub(crate) async fn release(self) -> Result<Unlocked, String> {
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
