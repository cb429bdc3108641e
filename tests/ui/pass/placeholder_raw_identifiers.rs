//! Raw identifiers: `{type}` reaches `r#type`.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

struct Row {
    r#fn: u8,
}

#[redlock(resource = "{type}:{match.fn}", guard = r#ref)]
async fn r#move(r#type: u64, r#match: Row) -> Result<u64, LockError> {
    let _ = (r#match, r#ref.resource());
    Ok(r#type)
}

fn main() {}
