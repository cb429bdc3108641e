//! Results and futures that are not used, and attributes of the function about that.
#![deny(unused_must_use, deprecated)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
#[must_use = "it has charged"]
async fn charge() -> Result<(), LockError> {
    Ok(())
}

#[must_use = "of a future that was made"]
#[redlock(resource = "a")]
fn boxed() -> std::pin::Pin<Box<dyn Future<Output = Result<(), LockError>>>> {
    Box::pin(async move { Ok(()) })
}

#[deprecated = "use `charge`"]
#[redlock(resource = "a")]
async fn old() -> Result<(), LockError> {
    charge();
    charge().await;
    Ok(())
}

async fn calls() {
    boxed();
    old();
    old().await;
}

fn main() {
    let _ = calls();
}
