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

fn main() {
    let _ = (empty(), number(), no_value(), unclosed_and_twice(), positional(1), unknown(1));
}
