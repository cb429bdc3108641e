//! `#[async_trait]` outside, `#[instrument]` and `#[redlock]` on its methods in either order.
#![deny(warnings)]
#![allow(dead_code)]

use async_trait::async_trait;
use redlock_runtime::{LockError, redlock};
use tracing::instrument;

#[async_trait]
trait Job: Send + Sync {
    async fn lock_above(&self, id: u64) -> Result<String, LockError>;
    async fn lock_below(&mut self, id: u64, text: &str) -> Result<String, LockError>;

    #[redlock(resource = "{id}")]
    #[instrument(skip(self))]
    async fn provided(&self, id: u64) -> Result<u64, LockError> {
        Ok(id)
    }
}

struct Nightly {
    id: u64,
}

#[async_trait]
impl Job for Nightly {
    #[redlock(resource = "{self.id}:{id}", guard = lease)]
    #[instrument(skip(self), err)]
    async fn lock_above(&self, id: u64) -> Result<String, LockError> {
        tokio::task::yield_now().await;
        if id == 0 {
            return Ok(String::new());
        }
        Ok(format!("{id}{}", lease.resource()))
    }

    #[instrument(skip_all, fields(id = self.id, text))]
    #[redlock(resource = "{self.id}:{text}", guard = lease)]
    async fn lock_below(&mut self, id: u64, text: &str) -> Result<String, LockError> {
        self.id += id;
        Ok(format!("{text}{}", lease.resource()))
    }
}

async fn calls(job: &mut dyn Job) -> Result<(), LockError> {
    job.lock_above(1).await?;
    job.lock_below(1, "a").await?;
    job.provided(1).await?;
    Ok(())
}

fn is_send(_: impl Send) {}

fn main() {
    is_send(calls(&mut Nightly { id: 1 }));
}
