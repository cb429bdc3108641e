//! A dotted placeholder begins with a parameter.
use redlock_runtime::{LockError, redlock};

struct User {
    id: u64,
}
struct State<T>(T);

#[redlock(resource = "{usr.id}")]
async fn misspelled(user: User, State((first, _)): State<(u8, u8)>) -> Result<u64, LockError> {
    Ok(user.id + u64::from(first))
}

#[redlock(resource = "{usr.id}/{usr.id}/{org.id}")]
async fn twice(user: User) -> Result<u64, LockError> {
    Ok(user.id)
}

#[redlock(resource = "{self.id}")]
async fn no_receiver() -> Result<(), LockError> {
    Ok(())
}

impl User {
    #[redlock(resource = "{user.id}")]
    async fn method(&self, r#type: u8) -> Result<u8, LockError> {
        Ok(r#type)
    }
}

fn main() {
    let user = User { id: 1 };
    let _ = (misspelled(User { id: 1 }, State((1, 2))), twice(User { id: 1 }), no_receiver(), user.method(1));
}
