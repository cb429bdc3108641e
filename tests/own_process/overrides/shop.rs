//! The functions that are overridden.

use std::time::Duration;

use redlock_runtime::lease::FencingToken;
use redlock_runtime::parameters::Kind;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "charge", ttl = "1m", guard = lease)]
pub(crate) async fn charge() -> Result<Duration, LockError> {
    Ok(lease.validity())
}

#[redlock(resource = "charge", ttl = ttl)]
pub(crate) async fn charge_for(ttl: Duration) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "of a kind", retry_count = 0, guard = lease)]
pub(crate) async fn kind() -> Result<(Kind, Option<u16>), LockError> {
    Ok((lease.kind(), lease.permit()))
}

#[redlock(resource = "writes", kind = "write", guard = lease)]
pub(crate) async fn writes() -> Result<Kind, LockError> {
    Ok(lease.kind())
}

#[redlock(resource = "withdrawal", fencing = true, guard = lease)]
pub(crate) async fn withdraw() -> Result<FencingToken, LockError> {
    Ok(lease.fencing_token())
}

const FENCED: bool = true;

#[redlock(resource = "deposit", fencing = FENCED, guard = lease)]
pub(crate) async fn deposit() -> Result<bool, LockError> {
    Ok(lease.fenced().is_some())
}

#[redlock(resource = ["from:{from}", "to:{to}"])]
pub(crate) async fn both(from: u8, to: u8) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "generic", guard = lease)]
pub(crate) async fn generic<T: Send>(value: T) -> Result<bool, LockError> {
    drop(value);
    Ok(lease.fenced().is_some())
}

pub(crate) trait Shop: Sync {
    #[redlock(resource = "in a trait", name = "of a trait", guard = lease)]
    async fn in_a_trait(&self) -> Result<bool, LockError> {
        Ok(lease.fenced().is_some())
    }
}

pub(crate) struct North;
pub(crate) struct South;
impl Shop for North {}
impl Shop for South {}

#[redlock(resource = "elsewhere", pools = ["nowhere"])]
pub(crate) async fn elsewhere() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "queue", wait = "forever")]
pub(crate) async fn patient() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "queue", retry_count = 0)]
pub(crate) async fn hasty() -> Result<(), LockError> {
    Ok(())
}

/// Loses its lock, and goes on after the next await where it may.
#[redlock(resource = "lost")]
pub(crate) async fn beyond_its_lock(locks: &TestLocks) -> Result<(), LockError> {
    locks.lose("lost");
    tokio::task::yield_now().await;
    Ok(())
}

/// Methods that are called alike, in types of their own.
pub(crate) struct Cart;
pub(crate) struct Basket;

macro_rules! empties {
    ($($ty:ty: $name:literal),+) => { $(
        impl $ty {
            #[redlock(resource = "empty", name = $name, guard = lease)]
            pub(crate) async fn empty() -> Result<bool, LockError> {
                Ok(lease.fenced().is_some())
            }
        }
    )+ };
}

empties!(Cart: "empty cart", Basket: "empty basket");
