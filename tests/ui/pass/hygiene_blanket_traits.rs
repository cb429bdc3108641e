//! A trait with the methods that the expansion calls, implemented for everything.
#![deny(warnings)]
#![allow(dead_code, clippy::new_ret_no_self)]

use std::time::Duration;

use redlock_runtime::{LockError, redlock};

trait Everything: Sized {
    fn new(_: u8) -> u8 {
        0
    }
    fn acquire(self) {}
    fn run(&self) {}
    fn release(self) {}
    fn lease(&self) {}
    fn ttl(self, _: Duration) {}
    fn name(self, _: &str) {}
    fn pools(self, _: &[&str]) {}
    fn retry_count(self, _: u32) {}
    fn retry_delay(self, _: Duration) {}
    fn clock_drift_factor(self, _: f64) {}
    fn min_validity(self, _: f64) {}
    fn max_hold(self, _: Duration) {}
    fn fencing(self, _: bool) {}
    fn on_lost(self, _: u8) {}
    fn unwrap(self) {}
    fn into(self) {}
    fn as_ref(&self) {}
    fn poll(self) {}
    fn from_lock_error(_: u8) {}
    fn from_refusal(_: u8) {}
    fn is_success(&self) -> u8 {
        0
    }
    fn map_err(self, _: u8) {}
}

impl<T> Everything for T {}

#[redlock(
    resource = "a:{id}",
    ttl = "5s",
    pools = ["a"],
    retry_count = 2,
    retry_delay = 50,
    clock_drift_factor = 0.01,
    min_validity = 0.5,
    max_hold = "1m",
    fencing = true,
    on_lost = "cancel",
    guard = lease,
    name = "known now",
)]
async fn literals(id: u8) -> Result<u8, LockError> {
    let _ = lease.resource();
    Ok(id)
}

#[redlock(
    resource = id.to_string(),
    ttl = Duration::from_secs(5),
    retry_count = 1 + 1,
    retry_delay = Duration::from_millis(50),
    clock_drift_factor = 0.01 + 0.01,
    min_validity = Duration::from_secs(1),
    max_hold = Duration::from_secs(61),
)]
async fn expressions(id: u8) -> Result<u8, LockError> {
    id.acquire();
    Ok(id)
}

fn main() {}
