//! A crate may forbid lints: nothing in the expansion allows them again.
#![deny(warnings)]
#![forbid(unsafe_code, unreachable_code, unused_variables, unused_mut, unused_must_use, dead_code)]
#![forbid(clippy::all, clippy::diverging_sub_expression, clippy::let_and_return, clippy::todo)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{id}:{pair.0}", ttl = "5s", pools = ["a"], guard = lease)]
async fn ends(id: u64, pair: (u64, u64)) -> Result<u64, LockError> {
    if id == 0 {
        return Ok(lease.resource().to_string().len() as u64);
    }
    Ok(id + pair.1)
}

#[redlock(resource = "loop", ttl = std::time::Duration::from_secs(1))]
async fn never_ends(id: u64) -> Result<u64, LockError> {
    loop {
        ends(id, (1, 2)).await?;
    }
}

#[redlock(resource = "panic")]
async fn panics() -> Result<u64, LockError> {
    panic!("no")
}

fn main() {
    drop((never_ends(1), panics()));
}
