//! Return types that can carry a lock error, seen by trait and not by their tokens.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{FromLockError, LockError, redlock};

type Answer<T> = Result<T, LockError>;

#[redlock(resource = "skipped", if_locked = "skip")]
async fn skipped_alias() -> Answer<Option<u8>> {
    Ok(Some(1))
}

#[redlock(resource = "unit", if_locked = "skip")]
async fn written_unit() -> () {}

#[redlock(resource = "io")]
async fn shadowing_result() -> std::result::Result<(), LockError> {
    Ok(())
}

struct Worker;

impl FromLockError for Worker {
    fn from_lock_error(_: LockError) -> Self {
        Self
    }
}

impl Worker {
    #[redlock(resource = "self")]
    async fn self_type(self) -> Self {
        self
    }
}

fn main() {}
