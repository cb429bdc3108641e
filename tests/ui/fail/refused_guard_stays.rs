//! The body of a refused function still has its lease: one mistake, one error.
use std::time::Duration;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = 0, guard = lease)]
async fn refused() -> Result<Duration, LockError> {
    lease.extend(Duration::from_secs(1)).await?;
    Ok(lease.validity())
}

#[redlock(resource = "a", tll = 60, guard = lease)]
fn returns_a_future(id: u64) -> impl Future<Output = Result<u64, LockError>> {
    async move {
        let _ = lease.resource();
        Ok(id)
    }
}

fn main() {
    let _ = (refused(), returns_a_future(1));
}
