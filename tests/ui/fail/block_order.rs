//! What belongs to a `locked!` in another order, or around it: one error each.
use redlock_runtime::{LockError, locked};

async fn block_first(id: u64) -> Result<u64, LockError> {
    locked!(async move { id }, resource = "order:{id}").await
}

async fn block_in_between(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", async move { id }, ttl = "5s").await
}

async fn words(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", move async { id }).await
}

async fn no_comma(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}" async move { id }).await
}

async fn semicolon(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}"; async move { id }).await
}

async fn no_key(id: u64) -> Result<u64, LockError> {
    locked!("order:{id}", async move { id }).await
}

async fn awaited_inside(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", async move { id }.await).await
}

async fn a_call(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", no_key(id)).await
}

async fn boxed(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", Box::pin(async move { id })).await
}

async fn a_closure(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", || async move { id }).await
}

async fn an_async_closure(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", async move || { id }).await
}

async fn nothing() -> Result<u64, LockError> {
    locked!().await
}

async fn no_resource(id: u64) -> Result<u64, LockError> {
    locked!(async move { id }).await
}

fn main() {
    let _ = (block_first(1), block_in_between(1), words(1), no_comma(1), semicolon(1));
    let _ = (no_key(1), awaited_inside(1), a_call(1), boxed(1), a_closure(1), an_async_closure(1));
    let _ = (nothing(), no_resource(1));
}
