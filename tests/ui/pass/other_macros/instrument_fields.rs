//! `#[instrument]` with everything it takes, above, below, and between two locks.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};
use tracing::{Level, instrument};

struct Order {
    id: u64,
    lines: Vec<String>,
}

impl Order {
    #[redlock(resource = "order:{self.id}", guard = lease)]
    #[instrument(level = "debug", target = "orders", name = "ship", skip_all, fields(id = self.id, lines = self.lines.len()), err, ret)]
    async fn ship(&mut self, to: &str) -> Result<String, LockError> {
        self.lines.push(to.to_owned());
        Ok(lease.resource().to_string())
    }

    #[instrument(level = Level::DEBUG, skip(self), fields(order = %self.id), err(Debug))]
    #[redlock(resource = "order:{self.id}", guard = lease)]
    async fn ship_below<'a>(&'a self, to: &'a str) -> Result<&'a str, LockError> {
        tracing::debug!(lease = %lease.resource(), "shipping");
        Ok(to)
    }
}

#[redlock(resource = "outer:{id}")]
#[instrument(ret)]
#[redlock(resource = "inner:{id}")]
async fn between(id: u64, mut n: u64) -> Result<u64, LockError> {
    n += id;
    Ok(n)
}

#[instrument(skip_all, fields(shared))]
#[redlock(resource = "{key}")]
async fn moves(key: String, other: impl Send + ToString) -> Result<String, LockError> {
    tracing::Span::current().record("shared", true);
    Ok(key + &other.to_string())
}

fn is_send(_: impl Send) {}

fn main() {
    is_send(between(1, 2));
    is_send(moves(String::new(), 1));
}
