//! A test makes its registry in its body, which the attribute would lock before.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "above")]
#[tokio::test]
async fn above() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
#[redlock(resource = "below")]
async fn below() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "called")]
async fn called() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = called();
}
