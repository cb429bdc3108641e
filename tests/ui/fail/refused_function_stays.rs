//! A refused function stays what it was to everybody who uses it: nothing but the mistake is said.
use std::fmt::Display;

use redlock_runtime::{Lease, LockError, redlock};

#[redlock(resource = "a", ttl = 0)]
pub async fn generic<'a, T: ?Sized + Display, const N: usize>(key: &'a T, rest: [u8; N]) -> Result<(&'a T, [u8; N]), LockError> {
    Ok((key, rest))
}

#[redlock(resource = "a", ttl = 0)]
#[must_use]
async fn opaque(key: impl Display) -> Result<impl Iterator<Item = u8>, LockError> {
    Ok(key.to_string().into_bytes().into_iter())
}

#[redlock(resource = "a", ttl = 0)]
async unsafe fn contract() -> u8 {
    1
}

trait Job: Sized {
    #[redlock(resource = "a", ttl = 0, guard = lease)]
    async fn provided(self) -> Result<Self, LockError> {
        check(lease);
        Ok(self)
    }

    async fn required(&mut self, n: u64) -> Result<&mut u64, LockError>;
}

struct Nightly {
    id: u64,
}

impl Job for Nightly {
    #[redlock(resource = "{sel.id}", guard = lease)]
    async fn required(&mut self, n: u64) -> Result<&mut u64, LockError> {
        let held: &Lease = lease;
        check(held);
        self.id += n;
        Ok(&mut self.id)
    }
}

impl Nightly {
    #[redlock(resource = "a", ttl = 0, guard = lease)]
    fn boxed<'a>(&'a self) -> std::pin::Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send + 'a>> {
        Box::pin(async move {
            check(lease);
            tokio::task::yield_now().await;
            Ok(self.id)
        })
    }
}

fn check(lease: &Lease) {
    let _ = lease.validity();
}

async fn calls() -> Result<(), LockError> {
    let (key, [_, _]) = generic("key", [1, 2]).await?;
    let mut bytes = opaque(key).await?;
    let first: Option<u8> = bytes.next();
    let second = unsafe { contract().await };
    let mut job = Nightly { id: u64::from(first.unwrap_or(second)) }.provided().await?;
    *job.required(1).await? += 1;
    let _: u64 = tokio::spawn(async move { job.boxed().await }).await.unwrap()?;
    Ok(())
}

fn main() {
    fn inner() {
        #[redlock(resource = "a", ttl = 0, guard = lease)]
        async fn innermost() -> Result<(), LockError> {
            check(lease);
            Ok(())
        }
        let _ = innermost();
    }
    inner();
    let _ = calls();
}
