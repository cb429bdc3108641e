//! Functions that nothing can run under a lock.
use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

unsafe extern "C" {
    #[redlock(resource = "a")]
    safe fn abs(n: i32) -> i32;
}

#[redlock(resource = "a")]
const fn constant() -> u8 {
    1
}

type Boxed = Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>>;

#[redlock(resource = "a")]
fn future_of_an_alias(id: u64) -> Boxed {
    Box::pin(std::future::ready(Ok(id)))
}

#[redlock(resource = "a")]
fn future_in_the_middle(id: u64) -> Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>> {
    let future = async move { Ok(id) };
    Box::pin(future)
}

async fn calls() -> Result<u64, LockError> {
    let n = future_of_an_alias(1).await? + future_in_the_middle(1).await?;
    Ok(n + u64::from(constant()) + u64::from(abs(1) == 1))
}

fn main() {
    let _ = calls();
}
