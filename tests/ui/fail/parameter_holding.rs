//! Values that are none, for how a lock is held.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", fencing = "yes", on_lost = "cancle")]
async fn words() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", fencing = 1, on_lost = cancel)]
async fn more_words() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", min_validity = 1.0, max_hold = "for ever")]
async fn numbers() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", min_validity = true, max_hold = -1)]
async fn more_numbers() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = "1m", max_hold = 600)]
async fn held_for_less_than_its_ttl() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (words(), more_words(), numbers(), more_numbers(), held_for_less_than_its_ttl());
}
