//! Permits that no call can have.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", permits = 0)]
async fn none() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = 257)]
async fn too_many() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = "4")]
async fn a_string() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = 4, take = 0)]
async fn takes_none() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = 16, take = 9)]
async fn takes_too_many() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = 4, take = 5)]
async fn takes_more_than_there_are() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", take = 2)]
async fn takes_of_nothing() -> Result<(), LockError> {
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

#[redlock(resource = "a", permit = 4)]
async fn misspelt() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (none(), too_many(), a_string(), takes_none(), takes_too_many());
    let _ = (takes_more_than_there_are(), takes_of_nothing(), of_several_resources());
    let _ = (once_a_period(), misspelt());
}
