//! Mistakes of every phase in one build: in an attribute, in what it stands on, in a name, in a
//! type, in a borrow.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", ttl = 0)]
async fn attribute(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "a")]
fn not_async(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

mod names {
    use redlock_runtime::{LockError, redlock};

    #[redlock(resource = "{oops}")]
    pub async fn placeholder() -> Result<(), LockError> {
        Ok(())
    }
}

#[redlock(resource = "a", ttl = id)]
async fn value(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "a")]
async fn returned(id: u64) -> Option<u64> {
    Some(id)
}

#[redlock(resource = "a", tll = 50)]
async fn body_of_a_refused(id: u64) -> Result<u64, LockError> {
    Ok(id.nothing())
}

#[redlock(resource = "a")]
async fn body() -> Result<u64, LockError> {
    Ok("text")
}

fn main() {
    let _ = (attribute(1), not_async(1), names::placeholder(), value(1), returned(1), body_of_a_refused(1), body());
}
