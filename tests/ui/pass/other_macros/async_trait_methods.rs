//! Under `#[async_trait]`, which hands over a boxed future.
#![deny(warnings)]
#![allow(dead_code)]

use async_trait::async_trait;
use redlock_runtime::{LockError, redlock};

#[async_trait]
trait Job {
    async fn run(&self, id: u64) -> Result<String, LockError>;

    #[redlock(resource = "provided:{id}", guard = lease)]
    async fn provided(&mut self, id: u64, mut n: u64) -> Result<String, LockError>
    where
        Self: Send,
    {
        n += id;
        Ok(format!("{n}{}", lease.resource()))
    }
}

struct Nightly {
    id: u64,
}

#[async_trait]
impl Job for Nightly {
    #[redlock(resource = "job:{id}:{self.id}")]
    async fn run(&self, id: u64) -> Result<String, LockError> {
        if id == 0 {
            return Ok(String::new());
        }
        Ok(format!("{}{id}", self.id))
    }
}

#[async_trait(?Send)]
trait Local {
    async fn local(self: Box<Self>, key: String) -> Result<String, LockError>;
}

#[async_trait(?Send)]
impl Local for Nightly {
    #[redlock(resource = "job:{key}")]
    async fn local(self: Box<Self>, key: String) -> Result<String, LockError> {
        let here = std::rc::Rc::new(self.id);
        tokio::task::yield_now().await;
        drop(here);
        Ok(key)
    }
}

fn main() {}
