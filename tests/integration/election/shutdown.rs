//! Whatever a candidate waits for, a shutdown ends the wait, and so does its own resignation.

use std::time::Duration;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::testing::TestLocks;

use super::fixture::{OFFICE, ends, office, stand_alone};

#[tokio::test(start_paused = true)]
async fn l4_l6_a_candidate_ends_its_wait_for_another_leader() {
    for is_shutdown in [true, false] {
        let locks = TestLocks::new();
        let _other = locks.hold(OFFICE);
        let election = office();
        let (standing, mut terms) = stand_alone(election.clone());
        locks.until_waiting(OFFICE).await;
        if is_shutdown {
            locks.shutdown().await;
        } else {
            election.resign();
        }
        ends(standing).await.unwrap().unwrap();
        assert!(terms.recv().await.is_none(), "it was elected");
        assert!(locks.registry().elections().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn l4_a_shutdown_ends_the_pause_of_a_candidate() {
    let locks = TestLocks::new();
    let days = LockOptions::new().retry_delay(Duration::from_secs(100_000));
    let (standing, mut terms) = stand_alone(office().options(days));
    ends(terms.recv()).await.unwrap().resign();
    locks.until_released(OFFICE).await;
    locks.shutdown().await;
    ends(standing).await.unwrap().unwrap();
    assert!(terms.recv().await.is_none(), "it was elected again");
}
