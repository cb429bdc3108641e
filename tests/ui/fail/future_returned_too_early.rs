//! A future that is returned before the one at the end would run without the lock.
use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{id}")]
fn boxed(id: u64) -> Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>> {
    if id == 0 {
        return Box::pin(async { Ok(0) });
    }
    Box::pin(async move { Ok(id) })
}

struct Job(u64);

impl Job {
    #[redlock(resource = "{self.0}", guard = lease)]
    fn job<'a>(&'a self, others: &'a [Self]) -> Pin<Box<dyn Future<Output = Result<u64, LockError>> + 'a>> {
        let last = others.iter().rposition(|other| {
            return other.0 == self.0;
        });
        let Some(last) = last else {
            return Box::pin(std::future::ready(Ok(0)));
        };
        Box::pin(async move {
            let _ = lease.resource();
            if last == 0 {
                return Ok(1);
            }
            Ok(self.0)
        })
    }
}

#[redlock(resource = "{id}")]
fn behind_an_operator(id: u64) -> Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>> {
    let is_ready = id == 0;
    let _ = is_ready || return Box::pin(async { Ok(0) });
    Box::pin(async move { Ok(id) })
}

async fn calls() -> Result<u64, LockError> {
    Ok(boxed(1).await? + behind_an_operator(1).await? + Job(1).job(&[]).await?)
}

fn main() {
    let _ = calls();
}
