//! Paths to the runtime that would mean something else in another module.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", crate = redlock_runtime)]
async fn relative() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", crate = self::vendor)]
async fn of_this_module() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", crate = super::redlock_runtime)]
async fn of_the_module_above() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", crate = ::redlock_runtime::<u8>)]
async fn generic() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", crate = <u8 as ::redlock_runtime>::x)]
async fn qualified() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", crate = "redlock_runtime", guard = lease)]
async fn text() -> Result<(), LockError> {
    let _ = lease.resource();
    Ok(())
}

#[redlock(resource = "a", crate)]
async fn nothing() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (relative(), of_this_module(), of_the_module_above(), generic(), qualified(), text(), nothing());
}
