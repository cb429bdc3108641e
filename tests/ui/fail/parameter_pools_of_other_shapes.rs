//! Pools that are not an array of names.
use redlock_runtime::{LockError, redlock};

const POOLS: [&str; 1] = ["a"];

#[redlock(resource = "a", pools = POOLS)]
async fn constant() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = &["a"])]
async fn reference() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = ["a"; 3])]
async fn repeated() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = ("a", "b"))]
async fn tuple() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = vec!["a"])]
async fn vector() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = [["a", "b"], POOLS, -1])]
async fn nested() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "a", pools = ["a", "b", "b", "a", ("a")])]
async fn three_times() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (constant(), reference(), repeated(), tuple(), vector(), nested(), three_times(), POOLS);
}
