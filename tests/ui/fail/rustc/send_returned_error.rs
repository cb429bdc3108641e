//! The value of a locked function is kept while the lock is released: if it is not `Send`, neither is the
//! future. The note is at the return type.
use std::error::Error;

use redlock_runtime::redlock;

#[redlock(resource = "a")]
async fn fails(id: u64) -> Result<u64, Box<dyn Error>> {
    Ok(id)
}

#[redlock(resource = "a")]
async fn sendable(id: u64) -> Result<u64, Box<dyn Error + Send + Sync>> {
    Ok(id)
}

async fn caller() {
    let failed = fails(1).await.is_err();
    println!("{failed}");
}

fn main() {
    drop(tokio::spawn(caller()));
    drop(tokio::spawn(sendable(1)));
}
