//! Every parameter, with every kind of value it takes.
#![deny(warnings)]
#![allow(dead_code)]

use std::time::Duration;

use redlock_runtime::{LockError, redlock};

const TTL: Duration = Duration::from_secs(30);

#[redlock(
    resource = "order:{id}",
    ttl = 60_000,
    pools = ["a", "b", "c"],
    retry_count = 3,
    retry_delay = 200,
    clock_drift_factor = 0.02,
    min_validity = 0.66,
    max_hold = "1h",
    once_per = 60_000,
    counts = "success",
    permits = 1,
    fencing = true,
    on_lost = "cancel",
    guard = lease,
    name = "charge",
    crate = ::redlock_runtime,
)]
async fn literals(id: u64) -> Result<String, LockError> {
    Ok(format!("{id}{}", lease.resource()))
}

#[redlock(resource = "a", ttl = "1m30s", retry_delay = "1500us", retry_count = 0, clock_drift_factor = 0, min_validity = "5s", max_hold = "unlimited", fencing = false, on_lost = "continue")]
async fn strings() -> Result<(), LockError> {
    Ok(())
}

#[redlock(
    resource = format!("order:{}", id + 1),
    ttl = TTL,
    once_per = TTL.saturating_mul(2),
    counts = "every",
    retry_count = retries + 1,
    retry_delay = Duration::from_millis(id),
    clock_drift_factor = factor / 2.0,
    min_validity = factor / 3.0,
    max_hold = TTL * 2,
)]
async fn expressions(id: u64, retries: u32, factor: f64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a"], mode = "write", once_per = "1h")]
async fn writes() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a"], permits = 4)]
async fn of_one_name() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", permits = holders)]
async fn permits(holders: u32) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = if id > 5 { "high" } else { "low" }, ttl = ttl, min_validity = ttl / 2)]
async fn branches(id: u64, ttl: Duration) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = key::<u8, u16>(), ttl = "10ms")]
async fn commas_in_generics() -> Result<(), LockError> {
    Ok(())
}

fn key<A, B>() -> String {
    std::any::type_name::<(A, B)>().to_owned()
}

#[redlock(resource = ["account:{from}", "account:{to.0}", "{{fixed}}"])]
async fn several(from: u64, to: (u64,)) -> Result<u64, LockError> {
    Ok(from + to.0)
}

#[redlock(resource = [from, to])]
async fn several_expressions(from: String, to: String) -> Result<(), LockError> {
    Ok(())
}

macro_rules! with_literals {
    ($name:ident, $resource:literal, $ttl:literal, $pool:literal, $expr:expr, $guard:ident) => {
        #[redlock(resource = $resource, ttl = $ttl, pools = [$pool, "other"], retry_count = $expr, guard = $guard)]
        async fn $name() -> Result<(), LockError> {
            let _ = $guard.resource();
            Ok(())
        }
    };
}

with_literals!(fragments, "resource", 50, "a", 1 + 1, lease);

fn main() {}
