//! `async` that was forgotten: neither the awaits in the body, nor the lease, nor the callers'
//! awaits bring an error of their own.
use redlock_runtime::{LockError, redlock};

async fn send(id: u64) -> u64 {
    id
}

#[redlock(resource = "order:{id}")]
fn charge(id: u64) -> Result<u64, LockError> {
    Ok(send(id).await)
}

struct Account {
    id: u64,
}

trait Job {
    fn other(&self);
    async fn job(&self) -> Result<u64, LockError>;
}

impl Account {
    #[redlock(resource = "account:{self.id}", guard = lease)]
    pub(crate) fn balance(&self) -> Result<u64, LockError> {
        let balance = match self.id {
            0 => 0,
            id => send(id).await + send(lease.resource().to_string().len() as u64).await,
        };
        Ok(balance)
    }
}

impl Job for Account {
    fn other(&self) {}

    #[redlock(resource = "account:{self.id}")]
    fn job(&self) -> Result<u64, LockError> {
        #![allow(unused)]
        self.balance().await
    }
}

#[redlock(resource = "order")]
unsafe fn contract() -> Result<u64, LockError> {
    charge(1).await
}

async fn calls() -> Result<u64, LockError> {
    let account = Account { id: 1 };
    account.other();
    Ok(charge(1).await? + account.balance().await? + account.job().await? + unsafe { contract().await? })
}

fn main() {
    let _ = calls();
}
