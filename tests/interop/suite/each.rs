//! What holds beside each client.

use std::time::Duration;

use redlock_core::node::{Obstacle, Remaining};
use redlock_core::request::Kind;
use redlock_interop_tests::Program;
use redlock_tests::{Nodes, Pttl, eventually};

use crate::neighbours::Neighbour;
use crate::ours::{Ours, TTL, kinds};

/// The ttl of the other clients' locks, in ms.
const THEIR_TTL: u64 = 60_000;

/// A ttl in whole seconds that a test can wait for: python-redis-lock looks again once in a ttl.
const SHORT_TTL: u64 = 2_000;

/// The end of what a client still does behind its answer.
const SOON: Duration = Duration::from_secs(10);

fn attempt(theirs: &mut Program, key: &str) -> bool {
    theirs.ask(format!("try {key} {THEIR_TTL}")).is_ok()
}

/// Waits until all nodes have `key`, with one value: a client goes on as soon as a majority has answered.
pub(crate) async fn everywhere(nodes: &Nodes, key: &str) -> Vec<Option<Vec<u8>>> {
    eventually("the key on all nodes", SOON, async || {
        let values = nodes.values_of(key);
        let is_there = values[0].is_some() && values.iter().all(|value| *value == values[0]);
        if is_there {
            Ok(values)
        } else {
            Err(format!("{values:?}"))
        }
    })
    .await
}

/// Waits until no node has `key`.
pub(crate) async fn nowhere(nodes: &Nodes, key: &str) {
    eventually("the key to be gone", SOON, async || {
        let values = nodes.values_of(key);
        let is_gone = values.iter().all(Option::is_none);
        if is_gone {
            Ok(())
        } else {
            Err(format!("{values:?}"))
        }
    })
    .await;
}

/// Theirs is refused while ours is held, and the other way round, whatever the kind of ours.
pub(crate) async fn exclude_each_other(neighbour: Neighbour, count: usize) {
    let nodes = Nodes::start(count).await;
    let ours = Ours::on(&nodes, neighbour.prefix()).await;
    let mut theirs = neighbour.start(&nodes.urls());
    for (kind, number) in kinds().into_iter().zip(1..) {
        let key = format!("order:{number}");
        let lock = format!("{}{key}", neighbour.prefix());
        let lease = ours.acquired(&key, kind).await;
        everywhere(&nodes, &lock).await;
        assert!(!attempt(&mut theirs, &key), "beside our {kind:?}");
        lease.extend(TTL).await.expect("it is ours");
        lease.release().await;
        nowhere(&nodes, &lock).await;

        assert!(attempt(&mut theirs, &key), "nobody has it");
        everywhere(&nodes, &lock).await;
        let refused = ours.refused(&key, kind).await;
        // Their values name no owner. Any server tells the remaining time.
        assert_eq!(refused.holding.owner(), None);
        assert_eq!(refused.holding.obstacle, Obstacle::Holder);
        let left = refused.holding.remaining;
        let most = Duration::from_millis(THEIR_TTL);
        assert!(
            matches!(left, Remaining::Expires(left) if left > most / 2 && left <= most),
            "{left:?}"
        );
        let text = refused.to_string();
        assert!(text.contains("by another client for "), "{text}");
        assert!(theirs.ask(format!("extend {THEIR_TTL}")).is_ok());
        ours.refused(&key, kind).await;
        let waiting = ours.waited(&key, kind);
        let release = async { assert!(theirs.ask("release").is_ok()) };
        let (lease, ()) = tokio::join!(waiting, release);
        lease.release().await;

        // Theirs waits for ours. What it asks for while ours is being released may stay on a node until it
        // expires, so the key is another one.
        let key = format!("waited:{number}");
        let lease = ours.acquired(&key, kind).await;
        theirs.send(format!("hold {key} {SHORT_TTL}"));
        lease.release().await;
        assert!(theirs.answer(Duration::ZERO).is_ok(), "behind our {kind:?}");
        assert!(theirs.ask("release").is_ok());
    }
}

/// A client of one server, which is one of our three nodes: its lock is one vote against ours.
pub(crate) async fn counts_as_one_vote(neighbour: Neighbour) {
    let nodes = Nodes::start(3).await;
    let ours = Ours::on(&nodes, neighbour.prefix()).await;
    let mut one = neighbour.start(&nodes.urls()[..1]);
    let mut other = neighbour.start(&nodes.urls()[1..2]);
    let lock = format!("{}order:1", neighbour.prefix());
    for kind in kinds() {
        let lease = ours.acquired("order:1", kind).await;
        assert!(!attempt(&mut one, "order:1"), "beside our {kind:?}");
        assert!(!attempt(&mut other, "order:1"), "beside our {kind:?}");
        lease.release().await;
        nowhere(&nodes, &lock).await;

        assert!(attempt(&mut one, "order:1"));
        let lease = ours.acquired("order:1", kind).await;
        let values = nodes.values_of(&lock);
        assert!(values[0].is_some() && values[0] != values[1], "theirs");
        assert!(values[1].is_some() && values[1] == values[2], "ours");
        assert!(!attempt(&mut other, "order:1"), "a majority is ours");
        lease.release().await;
        assert!(other.ask(format!("hold order:1 {SHORT_TTL}")).is_ok());
        ours.refused("order:1", kind).await;
        assert!(one.ask("release").is_ok() && other.ask("release").is_ok());
        nowhere(&nodes, &lock).await;
    }
}

/// Of a lock with two permits, the other client's key is one.
pub(crate) async fn has_one_of_two_permits(neighbour: Neighbour, count: usize) {
    let nodes = Nodes::start(count).await;
    let ours = Ours::on(&nodes, neighbour.prefix()).await;
    let mut theirs = neighbour.start(&nodes.urls());
    let two = Kind::Permits(2);
    let key = format!("{}order:1", neighbour.prefix());
    assert!(attempt(&mut theirs, "order:1"));
    everywhere(&nodes, &key).await;
    let lease = ours.acquired("order:1", two).await;
    assert_eq!(lease.permit(), Some(1));
    let refused = ours.refused("order:1", two).await;
    assert!(refused.shortage.is_some(), "{refused}");
    assert!(theirs.ask("release").is_ok());
    nowhere(&nodes, &key).await;
    let first = ours.acquired("order:1", two).await;
    assert_eq!(first.permit(), Some(0));
    everywhere(&nodes, &key).await;
    assert!(!attempt(&mut theirs, "order:1"), "both permits are ours");
    lease.release().await;
    assert!(!attempt(&mut theirs, "order:1"), "their permit is ours");
    theirs.send(format!("hold order:1 {SHORT_TTL}"));
    first.release().await;
    assert!(theirs.answer(Duration::ZERO).is_ok());
}

fn assert_untouched(nodes: &Nodes, key: &str, before: &[Option<Vec<u8>>]) {
    assert_eq!(nodes.values_of(key), before, "the value changed");
    for node in nodes {
        let left = node.pttl(key);
        assert!(
            matches!(left, Pttl::Left(left) if left <= TTL),
            "{left:?}: the expiry changed"
        );
    }
}

/// An extension or a release behind a lock that was lost changes nothing of the next holder's.
pub(crate) async fn touch_nothing_of_each_other(neighbour: Neighbour, count: usize) {
    let nodes = Nodes::start(count).await;
    let ours = Ours::on(&nodes, neighbour.prefix()).await;
    let mut theirs = neighbour.start(&nodes.urls());
    let key = format!("{}order:1", neighbour.prefix());
    let lose = || nodes.iter().for_each(|node| assert!(node.del(&key)));
    let longer = TTL * 4;
    for kind in kinds() {
        let lease = ours.acquired("order:1", kind).await;
        everywhere(&nodes, &key).await;
        lose();
        assert!(attempt(&mut theirs, "order:1"));
        let before = everywhere(&nodes, &key).await;
        lease.extend(longer).await.expect_err("it is theirs");
        lease.release().await;
        assert_untouched(&nodes, &key, &before);
        assert!(theirs.ask(format!("extend {THEIR_TTL}")).is_ok());

        lose();
        let lease = ours.acquired("order:1", kind).await;
        let before = everywhere(&nodes, &key).await;
        let extended = theirs.ask(format!("extend {}", longer.as_millis()));
        assert!(!extended.is_ok(), "theirs was extended beside our {kind:?}");
        assert_untouched(&nodes, &key, &before);
        // Some clients say that they have released a lock that they had not.
        theirs.ask("release");
        assert_untouched(&nodes, &key, &before);
        lease.extend(TTL).await.expect("it is ours");
        lease.release().await;
        nowhere(&nodes, &key).await;
    }
}
