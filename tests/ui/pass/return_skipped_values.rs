//! Functions that are skipped while another client holds the lock: they return units, options, or
//! results of these, through aliases too.
#![deny(warnings, clippy::pedantic)]
#![allow(dead_code)]

use redlock_runtime::{FromSkip, LockError, redlock};

type Answer<T> = Result<T, LockError>;

#[redlock(resource = "unit", if_locked = "skip")]
async fn unit() {}

#[redlock(resource = "unit", if_locked = "skip")]
async fn written_unit(id: u64) -> () {
    if id == 0 {
        return;
    }
    std::future::ready(id).await;
}

#[redlock(resource = "option", if_locked = "skip")]
async fn option(id: Option<u64>) -> Option<u64> {
    let id = id?;
    Some(id + 1)
}

#[redlock(resource = "result", if_locked = "skip")]
async fn result() -> Result<(), LockError> {
    Err(other().await?).unwrap_or(Ok(()))
}

#[redlock(resource = "alias", if_locked = "skip", retry_count = 3)]
async fn other() -> Answer<Option<u8>> {
    Ok(Some(1))
}

#[redlock(resource = "borrowed", if_locked = "skip", wait = "1s")]
async fn borrowed(name: &str) -> Option<&str> {
    name.split(':').next()
}

#[redlock(resource = "opaque", if_locked = "skip")]
async fn opaque() -> Option<impl Iterator<Item = u8>> {
    Some(std::iter::once(1))
}

enum Swept {
    Files(usize),
    Skipped,
    Failed(LockError),
}

impl FromSkip for Swept {
    fn skipped() -> Self {
        Self::Skipped
    }

    fn from_lock_error(error: LockError) -> Self {
        Self::Failed(error)
    }
}

#[redlock(resource = "own", if_locked = "skip")]
async fn own_type() -> Swept {
    Swept::Files(1)
}

#[redlock(resource = "said", if_locked = "error")]
async fn default_said() -> Result<(), LockError> {
    Ok(())
}

fn main() {}
