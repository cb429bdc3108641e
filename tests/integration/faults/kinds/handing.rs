//! A permit that is released in a process wakes the next caller in line, also while nodes fail.

use std::time::Duration;

use redlock_core::lease::Released;
use redlock_core::request::RetryLimit;
use redlock_core::{Client, Lease, NodeSet, Request};
use redlock_tests::eventually;

use crate::core::fixture::{Acquiring, SOON, stand_in_line, unhurried};
use crate::faults::scene::{majority, minority, until_served};

use super::{Fault, Held, TTL, network, nothing_is_left};

/// Only a wake-up ends its pause.
fn patient() -> Request {
    let mut request = Held::PermitEach.request();
    request.retry.limit = RetryLimit::Wait(SOON);
    request.retry.delay = Duration::from_secs(3600);
    request
}

/// Both permits, held by callers of one process.
async fn both(client: &Client, set: &NodeSet) -> [Lease; 2] {
    let acquire = async || {
        let lease = client.acquire(set, &patient()).await.expect("a permit");
        until_served(set).await;
        lease
    };
    [acquire().await, acquire().await]
}

async fn woken(waiting: Acquiring, when: &str) -> Lease {
    let woken = tokio::time::timeout(SOON, waiting).await.expect(when);
    woken.unwrap_or_else(|error| panic!("{when}: {error}"))
}

async fn a_released_permit_goes_to_the_next_in_line_while_a_minority_fails(n: usize) {
    let network = network(n).await;
    let set = &network.set;
    // Nodes that may not tell of a release leave that to the line of the process.
    for node in &network.nodes {
        node.command(["ACL", "SETUSER", "default", "-client"]);
    }
    for fault in Fault::ALL {
        for comes_before in [true, false] {
            let when = &*format!("{fault:?}, {comes_before}");
            let client = unhurried();
            let [kept, freed] = both(&client, set).await;
            let before = comes_before.then(|| stand_in_line(&client, set, &patient()));
            fault.begin(&network, minority(n)).await;
            let waiting = before.unwrap_or_else(|| stand_in_line(&client, set, &patient()));
            let next = tokio::spawn(woken(waiting, "woken"));
            let permit = freed.permit();
            assert_eq!(freed.release().await, Released::Confirmed, "{when}");
            let next = next.await.expect(when);
            assert_eq!(next.permit(), permit, "{when}");
            next.extend(TTL).await.expect(when);
            fault.end(&network, minority(n)).await;
            next.extend(TTL).await.expect(when);
            assert_eq!(next.release().await, Released::Confirmed, "{when}");
            assert_eq!(kept.release().await, Released::Confirmed, "{when}");
            nothing_is_left(&network.nodes, set).await;
        }
    }
}

/// The next one is woken once the nodes are back: they serve the release first.
async fn a_permit_that_was_released_to_a_silent_majority_goes_to_the_next_in_line(n: usize) {
    let network = network(n).await;
    let set = &network.set;
    for fault in Fault::ALL {
        let when = &*format!("{fault:?}");
        let client = unhurried();
        let [kept, freed] = both(&client, set).await;
        fault.begin(&network, majority(n)).await;
        let mut request = patient();
        request.retry.delay = Duration::from_millis(10);
        let waiting = stand_in_line(&client, set, &request);
        let next = tokio::spawn(woken(waiting, "woken"));
        drop(freed);
        fault.end(&network, majority(n)).await;
        let next = next.await.expect(when);
        assert_ne!(next.permit(), kept.permit(), "{when}");
        eventually("an extension", SOON, async || {
            next.extend(TTL).await.map_err(|error| error.to_string())
        })
        .await;
        drop((next, kept));
        nothing_is_left(&network.nodes, set).await;
    }
}

with_three_and_five_nodes! {
    a_released_permit_goes_to_the_next_in_line_while_a_minority_fails,
    a_permit_that_was_released_to_a_silent_majority_goes_to_the_next_in_line,
}
