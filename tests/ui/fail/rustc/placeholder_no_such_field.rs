//! A field that is not there.
use redlock_runtime::{LockError, redlock};

struct User {
    id: u64,
}

#[redlock(resource = "user:{user.idd}")]
async fn f(user: User) -> Result<u64, LockError> {
    Ok(user.id)
}

impl User {
    #[redlock(resource = "user:{self.idd}")]
    async fn g(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[redlock(resource = "user:{user}")]
async fn not_display(user: User) -> Result<u64, LockError> {
    Ok(user.id)
}

#[redlock(resource = "user:{USER.id}")]
async fn no_such_constant(user: User) -> Result<u64, LockError> {
    Ok(user.id)
}

fn main() {
    let _ = (f(User { id: 1 }), User { id: 1 }.g(), not_display(User { id: 1 }), no_such_constant(User { id: 1 }));
}
