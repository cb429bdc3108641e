//! Dots that lead nowhere.
use redlock_runtime::{LockError, redlock};

#[redlock(resource = "{a.}")]
async fn ends_in_a_dot(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{.a}")]
async fn begins_with_a_dot(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{a..b}")]
async fn range(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{a[0].b}")]
async fn index(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{a.01}")]
async fn leading_zero(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{a.self}")]
async fn keyword(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{a.b c}")]
async fn two_words(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{a.await}:{a.len()}:{}")]
async fn several(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

#[redlock(resource = "{a.b.c.{d}}")]
async fn nested(a: u64) -> Result<u64, LockError> {
    Ok(a)
}

fn main() {
    let _ = (ends_in_a_dot(1), begins_with_a_dot(1), range(1), index(1), leading_zero(1), keyword(1));
    let _ = (two_words(1), several(1), nested(1));
}
