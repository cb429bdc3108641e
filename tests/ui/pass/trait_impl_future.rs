//! Methods of a trait that return `impl Future`: as `async fn`, and with an `async move` block at their end.
#![deny(warnings)]

use std::future::Future;

use redlock_runtime::{LockError, redlock};

trait Charge {
    fn charge(&self, id: u64) -> impl Future<Output = Result<u64, LockError>> + Send;
}

struct Cards;
struct Invoices;

impl Charge for Cards {
    #[redlock(resource = "cards:{id}", name = "cards")]
    async fn charge(&self, id: u64) -> Result<u64, LockError> {
        tokio::task::yield_now().await;
        Ok(id)
    }
}

impl Charge for Invoices {
    #[redlock(resource = "invoices:{id}", name = "invoices")]
    fn charge(&self, id: u64) -> impl Future<Output = Result<u64, LockError>> + Send {
        let twice = id * 2;
        async move {
            tokio::task::yield_now().await;
            Ok(twice)
        }
    }
}

fn main() {
    drop((Cards.charge(1), Invoices.charge(2)));
}
