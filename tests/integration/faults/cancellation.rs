//! A future that is dropped at any of its awaits leaves no key: on nodes that are well, and where
//! one of them hangs.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_tests::{Nodes, drop_after, eventually};

use crate::core::fixture::{SOON, client, impatient, once, start};
use crate::faults::scene::{majority, until_served};

/// More polls than any of these futures usually needs.
const ENOUGH: usize = 12;
/// A poll may find nothing new, so one of them may need more. None needs as many as these.
const TOO_MANY: usize = 100;

/// Runs `behaviour` with nodes that all answer, and then with nodes whose first hangs.
async fn well_and_with_a_frozen_node(n: usize, behaviour: impl AsyncFn(&Nodes, &NodeSet)) {
    let (nodes, set) = start(n).await;
    behaviour(&nodes, &set).await;
    nodes[0].freeze();
    behaviour(&nodes, &set).await;
    // What the frozen one missed lands now, in order.
    nodes[0].thaw();
    nodes.iter().for_each(|node| {
        node.del("held");
    });
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn an_acquisition_dropped_at_any_await_leaves_no_key(n: usize) {
    well_and_with_a_frozen_node(n, async |nodes, set| {
        let mut completed = 0;
        for polls in 0..TOO_MANY {
            if polls >= ENOUGH && completed > 0 {
                break;
            }
            let client = client();
            let request = once("r");
            if let Some(lease) = drop_after(polls, client.acquire(set, &request)).await {
                completed += 1;
                drop(lease.unwrap());
            }
            nodes.assert_no_keys(SOON).await;
        }
        assert!(
            completed > 0,
            "no run got through, so the later awaits were never reached"
        );
    })
    .await;
}

async fn a_refused_acquisition_dropped_at_any_await_leaves_only_the_holder(n: usize) {
    well_and_with_a_frozen_node(n, async |nodes, set| {
        // A majority: the attempt wins the others before it is refused.
        let holder = Duration::from_secs(60);
        for node in nodes
            .iter()
            .take(majority(n))
            .filter(|node| node.is_reachable())
        {
            node.set("held", "someone", Some(holder));
        }
        let mut completed = 0;
        for polls in 0..TOO_MANY {
            if polls >= ENOUGH && completed > 0 {
                break;
            }
            let mut request = once("held").retries(1);
            request.retry.delay = Duration::from_millis(2);
            // With the first node frozen, what it says is not waited for.
            let client = impatient();
            if let Some(refused) = drop_after(polls, client.acquire(set, &request)).await {
                completed += 1;
                refused.unwrap_err();
            }
            eventually("the won nodes to be free", SOON, || async {
                let values = nodes.values_of("held");
                let won = &values[majority(n)..];
                let is_free = won.iter().all(Option::is_none);
                is_free.then_some(()).ok_or(format!("{won:?}"))
            })
            .await;
        }
        assert!(completed > 0);
        let values = nodes.values_of("held");
        for (node, value) in nodes.iter().zip(values).take(majority(n)) {
            if node.is_reachable() {
                assert_eq!(value.as_deref(), Some(&b"someone"[..]), "{node}");
            }
        }
    })
    .await;
}

async fn a_release_dropped_at_any_await_leaves_no_key(n: usize) {
    well_and_with_a_frozen_node(n, async |nodes, set| {
        for polls in 0..ENOUGH {
            let lease = client().acquire(set, &once("r")).await.unwrap();
            drop_after(polls, lease.release()).await;
            nodes.assert_no_keys(SOON).await;
        }
    })
    .await;
}

async fn an_extension_dropped_at_any_await_leaves_the_lease_as_it_was(n: usize) {
    well_and_with_a_frozen_node(n, async |nodes, set| {
        for polls in 0..ENOUGH {
            let lease = client().acquire(set, &once("r")).await.unwrap();
            let before = lease.validity();
            let extended = drop_after(polls, lease.extend(Duration::from_secs(120))).await;
            match extended {
                Some(extended) => extended.unwrap(),
                None => assert!(lease.validity() <= before),
            }
            lease.release().await;
            nodes.assert_no_keys(SOON).await;
        }
    })
    .await;
}

async fn a_lease_dropped_after_its_runtime_ended_is_released(n: usize) {
    well_and_with_a_frozen_node(n, async |nodes, set| {
        let set = set.clone();
        let lease = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(async { client().acquire(&set, &once("r")).await.unwrap() })
        })
        .join()
        .unwrap();
        assert!(nodes.values_of("r").iter().any(Option::is_some));
        std::thread::spawn(move || drop(lease)).join().unwrap();
        nodes.assert_no_keys(SOON).await;
    })
    .await;
}

with_three_and_five_nodes! {
    an_acquisition_dropped_at_any_await_leaves_no_key,
    a_refused_acquisition_dropped_at_any_await_leaves_only_the_holder,
    a_release_dropped_at_any_await_leaves_no_key,
    an_extension_dropped_at_any_await_leaves_the_lease_as_it_was,
    a_lease_dropped_after_its_runtime_ended_is_released,
}
