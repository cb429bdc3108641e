//! A note that cannot be shown, as a template and as an expression.
use redlock_runtime::{LockError, redlock};

struct Job {
    id: Option<u64>,
}

#[redlock(resource = "a", note = "job {job.id}")]
async fn template(job: &Job) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", note = job.id)]
async fn expression(job: &Job) -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let job = Job { id: None };
    let _ = (template(&job), expression(&job));
}
