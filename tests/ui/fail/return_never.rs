//! A function that never returns.
use redlock_runtime::redlock;

#[redlock(resource = "a")]
async fn never() -> ! {
    std::future::pending().await
}

#[redlock(resource = "a", if_locked = "skip")]
async fn skipped() -> ! {
    std::future::pending().await
}

fn main() {
    let _ = async { never().await };
    let _ = async { skipped().await };
}
