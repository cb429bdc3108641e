//! Resources that no node would take.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "")]
async fn empty() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = b"")]
async fn empty_bytes() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "redlock:{id}")]
async fn reserved(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\
{id}+"
)]
async fn too_long(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = [])]
async fn none() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = ["a:{id}", "", "a:{id}", id, "{}"])]
async fn several(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = (empty(), empty_bytes(), reserved(1), too_long(1), none(), several(1));
}
