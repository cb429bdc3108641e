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

/// What a name stands for is unknown to the attribute.
type Balance = std::pin::Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>>;

fn read() -> Balance {
    Box::pin(async { Ok(1) })
}

#[redlock(resource = "account")]
fn of_an_alias() -> Balance {
    read()
}

fn main() {
    let _: Balance = of_an_alias();
    let _: Result<u64, LockError> = charge(1);
    let _ = Account.balance();
}
