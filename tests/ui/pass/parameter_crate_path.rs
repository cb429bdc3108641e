//! `crate` names the runtime where it is re-exported.
#![deny(warnings)]
#![allow(dead_code)]

pub mod vendor {
    pub use redlock_runtime as locks;
}

use vendor::locks::{LockError, redlock};

#[redlock(resource = "{id}", on_lost = "continue", guard = lease, crate = crate::vendor::locks)]
async fn through_a_module(id: u64) -> Result<u64, LockError> {
    let _ = lease.resource();
    Ok(id)
}

macro_rules! through_a_macro {
    ($name:ident) => {
        #[$crate::vendor::locks::redlock(resource = "m", crate = $crate::vendor::locks)]
        async fn $name() -> Result<(), $crate::vendor::locks::LockError> {
            Ok(())
        }
    };
}

through_a_macro!(f);

fn main() {}
