//! A program that forgot to call `init`. In a binary of its own: no other test may do so for it.

use redlock_runtime::{LockError, lock, redlock};

#[redlock(resource = "order:{id}")]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[tokio::test]
async fn before_init_a_call_says_what_to_do() {
    let error = charge(1).await.unwrap_err();
    assert!(error.is_not_initialized(), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("`before_init::charge`") && text.contains("redlock_runtime::init"),
        "{text}"
    );
    assert!(lock("r").acquire().await.unwrap_err().is_not_initialized());
}
