//! Permits that no call can have.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", permits = 0)]
async fn none() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = "4")]
async fn a_string() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a", "b"], permits = 4)]
async fn of_several_resources() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = 4, once_per = "1h")]
async fn once_a_period() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = 4, fencing = true)]
async fn fenced() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permit = 4)]
async fn misspelt() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (none(), a_string(), of_several_resources());
    let _ = (once_a_period(), fenced(), misspelt());
}
