//! The annotated functions of the workers: the body is the holder's.

use redlock_runtime::{LockError, redlock};

use crate::holder::Holder;
use crate::plan::PERMITS;

#[redlock(
    resource = &holder.plan.locked,
    ttl = holder.plan.ttl,
    retry_count = holder.plan.retries,
    fencing = true,
    guard = lease
)]
pub(crate) async fn fenced(holder: &Holder) -> Result<(), LockError> {
    holder.work(lease.handle()).await;
    Ok(())
}

#[redlock(
    resource = &holder.plan.locked,
    ttl = holder.plan.ttl,
    max_hold = holder.plan.max_hold.unwrap_or(holder.plan.ttl),
    fencing = true,
    guard = lease
)]
pub(crate) async fn renewed(holder: &Holder) -> Result<(), LockError> {
    holder.work(lease.handle()).await;
    Ok(())
}

#[redlock(
    resource = &holder.plan.locked,
    ttl = holder.plan.ttl,
    retry_count = holder.plan.retries,
    permits = PERMITS,
    guard = lease
)]
pub(crate) async fn one_of_several(holder: &Holder) -> Result<(), LockError> {
    holder.work(lease.handle()).await;
    Ok(())
}

#[redlock(
    resource = &holder.plan.locked,
    ttl = holder.plan.ttl,
    retry_count = holder.plan.retries,
    mode = "read",
    fencing = true,
    guard = lease
)]
pub(crate) async fn reading(holder: &Holder) -> Result<(), LockError> {
    holder.work(lease.handle()).await;
    Ok(())
}

#[redlock(
    resource = &holder.plan.locked,
    ttl = holder.plan.ttl,
    retry_count = holder.plan.retries,
    mode = "write",
    fencing = true,
    guard = lease
)]
pub(crate) async fn writing(holder: &Holder) -> Result<(), LockError> {
    holder.work(lease.handle()).await;
    Ok(())
}
