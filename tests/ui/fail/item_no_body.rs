//! A declaration has nothing to run.
use redlock_runtime::{LockError, redlock};

trait Job {
    #[redlock(resource = "job:{id}")]
    async fn run(&self, id: u64) -> Result<u64, LockError>;
}

struct Nightly;

impl Job for Nightly {
    async fn run(&self, id: u64) -> Result<u64, LockError> {
        Ok(id)
    }
}

fn main() {
    let _ = Nightly.run(1);
}
