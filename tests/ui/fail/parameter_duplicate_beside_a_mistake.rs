//! A key that was given badly is given again: only what is wrong is said, and not twice.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl, ttl = 50)]
async fn without_a_value_first() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resouce = "a", resource = "b")]
async fn misspelled_first() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", guard = lease, guard = other, guard = lease)]
async fn three_times() -> Result<(), LockError> {
    let _ = lease.resource();
    Ok(())
}

fn main() {
    let _ = (without_a_value_first(), misspelled_first());
    let _ = three_times();
}
