//! Parts that are not there, or cannot be shown.
use redlock_runtime::{LockError, redlock};

struct Opaque;

#[redlock(resource = "{oops:part}")]
async fn no_such_name(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{opaque:part}")]
async fn no_display(opaque: Opaque) -> Result<Opaque, LockError> {
    Ok(opaque)
}

#[redlock(resource = "{id:parts}")]
async fn no_such_spec(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = (no_such_name(1), no_display(Opaque), no_such_spec(1));
}
