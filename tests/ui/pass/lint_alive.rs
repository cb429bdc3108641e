//! The user's lints fire in the body as ever: each of these expectations is met.
#![deny(warnings, unfulfilled_lint_expectations)]

use redlock_runtime::{LockError, redlock};

#[expect(dead_code)]
#[redlock(resource = "r")]
async fn never_called() -> Result<(), LockError> {
    Ok(())
}

#[expect(unused_variables)]
#[redlock(resource = "r")]
async fn unused_local() -> Result<(), LockError> {
    let x = 1;
    Ok(())
}

#[expect(unused_variables)]
#[redlock(resource = "r")]
async fn unused_parameter(x: u8) -> Result<(), LockError> {
    Ok(())
}

#[expect(unused_variables)]
#[redlock(resource = "r", guard = lease)]
async fn unused_guard() -> Result<(), LockError> {
    Ok(())
}

#[expect(unused_mut)]
#[redlock(resource = "{x}")]
async fn unused_mut(mut x: u8) -> Result<u8, LockError> {
    Ok(x)
}

#[expect(unreachable_code)]
#[redlock(resource = "r")]
async fn unreachable() -> Result<(), LockError> {
    return Ok(());
    let _ = 1;
}

#[expect(unused_must_use)]
#[redlock(resource = "r")]
async fn unused_result() -> Result<(), LockError> {
    "1".parse::<u8>();
    Ok(())
}

#[expect(unused_parens)]
#[redlock(resource = "r")]
async fn parens() -> Result<u8, LockError> {
    let x = (1);
    Ok(x)
}

fn main() {
    drop((unused_local(), unused_parameter(1), unused_guard(), unused_mut(1)));
    drop((unreachable(), unused_result(), parens()));
}
