//! A test makes its registry in its body, which the attribute would lock before.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "above")]
#[tokio::test]
async fn above() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "arguments", guard = lease)]
#[tokio::test(flavor = "current_thread")]
async fn with_arguments() -> Result<(), LockError> {
    let _ = lease.resource();
    Ok(())
}

#[tokio::test]
#[redlock(resource = "below")]
async fn below() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "plain")]
#[test]
fn plain() {}

/// An attribute that is called as rstest's is.
use tokio::test as rstest;

#[redlock(resource = "renamed")]
#[rstest]
async fn renamed() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "called")]
async fn called() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = called();
}
