//! Everything that can stand before `fn`.
#![deny(warnings)]
#![allow(dead_code, improper_ctypes_definitions, clippy::missing_safety_doc, clippy::missing_errors_doc)]

use redlock_runtime::{LockError, redlock};

mod a {
    pub mod b {
        use redlock_runtime::{LockError, redlock};

        #[redlock(resource = "a")]
        pub(in crate::a) async fn in_a_path() -> Result<(), LockError> {
            Ok(())
        }

        #[redlock(resource = "a")]
        pub(crate) async unsafe extern "C" fn everything() -> Result<(), LockError> {
            Ok(())
        }
    }

    pub async fn calls() {
        let _ = b::in_a_path().await;
    }
}

#[redlock(resource = "a")]
async extern "C" fn of_another_convention(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{id:p}")]
async unsafe fn of_a_contract(id: *const u64) -> Result<*const u64, LockError>
where
{
    Ok(id)
}

trait Job {
    #[redlock(resource = "a", guard = lease)]
    async unsafe fn job(&self) -> Result<String, LockError> {
        Ok(lease.resource().to_string())
    }
}

fn main() {}
