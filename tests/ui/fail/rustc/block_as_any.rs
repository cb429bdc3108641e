//! What rustc says of the block and of its place is what it says of an `async` block.
use std::future::Future;
use std::rc::Rc;

use redlock_runtime::{LockError, locked};

fn borrows(id: u64) -> impl Future<Output = Result<u64, LockError>> + 'static {
    locked!(resource = "order", async { id })
}

async fn breaks(ids: Vec<u64>) -> Result<(), LockError> {
    for id in ids {
        locked!(resource = "order:{id}", async move { break }).await?;
    }
    Ok(())
}

async fn other_type(id: u64) -> Result<u64, LockError> {
    locked!(resource = "order:{id}", async move { "text" }).await
}

async fn no_such_variable() -> Result<(), LockError> {
    locked!(resource = "order:{id}", async {}).await
}

fn is_send<F: Send>(_: F) {}

fn main() {
    is_send(locked!(resource = "order", async {
        let rc = Rc::new(1);
        std::future::ready(()).await;
        drop(rc);
    }));
    let _ = (borrows(1), breaks(vec![]), other_type(1), no_such_variable());
}
