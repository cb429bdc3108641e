//! The body sees nothing of what is around it: no label, no loop, no local, no item.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a")]
async fn no_label(n: u8) -> Result<u8, LockError> {
    if n == 0 {
        break 'body Ok(0);
    }
    Ok(n)
}

#[redlock(resource = "a")]
async fn no_loop(n: u8) -> Result<u8, LockError> {
    if n == 0 {
        continue;
    }
    Ok(n)
}

#[redlock(resource = "a", guard = own)]
async fn locals_of_the_expansion() -> Result<String, LockError> {
    let _ = (&__redlock_spec, &__redlock_slot, &__redlock_lease, __redlock_SITE);
    Ok(own.resource().to_string())
}

fn main() {
    let _ = (no_label(1), no_loop(1), locals_of_the_expansion());
}
