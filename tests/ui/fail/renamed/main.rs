use our_locks::{LockError, redlock};

#[redlock(resource = "a:{id}")]
async fn renamed(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

fn main() {
    let _ = renamed(1);
}
