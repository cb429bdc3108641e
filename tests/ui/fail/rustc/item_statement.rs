//! Statements: a part of a function is locked in another way.
use redlock_runtime::redlock;

async fn charge() {
    #[redlock(resource = "a")]
    let sum = 1;
    let _ = sum;
}

fn main() {
    let _ = charge();
}
