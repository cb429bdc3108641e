//! Return types that can carry a lock error, seen by trait and not by their tokens.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{FromLockError, LockError, redlock};

type Answer<T> = Result<T, LockError>;

#[redlock(resource = "alias")]
async fn alias() -> Answer<u8> {
    Ok(1)
}

#[redlock(resource = "skipped", if_locked = "skip")]
async fn skipped_alias() -> Answer<Option<u8>> {
    Ok(Some(1))
}

#[redlock(resource = "unit", if_locked = "skip")]
async fn written_unit() -> () {}

#[redlock(resource = "boxed")]
async fn boxed_error() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("no")?
}

#[redlock(resource = "io")]
async fn shadowing_result() -> std::result::Result<(), LockError> {
    Ok(())
}

enum Outcome {
    Done(u8),
    Busy(LockError),
}

impl FromLockError for Outcome {
    fn from_lock_error(error: LockError) -> Self {
        Self::Busy(error)
    }
}

#[redlock(resource = "own")]
async fn own_type() -> Outcome {
    Outcome::Done(1)
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

macro_rules! locked {
    ($name:ident, $key:literal, $ret:ty, $body:block) => {
        #[redlock(resource = $key)]
        async fn $name() -> $ret $body
    };
}

locked!(from_a_macro, "order", Result<u8, LockError>, {
    Ok(1)
});

fn main() {}
