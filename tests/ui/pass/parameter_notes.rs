//! Notes in all forms that compile.
use redlock_runtime::{LockError, redlock};

const NIGHTLY: &str = "nightly";

struct Job {
    name: String,
    id: (u64, u64),
}

#[redlock(resource = "a", note = "nightly")]
async fn literal() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a:{job.id.0}", note = "{job.name} {job.id.1:04} {id} {NIGHTLY} {{}}")]
async fn template(job: Job, id: u64) -> Result<u64, LockError> {
    // The note borrows what the body moves.
    drop(job);
    Ok(id)
}

#[redlock(resource = "a", note = id)]
async fn number(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "a", note = format_args!("{id}"), ttl = std::time::Duration::from_secs(id))]
async fn arguments(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

impl Job {
    #[redlock(resource = "a", note = "{self.name}")]
    async fn method(&self) -> Result<(), LockError> {
        Ok(())
    }
}

fn main() {
    let job = || Job { name: "x".to_owned(), id: (1, 2) };
    let _ = (literal(), template(job(), 7), number(1), arguments(1));
    let _ = job().method();
}
