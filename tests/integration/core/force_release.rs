//! A lock that is taken from its holder by force.

use std::time::Duration;

use redlock_core::error::{AcquireError, ExtendError};
use redlock_core::peek::ForceReleased;
use redlock_core::request::Kind;
use redlock_core::{NodeSet, Request};

use crate::core::fixture::{SOON, client, client_with_timeout, lock_once, once, settle, start};

/// What a lock leaves behind on purpose.
const STAYS: [&str; 2] = ["redlock:fence:{r}", "redlock:once:{r}"];

/// A frozen node has to be slow for it, and no other node on a busy machine.
async fn by_force(set: &NodeSet) -> Result<ForceReleased, AcquireError> {
    let client = client_with_timeout(Duration::from_secs(2));
    client.force_release(set, &"r".into()).await
}

#[tokio::test]
async fn it_takes_every_kind_of_lock_and_leaves_counters_and_records() {
    let (nodes, set) = start(3).await;
    let period = Some(SOON);
    for node in &nodes {
        node.set(STAYS[1], "ours/1 1", period);
    }
    let fenced = |request: Request| request.fencing(true);
    let permits = once("r").kind(Kind::Permits(4));
    let reader = fenced(once("r").kind(Kind::Read));
    for (request, count) in [
        (fenced(once("r")), 1),
        (permits, 3),
        (reader, 2),
        (once("r").kind(Kind::Write), 1),
    ] {
        let mut held = Vec::new();
        for _ in 0..count {
            held.push(client().acquire(&set, &request).await.unwrap());
        }
        settle(&set).await;
        let released = by_force(&set).await.unwrap();
        assert_eq!(released.taken_from.len(), count, "{released}");
        for from in &released.taken_from {
            assert_eq!(from.as_deref(), Some(client().owner()), "{released}");
        }
        let stays = |key: &[u8]| STAYS.iter().any(|it| it.as_bytes() == key);
        nodes.assert_no_keys_but(SOON, stays).await;
        assert_eq!(nodes[0].keys().len(), 2);
        let lost = held[0].extend(SOON).await.unwrap_err();
        assert!(matches!(lost, ExtendError::Ended(_)), "{lost}");
        drop(held);
        assert_eq!(by_force(&set).await.unwrap().to_string(), "it was free");
        lock_once(&set).await;
    }
}

#[tokio::test]
async fn a_node_that_is_late_deletes_nothing_of_a_later_holder() {
    let (nodes, set) = start(3).await;
    let stuck = client().acquire(&set, &once("r")).await.unwrap();
    settle(&set).await;
    nodes[2].freeze();
    let released = by_force(&set).await.unwrap();
    assert_eq!(released.taken_from.len(), 1, "{released}");
    assert_eq!(&*released.unconfirmed[0].name, set[2].name(), "{released}");
    let later = client().acquire(&set, &once("r")).await.unwrap();
    nodes[2].thaw();
    later.extend(SOON).await.unwrap();
    settle(&set).await;
    assert!(nodes.values_of("r").iter().flatten().count() >= 2);
    nodes[1].kill();
    nodes[2].kill();
    let error = by_force(&set).await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    drop((stuck, later));
}
