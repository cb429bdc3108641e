//! `#[cfg]` wherever it may stand.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{id}")]
async fn parameters(
    #[cfg(any())] id: &str,
    #[cfg(not(any()))] id: u64,
    #[cfg(any())] missing: Missing,
) -> Result<u64, LockError> {
    #[cfg(any())]
    missing.call();
    #[cfg(not(any()))]
    let id = id + 1;
    let list = [
        #[cfg(any())]
        missing,
        id,
    ];
    match list[0] {
        #[cfg(any())]
        0 => missing,
        #[allow(clippy::match_single_binding)]
        n => Ok(n),
    }
}

#[cfg_attr(not(any()), redlock(resource = "by cfg_attr"))]
#[cfg_attr(any(), redlock(no = "sense"))]
async fn by_cfg_attr(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "below")]
#[cfg(not(any()))]
async fn below() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "below")]
#[cfg(any())]
async fn below() -> Result<(), Missing> {
    missing()
}

struct Order {
    id: u64,
    #[cfg(any())]
    id: Missing,
}

impl Order {
    #[redlock(resource = "{self.id}:{kind}")]
    async fn method(
        &self,
        #[cfg(not(any()))]
        #[allow(unused_variables)]
        kind: u8,
    ) -> Result<u64, LockError> {
        let Self {
            id,
            #[cfg(any())]
                id: missing,
        } = self;
        if cfg!(any()) {
            return Ok(0);
        }
        Ok(*id)
    }
}

fn main() {}
