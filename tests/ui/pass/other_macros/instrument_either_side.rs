//! On either side of `#[instrument]`.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};
use tracing::instrument;

#[instrument]
#[redlock(resource = "{id}", guard = lease)]
async fn below(id: u64) -> Result<String, LockError> {
    Ok(lease.resource().to_string())
}

#[redlock(resource = "{id}", guard = lease)]
#[instrument(skip_all, err)]
async fn above(id: u64) -> Result<String, LockError> {
    Ok(lease.resource().to_string())
}

struct Job(u64);

impl Job {
    #[instrument(skip(self), fields(id = self.0))]
    #[redlock(resource = "{self.0}")]
    async fn method(&mut self, n: u64) -> Result<u64, LockError> {
        self.0 += n;
        Ok(self.0)
    }
}

fn main() {}
