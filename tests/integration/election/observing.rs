//! What others see of an election.

use std::time::Duration;

use redlock_runtime::election::{LeaderStatus, LeaderWatch};
use redlock_runtime::testing::TestLocks;

use super::fixture::{LONG, OFFICE, Process, SOON, elected, end_of, ends, office, scoped};

/// Waits until the watch sees what `is_wanted` wants.
async fn until(watch: &mut LeaderWatch, is_wanted: impl Fn(&LeaderStatus) -> bool) -> LeaderStatus {
    let seeing = async {
        loop {
            let status = watch.status();
            if status.age.is_some() && is_wanted(&status) {
                return status;
            }
            assert!(watch.changed().await, "it has ended: {status:?}");
        }
    };
    let seen = tokio::time::timeout(SOON, seeing).await;
    seen.unwrap_or_else(|_| panic!("{watch:?}"))
}

fn nobody(status: &LeaderStatus) -> bool {
    status.leader.is_none()
}

fn somebody(status: &LeaderStatus) -> bool {
    status.leader.is_some()
}

#[tokio::test]
async fn l5_observers_see_who_leads_and_that_nobody_leads() {
    let process = Process::start().await;
    let watching = process.another().await;
    // No look but the first comes by time.
    let observing = async { office().ttl(LONG).watch() };
    let mut watch = scoped(&watching, observing).await.unwrap();
    until(&mut watch, nobody).await;
    let election = office().ttl(LONG).value("http://10.0.0.7:3000");
    let (standing, mut terms) = process.stand(&election);
    elected(&mut terms).await;
    let status = until(&mut watch, somebody).await;
    let leader = status.leader.unwrap();
    let owner = process.redlock.registry().owner();
    assert_eq!(leader.owner.as_deref(), Some(owner));
    assert_eq!(leader.value.as_deref(), Some("http://10.0.0.7:3000"));
    assert!(status.age.unwrap() < LONG);
    election.resign();
    end_of(standing).await.unwrap();
    until(&mut watch, nobody).await;
    // Another client, which names no owner.
    for node in &*process.nodes {
        node.set(OFFICE, "somebody", Some(LONG));
    }
    let status = until(&mut watch, somebody).await;
    assert_eq!(status.leader.unwrap().owner, None);
}

#[tokio::test(start_paused = true)]
async fn l4_a_shutdown_ends_the_observers() {
    let locks = TestLocks::new();
    let mut watch = office().watch().unwrap();
    assert!(watch.changed().await);
    locks.shutdown().await;
    assert!(!ends(watch.changed()).await);
}

#[tokio::test(start_paused = true)]
async fn an_observation_ends_with_its_last_observer() {
    let _locks = TestLocks::new();
    let alive = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = alive();
    let mut watch = office().watch().unwrap();
    assert!(watch.changed().await);
    let clone = watch.clone();
    drop(watch);
    tokio::task::yield_now().await;
    assert_eq!(alive(), before + 1);
    drop(clone);
    // Nothing else is due before this.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(alive(), before);
}
