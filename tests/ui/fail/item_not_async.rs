//! Not `async`: one error, and none at the callers, which still find the function.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "order:{id}")]
fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

struct Account;

impl Account {
    #[redlock(resource = "account")]
    pub fn balance(&self) -> Result<u64, LockError> {
        let _ = async move { 1 };
        Ok(1)
    }
}

fn main() {
    let _: Result<u64, LockError> = charge(1);
    let _ = Account.balance();
}
