//! `locked!`: a block in a closure, in a loop, in a method, in a returned future.
#![deny(warnings)]
#![allow(dead_code)]

use std::future::Future;
use std::time::Duration;

use redlock_runtime::{Lease, LockError, locked};

struct Order {
    id: u64,
    r#type: String,
}

impl Order {
    async fn ship(&self) -> Result<u64, LockError> {
        locked!(resource = "order:{self.id}:{self.type}", ttl = "10s", async { self.id }).await
    }

    fn later(self) -> impl Future<Output = Result<u64, LockError>> + Send + 'static {
        locked!(resource = "order:{self.id}", async move { self.id })
    }
}

async fn in_a_loop(orders: &[Order]) -> Result<u64, LockError> {
    let mut sum = 0;
    for order in orders {
        locked!(resource = "order:{order.id}", wait = "1s", async {
            if order.id == 0 {
                return;
            }
            sum += order.id;
        })
        .await?;
    }
    Ok(sum)
}

async fn in_a_closure(ids: Vec<u64>) -> Vec<Result<usize, LockError>> {
    let charge = |id: u64, name: String| {
        locked!(
            resource = ["order:{id}", "name:{name}"],
            retry_count = 2,
            async move { name.len() },
        )
    };
    let mut all = Vec::new();
    for id in ids {
        all.push(charge(id, "a".to_owned()).await);
    }
    all
}

async fn with_errors(text: &str) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    let parsed = locked!(resource = text, ttl = Duration::from_secs(1), async { text.parse::<u64>() });
    Ok(parsed.await??)
}

async fn with_a_lease(id: u64) -> Result<Duration, LockError> {
    locked!(resource = format!("order:{id}"), guard = lease, name = "lease", async move {
        let lease: &Lease = lease;
        lease.validity()
    })
    .await
}

async fn skipped(id: u64) -> Result<Option<u64>, LockError> {
    locked!(resource = "order:{id}", if_locked = "skip", async move { id + 1 }).await
}

async fn nested(a: u64, b: u64) -> Result<u64, LockError> {
    locked!(resource = "a:{a}", async move {
        locked!(resource = "b:{b}", crate = ::redlock_runtime, async move { a + b }).await
    })
    .await?
}

macro_rules! of_a_fragment {
    ($body:block) => { locked!(resource = "fragment", async move $body) };
    ($body:expr) => { locked!(resource = "fragment", $body) };
}

async fn fragments(id: u64) -> Result<u64, LockError> {
    let whole = of_a_fragment!(async { 1 + id }).await?;
    Ok(whole + of_a_fragment!({ id }).await?)
}

fn is_send<F: Future + Send + 'static>(future: F) -> F {
    future
}

fn main() {
    drop(is_send(in_a_closure(Vec::new())));
    drop(is_send(skipped(1)));
    drop(is_send(with_a_lease(1)));
    let order = Order { id: 1, r#type: String::new() };
    drop(is_send(order.later()));
    drop((fragments(1), nested(1, 2), with_errors("1"), in_a_loop(&[])));
}
