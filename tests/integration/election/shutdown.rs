//! Whatever a candidate waits for, a shutdown ends the wait.

use std::time::Duration;

use redlock_runtime::parameters::LockOptions;

use super::fixture::{OFFICE, Process, SOON, end_of, office};

#[tokio::test]
async fn l4_a_shutdown_ends_the_wait_for_another_leader() {
    let process = Process::start().await;
    for node in &*process.nodes {
        node.set(OFFICE, "somebody", None);
    }
    let standing = process.stand(&office());
    process.until_refused().await;
    let told = process.shut_down().await;
    assert!(told.is_empty(), "{told:?}");
    end_of(standing).await.unwrap();
}

#[tokio::test]
async fn l4_a_shutdown_ends_the_pause_of_a_candidate_that_stands_aside() {
    let mut process = Process::start().await;
    let hours = LockOptions::new().retry_delay(Duration::from_secs(3600));
    let standing = process.stand(&office().options(hours));
    process.elected().await.resign();
    process.ended().await;
    process.nodes.assert_no_lock_keys(SOON).await;
    let told = process.shut_down().await;
    assert!(told.is_empty(), "{told:?}");
    end_of(standing).await.unwrap();
}
