//! Huge, repeated and missing inputs.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_core::error::{AcquireError, ExtendError};
use redlock_core::lease::Released;
use redlock_tests::{Nodes, eventually};

use crate::core::fixture::{SOON, client, connect, once, start};
use crate::faults::scene::{soon, until_served, without_timeouts};

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

async fn the_longest_ttl_is_counted_by_the_nodes_and_a_longer_one_is_invalid(n: usize) {
    let (nodes, set) = start(n).await;
    let longer = YEAR + Duration::from_millis(1);
    let refused = client().acquire(&set, &once("r").ttl(longer)).await;
    assert!(matches!(refused, Err(AcquireError::Invalid(_))));
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    assert!(matches!(
        lease.extend(longer).await,
        Err(ExtendError::Invalid(_))
    ));
    lease.extend(YEAR).await.unwrap();
    until_served(&set).await;
    for node in &nodes {
        let left = node.pttl("r").left().unwrap();
        assert!(left <= YEAR && left > YEAR / 2, "{node}: {left:?}");
    }
    assert_eq!(lease.release().await, Released::Confirmed);
    let lease = client().acquire(&set, &once("r").ttl(YEAR)).await.unwrap();
    assert!(lease.validity() > YEAR / 2);
    assert_eq!(lease.release().await, Released::Confirmed);
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

/// The configuration refuses such a list. Even if a program makes one itself, one server is no
/// majority.
async fn a_server_that_is_listed_several_times_grants_once(n: usize) {
    let nodes = Nodes::start(n).await;
    let mut urls = nodes.urls();
    let repeated = n / 2 + 1;
    let first = urls[0].clone();
    urls[..repeated].fill(first);
    let set = connect(urls).await;
    for node in nodes.iter().skip(repeated) {
        node.set("r", "someone", Some(Duration::from_secs(60)));
    }
    let request = once("r").ttl(Duration::from_secs(1));
    let refused = soon(without_timeouts().acquire(&set, &request)).await;
    assert!(
        matches!(refused, Err(AcquireError::Contended(_))),
        "{refused:?}"
    );
    until_served(&set).await;
    eventually("no key on the repeated server", SOON, async || {
        nodes[0]
            .get("r")
            .map_or(Ok(()), |token| Err(format!("{token:?}")))
    })
    .await;
}

with_three_and_five_nodes! {
    the_longest_ttl_is_counted_by_the_nodes_and_a_longer_one_is_invalid,
    a_server_that_is_listed_several_times_grants_once,
}

#[tokio::test]
async fn a_lock_over_no_nodes_or_too_many_is_invalid() {
    let (_nodes, one) = start(1).await;
    for count in [0, 65] {
        let set: NodeSet = std::iter::repeat_n(&one[0], count).cloned().collect();
        let refused = soon(without_timeouts().acquire(&set, &once("r"))).await;
        let error = refused.unwrap_err();
        assert!(matches!(error, AcquireError::Invalid(_)), "{error}");
        assert!(error.to_string().contains("give it 1 to 64"), "{error}");
    }
}
