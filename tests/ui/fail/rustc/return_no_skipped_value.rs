//! Return types that have no value for a call that is skipped: one error each, at the type.
use redlock_runtime::{LockError, redlock};

struct MyErr;

#[redlock(resource = "a", if_locked = "skip")]
async fn number() -> u8 {
    1
}

#[redlock(resource = "a", if_locked = "skip")]
async fn result_of_a_number() -> Result<u8, LockError> {
    Ok(1)
}

#[redlock(resource = "a", if_locked = "skip")]
async fn other_error() -> Result<(), MyErr> {
    Err(MyErr)
}

fn main() {
    let _ = (number(), result_of_a_number(), other_error());
}
