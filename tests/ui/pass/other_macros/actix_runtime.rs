//! Above actix-web's own attribute that makes an async function synchronous.
#![deny(warnings)]
#![allow(dead_code)]

use redlock_runtime::{LockError, redlock};

#[redlock(resource = "entry", guard = lease)]
#[actix_web::main]
async fn entry() -> Result<String, LockError> {
    let here = std::rc::Rc::new(lease.resource().to_string());
    tokio::task::yield_now().await;
    Ok(here.to_string())
}

fn main() {}
