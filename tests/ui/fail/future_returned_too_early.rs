//! A future that is returned before the one at the end would run without the lock.
use std::future::Future;
use std::pin::Pin;

use redlock_runtime::{LockError, redlock};

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

async fn calls() -> Result<u64, LockError> {
    Job(1).job(&[]).await
}

fn main() {
    let _ = calls();
}
