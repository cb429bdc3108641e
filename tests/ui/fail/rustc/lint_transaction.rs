//! A transaction that the caller commits, after the lock was released.
#![deny(deprecated)]

use redlock_runtime::{LockError, redlock};

struct Postgres;
struct Transaction<'c, DB>(&'c DB);

#[redlock(resource = "order:{id}")]
async fn charge(tx: &mut Transaction<'_, Postgres>, id: u64) -> Result<u64, LockError> {
    let _database = tx.0;
    Ok(id)
}

fn main() {
    drop(charge(&mut Transaction(&Postgres), 1));
}
