//! Return types that are wrong by themselves: said once, however often the expansion repeats them.
#![deny(deprecated)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
async fn unknown() -> Result<Missing, LockError> {
    todo!()
}

#[redlock(resource = "a")]
async fn unknown_error(id: u64) -> Result<u64, missing::Error> {
    Ok(id)
}

#[redlock(resource = "a")]
async fn no_error_type(id: u64) -> Result<u64> {
    Ok(id)
}

#[redlock(resource = "a")]
async fn too_many() -> Result<Option<u8, u8>, LockError> {
    Ok(None)
}

#[redlock(resource = "a")]
async fn no_dyn() -> Result<Box<std::fmt::Debug>, LockError> {
    todo!()
}

#[redlock(resource = "a")]
async fn placeholder() -> Result<_, LockError> {
    Ok(1)
}

#[deprecated]
struct Old;

#[redlock(resource = "a")]
async fn deprecated() -> Result<Option<Old>, LockError> {
    Ok(None)
}

fn main() {
    let _ = (unknown(), unknown_error(1), no_error_type(1), too_many(), no_dyn(), placeholder(), deprecated());
}
