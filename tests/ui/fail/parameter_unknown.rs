//! A name that is close to one there is, and names that are not.
use redlock_runtime::{LockError, redlock};

#[redlock(resouce = "a")]
async fn misspelled_resource() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", tll = 5, retries_count = 3, clockDriftFactor = 0.1)]
async fn misspelled() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", timeout = 5)]
async fn unknown() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", lease = lease)]
async fn meant() -> Result<(), LockError> {
    Ok(())
}

#[redlock(Resource = "a", TTL = "5s")]
async fn capitals() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (capitals(), meant(), misspelled_resource(), misspelled(), unknown());
}
