//! Nodes that fail for a while and keep their data.

use redlock_core::error::ExtendError;
use redlock_core::request::RetryLimit;
use redlock_tests::eventually;
use tokio::time::timeout;

use crate::core::fixture::{SOON, client, impatient};
use crate::faults::scene::{Network, is_pending, majority, minority, unavailable, until_served};

use super::{
    Fault, Held, TTL, all_excluded_are_refused, all_excluded_get_in, extend, network,
    nothing_is_left, release, waiting,
};

/// Runs a scene with each fault and each kind of holder, and nothing is left behind any of them.
async fn each(n: usize, scene: impl AsyncFn(&Network, Fault, Held, &str)) {
    let network = network(n).await;
    for fault in Fault::ALL {
        for held in Held::ALL {
            let when = format!("{n} nodes, {fault:?}");
            scene(&network, fault, held, &when).await;
            nothing_is_left(&network.nodes, &network.set).await;
        }
    }
}

async fn a_minority_that_fails_under_holders_changes_nothing(n: usize) {
    each(n, async |network, fault, held, when| {
        let set = &network.set;
        let leases = held.acquire(set).await;
        fault.begin(network, minority(n)).await;
        all_excluded_are_refused(held, set, when).await;
        extend(held, &leases, when).await;
        all_excluded_are_refused(held, set, when).await;
        release(held, leases, when).await;
        all_excluded_get_in(held, set, when).await;
        fault.end(network, minority(n)).await;
    })
    .await;
}

async fn holders_that_come_while_a_minority_fails_hold(n: usize) {
    each(n, async |network, fault, held, when| {
        let set = &network.set;
        fault.begin(network, minority(n)).await;
        let mut leases = Vec::new();
        for _ in 0..2 {
            // The second one is refused if the first one leaves no room.
            let lease = client().acquire(set, &held.request()).await;
            leases.extend(lease.ok());
        }
        let room = match held {
            Held::PermitEach | Held::Readers => 2,
            Held::Plain | Held::Writer => 1,
        };
        assert_eq!(leases.len(), room, "{held:?}, {when}");
        fault.end(network, minority(n)).await;
        all_excluded_are_refused(held, set, when).await;
        extend(held, &leases, when).await;
        release(held, leases, when).await;
        all_excluded_get_in(held, set, when).await;
    })
    .await;
}

/// The nodes that do not answer are named, each with its reason, and the others are not.
async fn nobody_can_know(network: &Network, fault: Fault, held: Held, when: &str) {
    let n = network.set.len();
    for request in held.excludes() {
        let refused = impatient().acquire(&network.set, &request).await;
        let error = unavailable(refused.expect_err(when));
        let text = error.to_string();
        assert_eq!(error.needed, majority(n), "{held:?}, {when}: {text}");
        for name in ["a", "b", "c"].iter().take(majority(n)) {
            let reason = if fault.is_noticed() {
                format!("{name}: ")
            } else {
                format!("{name}: no answer in ")
            };
            assert!(text.contains(&reason), "{held:?}, {when}: {text}");
        }
    }
}

async fn a_majority_that_fails_under_holders_leaves_them_their_time(n: usize) {
    each(n, async |network, fault, held, when| {
        let (set, count) = (&network.set, majority(n));
        let asks = impatient();
        let mut leases = held.acquire(set).await;
        // One of the holders does not wait for long.
        let last = leases.pop().expect("a holder");
        last.release().await;
        until_served(set).await;
        let last = asks.acquire(set, &waiting(held.request())).await;
        let last = last.unwrap_or_else(|error| panic!("{held:?}, {when}: {error}"));
        leases.push(last);
        until_served(set).await;

        fault.begin(network, count).await;
        nobody_can_know(network, fault, held, when).await;
        let last = leases.last().expect("a holder");
        let error = last.extend(TTL).await.unwrap_err();
        assert!(
            matches!(error, ExtendError::Unavailable(_)),
            "{held:?}, {when}: {error}"
        );
        assert_eq!(last.over(), None, "{held:?}, {when}");
        fault.end(network, count).await;
        all_excluded_are_refused(held, set, when).await;
        eventually("an extension", SOON, async || {
            last.extend(TTL).await.map_err(|error| error.to_string())
        })
        .await;
        drop(leases);
        until_served(set).await;
        all_excluded_get_in(held, set, when).await;
    })
    .await;
}

async fn waiters_get_in_behind_holders_that_left_a_silent_majority(n: usize) {
    each(n, async |network, fault, held, when| {
        let set = &network.set;
        for request in held.excludes() {
            let leases = held.acquire(set).await;
            let set = set.clone();
            // A wait for a time would end after two retries that no majority answers.
            let request = waiting(request).retry_limit(RetryLimit::Forever);
            let mut waiting = Box::pin(async move { impatient().acquire(&set, &request).await });
            assert!(is_pending(&mut waiting).await, "{held:?}, {when}");
            let waiting = tokio::spawn(waiting);
            fault.begin(network, majority(n)).await;
            drop(leases);
            assert!(!waiting.is_finished(), "{held:?}, {when}");
            fault.end(network, majority(n)).await;
            let lease = timeout(SOON, waiting).await.expect(when).unwrap();
            drop(lease.unwrap_or_else(|error| panic!("{held:?}, {when}: {error}")));
            nothing_is_left(&network.nodes, &network.set).await;
        }
    })
    .await;
}

with_three_and_five_nodes! {
    a_minority_that_fails_under_holders_changes_nothing,
    holders_that_come_while_a_minority_fails_hold,
    a_majority_that_fails_under_holders_leaves_them_their_time,
    waiters_get_in_behind_holders_that_left_a_silent_majority,
}
