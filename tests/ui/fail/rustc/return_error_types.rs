//! A `Result` whose error type cannot carry a lock error: the error names this type.
use redlock_runtime::redlock;

struct MyErr;

type Answer<T> = Result<T, MyErr>;

#[redlock(resource = "a")]
async fn own(id: u64) -> Result<u64, MyErr> {
    Ok(id)
}

#[redlock(resource = "a")]
async fn alias(id: u64) -> Answer<u64> {
    Ok(id)
}

#[redlock(resource = "a")]
async fn of_another_crate(id: u64) -> Result<u64, std::io::Error> {
    Ok(id)
}

#[redlock(resource = "a", if_locked = "skip")]
async fn skipped() -> Result<(), MyErr> {
    Err(MyErr)
}

fn main() {
    let _ = (own(1), alias(1), of_another_crate(1), skipped());
}
