//! What readers and writers cannot have.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", kind = "reads")]
async fn no_mode() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a", "b"], kind = "write")]
async fn several_names() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", kind = "read", once_per = "1h")]
async fn a_job_that_reads() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", kind = "read", permits = 4)]
async fn reads_with_a_permit() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", kinnd = "read")]
async fn misspelt() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (no_mode(), several_names(), a_job_that_reads(), misspelt());
    let _ = reads_with_a_permit();
}
