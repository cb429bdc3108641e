//! Where there is no transaction of the caller's, or the caller holds the lock, nothing is said.
#![deny(warnings)]

use redlock_runtime::{LockError, redlock};

struct Postgres;
struct Transaction<'c, DB>(&'c DB);

/// A payment.
mod payments {
    pub struct Transaction(pub u64);
}

/// It begins and commits under the lock.
#[redlock(resource = "order:{id}")]
async fn charge(database: &Postgres, id: u64) -> Result<u64, LockError> {
    insert(&mut Transaction(database), id).await
}

/// Its caller has the lock.
#[allow(deprecated)]
#[redlock(resource = "order:{id}")]
async fn insert(tx: &mut Transaction<'_, Postgres>, id: u64) -> Result<u64, LockError> {
    let _database = tx.0;
    Ok(id)
}

#[redlock(resource = "owned")]
async fn owned(tx: Transaction<'_, Postgres>) -> Result<(), LockError> {
    drop(tx);
    Ok(())
}

#[redlock(resource = "payment")]
async fn pay(payment: &mut payments::Transaction) -> Result<u64, LockError> {
    Ok(payment.0)
}

fn main() {
    let payment = &mut payments::Transaction(1);
    drop((charge(&Postgres, 1), owned(Transaction(&Postgres)), pay(payment)));
}
