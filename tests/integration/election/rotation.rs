//! How the office goes from one process to the next.

use std::time::Duration;

use redlock_runtime::parameters::LockOptions;

use super::fixture::{Process, SOON, end_of, office};

/// A candidate that stands aside does so for twice this, and the next one needs some milliseconds.
fn slow() -> LockOptions {
    LockOptions::new().retry_delay(Duration::from_secs(3))
}

#[tokio::test]
async fn l6_to_resign_twice_is_to_resign_once() {
    let mut one = Process::start().await;
    let mut other = one.another().await;
    let (first, second) = (office().options(slow()), office().options(slow()));
    let standing = one.stand(&first);
    let term = one.elected().await;
    let waiting = other.stand(&second);
    other.until_refused().await;
    for _ in 0..3 {
        term.resign();
    }
    one.ended().await;
    let next = other.elected().await;
    // The term is over, so resigning it does not end the next term.
    term.resign();
    assert!(next.proceed().await);
    second.resign();
    other.ended().await;
    end_of(waiting).await.unwrap();
    second.resign();
    // A candidate that has resigned stands no more.
    end_of(other.stand(&second)).await.unwrap();
    let term = one.elected().await;
    assert!(term.proceed().await, "another one's resignation");
    first.resign();
    one.ended().await;
    end_of(standing).await.unwrap();
    one.nodes.assert_no_lock_keys(SOON).await;
}
