//! On a statement stable rustc takes no attribute, and says so beside us.
use redlock_runtime::{LockError, redlock};

fn main() {
    #[redlock(resource = "a")]
    let charge = async |id: u64| -> Result<u64, LockError> { Ok(id) };
    let _ = charge(1);
}
