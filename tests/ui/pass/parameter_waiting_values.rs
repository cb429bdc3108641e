//! Expressions of the attribute may await and fail, and the future is still `Send`.
#![deny(warnings)]
#![allow(dead_code)]

use std::time::Duration;

use redlock_runtime::{LockError, redlock};

struct Settings {
    ttl: Duration,
}

impl Settings {
    async fn retries(&self, of: &str) -> u32 {
        tokio::task::yield_now().await;
        u32::try_from(of.len()).unwrap_or(1)
    }

    async fn ttl(&self, of: u64) -> Result<Duration, LockError> {
        tokio::task::yield_now().await;
        Ok(self.ttl * u32::try_from(of).unwrap_or(1))
    }

    async fn name(&self, of: u64) -> String {
        tokio::task::yield_now().await;
        of.to_string()
    }
}

#[redlock(resource = "order:{id}", ttl = settings.ttl(id).await?, retry_count = settings.retries("a").await)]
async fn with_a_template(settings: &Settings, id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = settings.name(id).await, max_hold = settings.ttl(id).await?)]
async fn with_an_expression(settings: &Settings, id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(
    resource = if id == 0 { return Ok(0) } else { "order" },
    ttl = match settings.ttl(id).await {
        Ok(ttl) => ttl,
        Err(error) => return Err(error),
    },
)]
async fn returns_from_an_expression(settings: &Settings, id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn is_send(_: impl Send) {}

fn main() {
    let settings = &Settings { ttl: Duration::from_secs(1) };
    is_send(with_a_template(settings, 1));
    is_send(with_an_expression(settings, 1));
    is_send(returns_from_an_expression(settings, 1));
}
