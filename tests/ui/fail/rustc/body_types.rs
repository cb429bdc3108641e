//! Type errors in the body name the declared type and point where they would without a lock.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
async fn tail(id: u64) -> Result<u64, LockError> {
    id
}

#[redlock(resource = "a")]
async fn early(id: u64) -> Result<u64, LockError> {
    if id == 0 {
        return "zero";
    }
    Ok(id)
}

#[redlock(resource = "a")]
async fn no_tail(id: u64) -> Result<u64, LockError> {
    Ok(id);
}

#[redlock(resource = "a")]
async fn question_mark(text: &str) -> Result<u64, LockError> {
    Ok(text.parse()?)
}

#[redlock(resource = "a")]
async fn unknown_name() -> Result<u64, LockError> {
    Ok(missing)
}

fn main() {
    let _ = (tail(1), early(1), no_tail(1), question_mark(""), unknown_name());
}
