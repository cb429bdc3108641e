//! What others see of an election.

use std::time::Duration;

use redlock_runtime::election;
use redlock_runtime::election::{LeaderObserver, Sighting};
use redlock_runtime::testing::TestLocks;
use redlock_tests::drop_after;

use super::fixture::{LONG, OFFICE, Process, SOON, end_of, office, scoped};

/// Waits until the observer sees what `is_wanted` wants.
async fn until(observer: &mut LeaderObserver, is_wanted: impl Fn(&Sighting) -> bool) -> Sighting {
    let seeing = async {
        loop {
            let sighting = observer.sighting();
            if sighting.age.is_some() && is_wanted(&sighting) {
                return sighting;
            }
            assert!(observer.changed().await, "it has ended: {sighting:?}");
        }
    };
    let seen = tokio::time::timeout(SOON, seeing).await;
    seen.unwrap_or_else(|_| panic!("{observer:?}"))
}

fn nobody(sighting: &Sighting) -> bool {
    sighting.leader.is_none()
}

fn somebody(sighting: &Sighting) -> bool {
    sighting.leader.is_some()
}

async fn observe(process: &Process) -> LeaderObserver {
    // No look but the first comes by time.
    scoped(process, async { office().ttl(LONG).observe() })
        .await
        .unwrap()
}

#[tokio::test]
async fn l5_observers_see_the_leader_the_next_one_and_that_nobody_leads() {
    let mut process = Process::start().await;
    let watching = process.another().await;
    let mut observer = observe(&watching).await;
    until(&mut observer, nobody).await;
    let election = office().ttl(LONG).value("http://10.0.0.7:3000");
    let standing = process.stand(&election);
    let term = process.elected().await;
    let sighting = until(&mut observer, somebody).await;
    let leader = sighting.leader.unwrap();
    let owner = process.redlock.registry().owner();
    assert_eq!(leader.owner.as_deref(), Some(owner));
    assert_eq!(leader.value.as_deref(), Some("http://10.0.0.7:3000"));
    assert!(sighting.age.unwrap() < LONG);
    election.resign();
    process.ended().await;
    end_of(standing).await.unwrap();
    drop(term);
    until(&mut observer, nobody).await;
    // Another client, in the place of the leader, and then another one in its place.
    for (value, seconds) in [("somebody", 600), ("somebody else", 700)] {
        for node in &*process.nodes {
            node.set(OFFICE, value, Some(Duration::from_secs(seconds)));
        }
        let changed = tokio::time::timeout(SOON, observer.changed());
        assert!(changed.await.expect("a change"));
        let sighting = until(&mut observer, somebody).await;
        assert_eq!(sighting.leader.unwrap().owner, None);
    }
    for node in &*process.nodes {
        node.del(OFFICE);
    }
    until(&mut observer, nobody).await;
}

#[tokio::test]
async fn l4_a_shutdown_ends_the_observers() {
    let process = Process::start().await;
    let mut observer = observe(&process).await;
    until(&mut observer, nobody).await;
    assert!(drop_after(1, observer.changed()).await.is_none());
    process.shut_down().await;
    let ended = tokio::time::timeout(SOON, observer.changed()).await;
    assert!(!ended.expect("it goes on"));
}

#[tokio::test]
async fn an_observer_needs_a_registry_and_its_pools() {
    let process = Process::start().await;
    let unknown = scoped(&process, async { office().pools(["nowhere"]).observe() }).await;
    assert!(unknown.unwrap_err().to_string().contains("nowhere"));
    let outside = office().observe().unwrap_err();
    assert!(outside.is_not_initialized(), "{outside}");
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
    let mut observer = election(OFFICE).observe().unwrap();
    assert!(observer.changed().await);
    let clone = observer.clone();
    drop(observer);
    tokio::task::yield_now().await;
    assert_eq!(alive(), before + 1);
    drop(clone);
    // Nothing else is due before this.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(alive(), before);
}
