//! A future that is dropped at any of its awaits leaves no key: on nodes that are well, and where
//! one of them hangs.

use std::time::Duration;

use redlock_core::request::Kind;
use redlock_core::{NodeSet, Request};
use redlock_tests::{Nodes, drop_after, wait_until};

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

/// Returns a request for each way in which a client acquires.
fn requests() -> Vec<Request> {
    let mut requests = Vec::new();
    for kind in [Kind::Plain, Kind::Read, Kind::Write] {
        for fencing in [false, true] {
            let request = once("r").kind(kind).fencing(fencing);
            requests.push(request);
        }
    }
    requests.push(once("r").kind(Kind::Permits(2)));
    let job = once("r").once_per(Duration::from_secs(60 * 60));
    requests.push(job);
    requests
}

/// Fenced locks have awaits of their own, where tokens are confirmed, and jobs, where runs are looked for.
#[tokio::test]
async fn any_kind_of_acquisition_dropped_at_any_await_leaves_no_key() {
    let (nodes, set) = start(3).await;
    for request in requests() {
        for polls in 0.. {
            // The counters differ, so that there is a confirmation to be dropped in.
            nodes[polls % 3].set("redlock:fence:{r}", "9000000000000000", None);
            nodes[(polls + 1) % 3].del("redlock:fence:{r}");
            let client = client();
            let outcome = drop_after(polls, client.acquire(&set, &request)).await;
            let is_done = outcome.is_some();
            drop(outcome.map(Result::unwrap));
            nodes.assert_no_lock_keys(SOON).await;
            if is_done && polls > ENOUGH {
                break;
            }
        }
    }
}

async fn a_refused_acquisition_dropped_at_any_await_leaves_the_holder(n: usize) {
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
            let request = once("held")
                .retry_limit(1)
                .retry_delay(Duration::from_millis(2));
            // With the first node frozen, what it says is not waited for.
            let client = impatient();
            if let Some(refused) = drop_after(polls, client.acquire(set, &request)).await {
                completed += 1;
                refused.unwrap_err();
            }
            let won = || nodes.values_of("held").split_off(majority(n));
            let are_free = |won: &Vec<_>| won.iter().all(Option::is_none);
            wait_until("the won nodes to be free", won, are_free).await;
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

async fn an_extension_dropped_at_any_await_leaves_the_lease(n: usize) {
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

with_three_and_five_nodes! {
    an_acquisition_dropped_at_any_await_leaves_no_key,
    a_refused_acquisition_dropped_at_any_await_leaves_the_holder,
    a_release_dropped_at_any_await_leaves_no_key,
    an_extension_dropped_at_any_await_leaves_the_lease,
}
