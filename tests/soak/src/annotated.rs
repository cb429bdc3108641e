//! The annotated functions of the workers: the body is the holder's.

use std::time::Duration;

use redlock_runtime::{LockError, redlock};

use crate::holder::Holder;
use crate::journal::Grip;

#[redlock(
    resource = names,
    ttl = ttl,
    retry_count = retries,
    retry_delay = 20,
    fencing = true,
    guard = lease
)]
pub(crate) async fn fenced(
    holder: &Holder,
    names: &[String],
    ttl: Duration,
    retries: u32,
) -> Result<(), LockError> {
    holder.work(Grip::Lease(lease.handle())).await;
    Ok(())
}

#[redlock(
    resource = names,
    ttl = ttl,
    max_hold = held,
    fencing = true,
    guard = lease
)]
pub(crate) async fn renewed(
    holder: &Holder,
    names: &[String],
    ttl: Duration,
    held: Duration,
) -> Result<(), LockError> {
    holder.work(Grip::Lease(lease.handle())).await;
    Ok(())
}

#[redlock(
    resource = names,
    ttl = ttl,
    retry_count = retries,
    retry_delay = 20,
    permits = 3,
    guard = lease
)]
pub(crate) async fn one_of_several(
    holder: &Holder,
    names: &[String],
    ttl: Duration,
    retries: u32,
) -> Result<(), LockError> {
    holder.work(Grip::Lease(lease.handle())).await;
    Ok(())
}

#[redlock(
    resource = names,
    ttl = ttl,
    retry_count = retries,
    retry_delay = 20,
    mode = "read",
    fencing = true,
    guard = lease
)]
pub(crate) async fn reading(
    holder: &Holder,
    names: &[String],
    ttl: Duration,
    retries: u32,
) -> Result<(), LockError> {
    holder.work(Grip::Lease(lease.handle())).await;
    Ok(())
}

#[redlock(
    resource = names,
    ttl = ttl,
    retry_count = retries,
    retry_delay = 20,
    mode = "write",
    fencing = true,
    guard = lease
)]
pub(crate) async fn writing(
    holder: &Holder,
    names: &[String],
    ttl: Duration,
    retries: u32,
) -> Result<(), LockError> {
    holder.work(Grip::Lease(lease.handle())).await;
    Ok(())
}
