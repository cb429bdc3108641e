//! Each template of an array answers for its own placeholders.
use redlock_runtime::{LockError, redlock};

struct User {
    id: u64,
}

#[redlock(resource = ["user:{usr.id}", "org:{org.id}", "user:{user.id}", "{0}", "redlock:{usr.id}"])]
async fn several(user: User) -> Result<u64, LockError> {
    Ok(user.id)
}

#[redlock(resource = ["{usr.id}", "{usr.id}"])]
async fn twice(user: User) -> Result<u64, LockError> {
    Ok(user.id)
}

#[redlock(resource = ["{a.0}"])]
async fn available([a_first, .., a_last]: [u8; 5], ref b @ User { id: c }: User, r#type: u8) -> Result<u64, LockError> {
    Ok(b.id + c + u64::from(a_first + a_last + r#type))
}

impl User {
    #[redlock(resource = ["{this.id}", "{self.id}", "{Self.id}"], guard = lease)]
    async fn method(&self) -> Result<String, LockError> {
        Ok(lease.resource().to_string())
    }
}

fn main() {
    let _ = (several(User { id: 1 }), twice(User { id: 1 }), available([0; 5], User { id: 1 }, 1));
    let _ = User { id: 1 }.method();
}
