//! A period that no job can have.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", once_per = 0)]
async fn zero() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = "2m", once_per = "1m")]
async fn below_the_ttl() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", once_per = "hour")]
async fn no_duration() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", once_per_hour = true)]
async fn misspelt() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", once_per = "1h", remember = "every_rn")]
async fn no_such_runs() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", remember = "every_run")]
async fn without_a_period() -> Result<(), LockError> {
    Ok(())
}

trait IntoResponse {}

impl IntoResponse for u8 {}

#[redlock(resource = "a", once_per = "1h")]
async fn of_a_response() -> impl IntoResponse {
    1_u8
}

fn main() {
    let _ = (of_a_response(), zero(), below_the_ttl(), no_duration(), misspelt(), no_such_runs(), without_a_period());
}
