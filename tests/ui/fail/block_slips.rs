//! Mistakes in a `locked!`, each at its own token.
use redlock_runtime::{LockError, locked};

async fn no_block(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}")
}

async fn not_async(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}" => { id }).await
}

async fn a_closure(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", |lease| { id }).await
}

async fn parameters(id: u64) -> Result<u64, LockError> {
    locked!(tll = 5, ttl = 0, guard = lease, async move {
        println!("{}", lease.resource());
        id
    })
    .await
}

async fn once(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", once_per = "1h", async move { id }).await
}

async fn in_a_string(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}".to_string(), async move { id }).await?;
    locked!(resource = concat!("order:", "{id}"), async move { id }).await?;
    locked!(resource = b"order:{id}", async move { id }).await
}

fn main() {
    let _ = (no_block(1), not_async(1), a_closure(1), parameters(1), once(1), in_a_string(1));
}
