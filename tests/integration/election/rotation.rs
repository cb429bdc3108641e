//! How the office goes from one process to the next.

use std::time::Duration;

use redlock_runtime::parameters::LockOptions;

use super::fixture::{Process, SOON, elected, end_of, office};

/// A candidate that stands aside does so for twice this, and the next one needs some milliseconds.
fn slow() -> LockOptions {
    LockOptions::new().retry_delay(Duration::from_secs(3))
}

#[tokio::test]
async fn l6_to_resign_twice_is_to_resign_once() {
    let one = Process::start().await;
    let other = one.another().await;
    let (first, second) = (office().options(slow()), office().options(slow()));
    let (standing, mut of_one) = one.stand(&first);
    let term = elected(&mut of_one).await;
    let (waiting, mut of_other) = other.stand(&second);
    other.until_refused().await;
    for _ in 0..3 {
        term.resign();
    }
    let next = elected(&mut of_other).await;
    // The term is over, so resigning it does not end the next term.
    term.resign();
    assert!(next.proceed().await);
    second.resign();
    end_of(waiting).await.unwrap();
    second.resign();
    // A candidate that has resigned stands no more.
    end_of(other.stand(&second).0).await.unwrap();
    let term = elected(&mut of_one).await;
    assert!(term.proceed().await, "another one's resignation");
    assert!(term.fencing_token() > next.fencing_token());
    first.resign();
    end_of(standing).await.unwrap();
    one.nodes.assert_no_lock_keys(SOON).await;
}
