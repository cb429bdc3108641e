//! Notes that are no templates, and templates that are no notes.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", note = "")]
async fn empty() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", note = 7)]
async fn number() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", note)]
async fn no_value() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", note = "job {", note = "again")]
async fn unclosed_and_twice() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", note = "job {}", id)]
async fn positional(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", note = "job {task.id} of {self.name}")]
async fn unknown(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(
    resource = "a",
    note = "a note of {id} is a few words for people who look at the lock, and no place for a whole story of how it came \
            about that this very job, and none of the others that were waiting with it since the morning, has the lock \
            at this moment, keeps the others from it, and will go on doing so until it has found what it looks for"
)]
async fn too_long(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = (too_long(1), empty(), number(), no_value(), unclosed_and_twice(), positional(1), unknown(1));
}
