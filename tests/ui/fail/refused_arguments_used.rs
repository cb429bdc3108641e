//! An argument that only the attribute mentions is used, also below a refused attribute.
#![deny(warnings)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{id}:{a}:{b}", ttl = 0, guard = lease)]
async fn refused(id: u64, (a, [b, ..]): (u8, [u8; 2]), _unused: u8) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "{id}")]
fn not_async(id: u64, #[cfg(test)] never: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "{id}", tll = 50)]
fn returns_a_future(id: u64) -> impl Future<Output = Result<(), LockError>> {
    async move { Ok(()) }
}

fn main() {
    let _ = (refused(1, (1, [1, 2]), 1), not_async(1), returns_a_future(1));
}
