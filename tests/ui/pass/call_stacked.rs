//! Twice on one function: two locks, one inside the other. The lower attribute's is taken first.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

struct Account {
    id: u64,
    owner: String,
}

#[redlock(resource = "account:{id}", guard = account)]
#[redlock(resource = "tenant:{tenant}", ttl = "1m", guard = of_tenant)]
async fn charge(tenant: &str, id: u64) -> Result<String, LockError> {
    Ok(format!("{}{}{id}", account.resource(), of_tenant.resource()))
}

#[redlock(resource = "a:{key}")]
#[redlock(resource = "b:{key}")]
#[redlock(resource = "c:{key}")]
async fn moves_its_argument(key: String, mut n: u64) -> Result<impl Sized, LockError> {
    if n == 0 {
        return Ok(key);
    }
    n -= 1;
    Ok(key + &n.to_string())
}

impl Account {
    #[redlock(resource = "account:{self.id}")]
    #[redlock(resource = "owner:{self.owner}")]
    async fn by_mut(&mut self, n: u64) -> Result<&mut u64, LockError> {
        self.id += n;
        Ok(&mut self.id)
    }

    #[redlock(resource = "account:{self.id}")]
    #[redlock(resource = "owner:{self.owner}")]
    async fn by_value(self) -> Result<Self, LockError> {
        Ok(self)
    }
}

fn spawned() -> tokio::task::JoinHandle<Result<String, LockError>> {
    tokio::spawn(charge("tenant", 1))
}

fn main() {}
