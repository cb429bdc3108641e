//! On a part of an item rustc knows no attribute macros.
use redlock_runtime::{LockError, redlock};

struct Account {
    #[redlock(resource = "a")]
    id: u64,
}

enum Either {
    #[redlock(resource = "a")]
    Left,
}

async fn charge(#[redlock(resource = "a")] id: u64) -> Result<u64, LockError> {
    match Either::Left {
        #[redlock(resource = "a")]
        Either::Left => Ok(id),
    }
}

fn main() {
    let _ = charge(Account { id: 1 }.id);
}
