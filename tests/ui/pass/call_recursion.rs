//! Recursion through `Box::pin`, each call with a lock of its own.
#![deny(warnings)]
#![allow(dead_code)]

use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "depth:{n}", guard = lease)]
async fn down(n: u64) -> Result<u64, LockError> {
    if n == 0 {
        return Ok(0);
    }
    let below = Box::pin(down(n - 1)).await?;
    let _ = lease.resource();
    Ok(below + 1)
}

#[redlock(resource = "depth:{n}")]
fn boxed(n: u64) -> Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>> {
    Box::pin(async move {
        if n == 0 {
            return Ok(0);
        }
        Ok(boxed(n - 1).await? + 1)
    })
}

#[redlock(resource = "even:{n}")]
async fn even(n: u64) -> Result<bool, LockError> {
    if n == 0 { Ok(true) } else { Box::pin(odd(n - 1)).await }
}

#[redlock(resource = "odd:{n}")]
async fn odd(n: u64) -> Result<bool, LockError> {
    if n == 0 { Ok(false) } else { Box::pin(even(n - 1)).await }
}

struct Tree {
    id: u64,
    children: Vec<Tree>,
}

impl Tree {
    #[redlock(resource = "tree:{self.id}")]
    async fn sum(&self) -> Result<u64, LockError> {
        let mut sum = self.id;
        for child in &self.children {
            sum += Box::pin(child.sum()).await?;
        }
        Ok(sum)
    }

    #[redlock(resource = "tree:{self.id}")]
    async fn grow(&mut self, levels: u64) -> Result<&mut Self, LockError> {
        if levels > 0 {
            for child in &mut self.children {
                Box::pin(child.grow(levels - 1)).await?;
            }
        }
        Ok(self)
    }
}

fn main() {}
