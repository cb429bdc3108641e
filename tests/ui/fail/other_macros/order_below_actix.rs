//! actix-web's attributes above have made the function synchronous, as tokio's do.
use redlock_runtime::{LockError, redlock};

#[actix_web::main]
#[redlock(resource = "entry", guard = lease)]
async fn main() -> Result<(), LockError> {
    let _ = lease.resource();
    Ok(())
}
