//! A future that is dropped at any of its awaits leaves no key.

use std::time::Duration;

use redlock_tests::{drop_after, eventually};

use crate::fixture::{SOON, client, once, start};

/// More polls than any of these futures needs.
const ENOUGH: usize = 12;

#[tokio::test]
async fn an_acquisition_dropped_at_any_await_leaves_no_key() {
    let (nodes, set) = start(3).await;
    let mut completed = 0;
    for polls in 0..ENOUGH {
        let client = client();
        let request = once("r");
        if let Some(lease) = drop_after(polls, client.acquire(&set, &request)).await {
            completed += 1;
            drop(lease.unwrap());
        }
        nodes.assert_no_keys(SOON).await;
    }
    assert!(
        completed > 0,
        "no run got through, so the later awaits were never reached"
    );
}

#[tokio::test]
async fn a_refused_acquisition_dropped_at_any_await_leaves_only_the_holder() {
    let (nodes, set) = start(3).await;
    // Two of three: the attempt wins one node before it is refused.
    for node in nodes.iter().take(2) {
        node.set("r", "someone", Some(Duration::from_secs(60)));
    }
    let mut completed = 0;
    for polls in 0..ENOUGH {
        let mut request = once("r").retries(1);
        request.retry.delay = Duration::from_millis(2);
        let client = client();
        if let Some(refused) = drop_after(polls, client.acquire(&set, &request)).await {
            completed += 1;
            refused.unwrap_err();
        }
        eventually("the won node to be free", SOON, || async {
            nodes[2]
                .get("r")
                .map_or(Ok(()), |_| Err("still locked".to_owned()))
        })
        .await;
    }
    assert!(completed > 0);
    for node in nodes.iter().take(2) {
        assert_eq!(node.get("r").as_deref(), Some(&b"someone"[..]));
    }
}

#[tokio::test]
async fn a_release_dropped_at_any_await_leaves_no_key() {
    let (nodes, set) = start(3).await;
    for polls in 0..ENOUGH {
        let lease = client().acquire(&set, &once("r")).await.unwrap();
        drop_after(polls, lease.release()).await;
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test]
async fn an_extension_dropped_at_any_await_leaves_the_lease_as_it_was() {
    let (nodes, set) = start(3).await;
    for polls in 0..ENOUGH {
        let lease = client().acquire(&set, &once("r")).await.unwrap();
        let before = lease.validity();
        let extended = drop_after(polls, lease.extend(Duration::from_secs(120))).await;
        match extended {
            Some(extended) => extended.unwrap(),
            None => assert!(lease.validity() <= before),
        }
        lease.release().await;
        nodes.assert_no_keys(SOON).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extension_and_release_race_and_leave_no_key() {
    let (nodes, set) = start(3).await;
    for _ in 0..2000 {
        let lease = client().acquire(&set, &once("r")).await.unwrap();
        let handle = lease.handle();
        let extending = tokio::spawn(async move { handle.extend(Duration::from_secs(120)).await });
        lease.release().await;
        // Whether it was extended is a matter of luck; that nothing is left is not.
        let _ = extending.await.unwrap();
    }
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_lease_dropped_after_its_runtime_ended_is_released() {
    let (nodes, set) = start(3).await;
    let set_there = set.clone();
    let lease = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async { client().acquire(&set_there, &once("r")).await.unwrap() })
    })
    .join()
    .unwrap();
    assert!(nodes[0].get("r").is_some());
    std::thread::spawn(move || drop(lease)).join().unwrap();
    nodes.assert_no_keys(SOON).await;
}
