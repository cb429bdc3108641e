//! Names that a lease cannot have.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "a", guard = _)]
async fn underscore() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", guard = mut lease)]
async fn mutable() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", guard)]
async fn no_name() -> Result<(), LockError> {
    Ok(())
}

struct Order {
    id: u64,
}

#[redlock(resource = "a", guard = id)]
async fn bound_by_a_pattern((Order { id }, _): (Order, u8)) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "a", guard = r#type)]
async fn raw(r#type: u8) -> Result<u8, LockError> {
    Ok(r#type)
}

impl Order {
    #[redlock(resource = "a", guard = Self)]
    async fn of_a_type(&self) -> Result<u64, LockError> {
        Ok(self.id)
    }
}

#[redlock(resource = "a", guard = lease)]
#[redlock(resource = "b", guard = lease, name = "inside")]
async fn of_two_attributes() -> Result<(), LockError> {
    let _ = lease;
    Ok(())
}

fn main() {
    let _ = (underscore(), mutable(), no_name(), of_two_attributes());
    let _ = (bound_by_a_pattern((Order { id: 1 }, 2)), raw(1), Order { id: 1 }.of_a_type());
}
