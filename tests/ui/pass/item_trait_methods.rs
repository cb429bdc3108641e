//! Methods of traits, with a body of their own or in an implementation.
#![deny(warnings)]
#![allow(dead_code, async_fn_in_trait)]

use redlock_runtime::{LockError, redlock};

trait Job<T: Clone> {
    fn id(&self) -> u64;

    #[redlock(resource = "job:{id}", guard = lease)]
    async fn provided(&self, id: u64, input: T) -> Result<(T, String), LockError> {
        Ok((input.clone(), format!("{}{}", self.id(), lease.resource())))
    }

    async fn required(&self, id: u64) -> Result<u64, LockError>;
}

struct Nightly {
    id: u64,
}

impl Job<u8> for Nightly {
    fn id(&self) -> u64 {
        self.id
    }

    #[redlock(resource = "job:{id}:{self.id}")]
    async fn required(&self, id: u64) -> Result<u64, LockError> {
        Ok(id + self.id)
    }
}

fn main() {}
