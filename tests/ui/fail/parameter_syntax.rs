//! Attributes that are not a list of `key = value`.
use redlock_runtime::{LockError, redlock};

#[redlock("order:{id}")]
async fn no_key(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource)]
async fn no_value() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = , ttl)]
async fn no_values() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a" ttl = 50)]
async fn no_comma() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", 5 = ttl, on_lost = "cancle")]
async fn no_name() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = ["a" "b"], ttl = key(1 2))]
async fn no_comma_in_a_list() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = id.)]
async fn no_field(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = &)]
async fn no_operand() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", ttl = Duration::)]
async fn no_end_of_the_path() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (no_comma_in_a_list(), no_field(1), no_operand(), no_end_of_the_path());
    let _ = (no_key(1), no_value(), no_values(), no_comma(), no_name());
}
