//! Signs that are no `=` and no `,`.
use redlock_runtime::{LockError, redlock};

#[redlock(resource: "a")]
async fn colon() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource => "a", ttl == 50)]
async fn arrows() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource += "a")]
async fn plus() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a"; ttl = 50)]
async fn semicolon() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a",, ttl = 50)]
async fn two_commas() -> Result<(), LockError> {
    Ok(())
}

#[redlock(, resource = "a")]
async fn comma_first() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = )]
async fn nothing_behind() -> Result<(), LockError> {
    Ok(())
}

#[redlock((resource = "a"))]
async fn parenthesis() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl::minutes = 50)]
async fn path() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", !fencing)]
async fn negated() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (colon(), arrows(), plus(), semicolon(), two_commas(), comma_first(), nothing_behind());
    let _ = (parenthesis(), path(), negated());
}
