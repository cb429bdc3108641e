//! Signatures with everything in them.
#![deny(warnings)]
#![allow(dead_code, clippy::missing_safety_doc)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{id}")]
pub(crate) async unsafe fn not_safe<'a, T: ?Sized + 'a, U, const N: usize>(
    id: u64,
    t: &'a T,
    first: [U; N],
) -> Result<([U; N], &'a T), LockError>
where
    U: Copy,
    for<'x> &'x T: Send,
    [U; N]: Sized,
{
    let _ = id;
    Ok((first, t))
}

#[redlock(resource = "closure")]
async fn closures<F>(f: F) -> Result<u8, LockError>
where
    F: AsyncFnOnce(u8) -> u8,
{
    Ok(f(1).await)
}

#[redlock(resource = "empty")]
async fn trailing_comma(
    #[allow(unused_variables)] a: u8,
    #[allow(unused_mut)] mut _b: u8,
) -> Result<(), LockError> {
    Ok(())
}

fn main() {}
