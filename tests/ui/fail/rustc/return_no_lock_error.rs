//! Return types that cannot carry a lock error: one error each, at the type.
use redlock_runtime::{LockError, redlock};

struct MyErr;

#[redlock(resource = "a")]
async fn number() -> u8 {
    1
}

#[redlock(resource = "a")]
async fn other_error(id: u64) -> Result<u8, MyErr> {
    if id == 0 {
        return Err(MyErr);
    }
    Ok(1)
}

#[redlock(resource = "a")]
async fn error_of_another_crate() -> Result<u8, std::io::Error> {
    Ok(1)
}

#[redlock(resource = "a")]
async fn unit() {}

#[redlock(resource = "a")]
async fn option() -> Option<u8> {
    None
}

#[redlock(resource = "a")]
async fn opaque() -> impl Iterator<Item = u8> {
    std::iter::empty()
}

struct Service;

impl Service {
    #[redlock(resource = "a")]
    async fn method(&self) -> Vec<Result<(), LockError>> {
        Vec::new()
    }
}

fn main() {
    let _ = (number(), other_error(1), error_of_another_crate(), unit(), option(), opaque(), Service.method());
}
