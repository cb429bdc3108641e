//! A fencing token that a lease need not have.
use redlock_runtime::lease::FencingToken;
use redlock_runtime::{LeaseHandle, LockError, current_lease, lock, redlock};

const FENCED: bool = true;

#[redlock(resource = "a", guard = lease)]
async fn unfenced() -> Result<FencingToken, LockError> {
    Ok(lease.fencing_token())
}

#[redlock(resource = "a", fencing = FENCED, guard = lease)]
async fn fenced_by_a_constant() -> Result<FencingToken, LockError> {
    Ok(lease.fencing_token())
}

async fn in_the_object_style() -> Result<FencingToken, LockError> {
    let lease = lock("a").acquire().await?;
    Ok(lease.fencing_token())
}

fn anywhere_below() -> Option<FencingToken> {
    current_lease().map(|lease: LeaseHandle| lease.fencing_token())
}

fn main() {
    let _ = (unfenced(), fenced_by_a_constant(), in_the_object_style(), anywhere_below());
}
