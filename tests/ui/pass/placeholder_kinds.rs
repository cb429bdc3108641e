//! Every kind of placeholder.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

struct Org {
    id: u64,
}
struct User {
    org: Org,
    name: String,
    r#type: u8,
}

const TENANT: &str = "acme";

#[redlock(resource = "{user.org.id}/{user.name}/{user.name}/{user.type}")]
async fn fields(user: User) -> Result<User, LockError> {
    Ok(user)
}

#[redlock(resource = "{pair.0}/{pair.1.0}")]
async fn tuples(pair: (u64, (u8,))) -> Result<(), LockError> {
    let _ = pair;
    Ok(())
}

#[redlock(resource = "{id:08}/{id:#x}/{pair.0:>width$}/{name:?}")]
async fn specs(id: u64, pair: (u64,), width: usize, name: &str) -> Result<(), LockError> {
    let _ = (id, pair, width, name);
    Ok(())
}

#[redlock(resource = "{{literal}}")]
async fn escaped() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "{{{user.org.id}}}")]
async fn escaped_beside_a_field(user: User) -> Result<(), LockError> {
    drop(user);
    Ok(())
}

#[redlock(resource = r"{TENANT}:{id}")]
async fn constants_and_raw_strings(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "{arg0}/{user.name}")]
async fn a_name_the_macro_would_choose(arg0: u64, user: User) -> Result<u64, LockError> {
    drop(user);
    Ok(arg0)
}

#[redlock(resource = "{id}")]
async fn behind_references(id: &&u64) -> Result<u64, LockError> {
    Ok(**id)
}

fn main() {}
