//! A macro that returns another future, which would run without the lock.
use std::future::{Future, ready};
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

macro_rules! return_if {
    ($condition:expr) => {
        if $condition {
            return Box::pin(async { Ok(0) });
        }
    };
}

#[redlock(resource = "{id}")]
fn boxed(id: u64) -> Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>> {
    return_if!(id == 0);
    Box::pin(async move { Ok(id) })
}

macro_rules! ready_if {
    ($condition:expr) => {
        $condition || return ready(Ok(0))
    };
}

#[redlock(resource = "{id}")]
fn opaque(id: u64) -> impl Future<Output = Result<u64, LockError>> {
    let _ = ready_if!(id == 0);
    async move { Ok(id) }
}

fn main() {
    drop((boxed(1), opaque(1)));
}
