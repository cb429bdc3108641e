//! An expression that moves an argument moves it before the body.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = key)]
async fn f(key: String) -> Result<String, LockError> {
    Ok(key)
}

fn main() {
    let _ = f(String::new());
}
