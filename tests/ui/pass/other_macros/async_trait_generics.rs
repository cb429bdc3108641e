//! Under `#[async_trait]`: lifetimes, generics, every receiver, defaults, and trait objects.
#![deny(warnings)]
#![allow(dead_code, clippy::elidable_lifetime_names)]

use std::fmt::{Debug, Display};
use std::sync::Arc;

use async_trait::async_trait;
use redlock_runtime::{LockError, redlock};

#[async_trait]
trait Store<K: Display + Send + Sync>: Send + Sync {
    type Error: From<LockError> + Send;

    async fn get<'a>(&'a self, key: &'a K) -> Result<&'a str, Self::Error>;

    async fn put<V: Debug + Send>(&mut self, key: K, value: V) -> Result<V, Self::Error>
    where
        Self: Sized;

    #[redlock(resource = "default:{key}", ttl = "5s", guard = lease)]
    async fn by_default(&self, key: K, _unused: Vec<u8>) -> Result<String, Self::Error>
    where
        K: 'async_trait,
    {
        let value = self.get(&key).await?;
        Ok(format!("{value}{}", lease.resource()))
    }

    async fn into_inner(self: Box<Self>) -> Result<Vec<String>, Self::Error>;
}

struct Memory<'s> {
    id: u64,
    items: &'s [String],
}

#[async_trait]
impl<'s> Store<usize> for Memory<'s> {
    type Error = LockError;

    #[redlock(resource = "{self.id}:{key}")]
    async fn get<'a>(&'a self, key: &'a usize) -> Result<&'a str, LockError> {
        tokio::task::yield_now().await;
        self.items.get(*key).map(String::as_str).ok_or(missing().await)
    }

    #[redlock(resource = "{self.id}:{key}", guard = lease)]
    async fn put<V: Debug + Send>(&mut self, key: usize, mut value: V) -> Result<V, Self::Error> {
        self.id += lease.resource().to_string().len() as u64;
        if key == 0 {
            value = same(value);
        }
        Ok(value)
    }

    #[redlock(resource = "inner:{self.id}")]
    async fn into_inner(self: Box<Self>) -> Result<Vec<String>, LockError> {
        Ok(self.items.to_vec())
    }
}

fn same<V>(value: V) -> V {
    value
}

async fn missing() -> LockError {
    redlock_runtime::lock("missing").acquire().await.unwrap_err()
}

#[async_trait]
trait Job: Send + Sync {
    async fn run(self: Arc<Self>, [first, second]: [u8; 2]) -> Result<u8, LockError>;
}

#[async_trait]
impl Job for () {
    #[redlock(resource = "job")]
    async fn run(self: Arc<Self>, [first, second]: [u8; 2]) -> Result<u8, LockError> {
        Ok(first + second)
    }
}

async fn calls(store: &dyn Store<usize, Error = LockError>, job: Arc<dyn Job>) -> Result<(), LockError> {
    store.by_default(1, Vec::new()).await?;
    job.run([1, 2]).await?;
    Ok(())
}

fn is_send(_: impl Send) {}

fn main() {
    let memory = Memory { id: 1, items: &[] };
    is_send(calls(&memory, Arc::new(())));
}
