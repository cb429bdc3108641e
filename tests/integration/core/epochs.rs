//! Nodes that may have forgotten what they granted.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::{BodyOutcome, OnLost};
use redlock_core::request::Kind;
use redlock_core::{Client, Lease, MemoryNode, Node, NodeSet};

use crate::core::fixture::{IO, client, once};
use crate::core::still_clock::StillClock;

fn memory() -> Vec<MemoryNode> {
    let clock = IO.environment().clock;
    ["a", "b", "c"]
        .map(|name| MemoryNode::new(name, clock.clone()))
        .into()
}

fn set_of(nodes: &[MemoryNode]) -> NodeSet {
    nodes
        .iter()
        .map(|node| Arc::new(node.clone()) as Arc<dyn Node>)
        .collect()
}

#[tokio::test]
async fn leases_of_every_kind_are_lost_when_no_majority_vouches_for_them() {
    for kind in [Kind::Exclusive, Kind::Permits(3), Kind::Read, Kind::Write] {
        let nodes = memory();
        let request = once("r").kind(kind);
        let lease = client().acquire(&set_of(&nodes), &request).await.unwrap();
        nodes[0].begin_epoch();
        lease.recheck();
        assert_eq!(lease.over(), None, "{kind}: two of three still do");
        nodes[1].begin_epoch();
        lease.recheck();
        assert_eq!(lease.lost().await, LeaseEnd::Forgotten, "{kind}");
        let error = lease.extend(Duration::from_secs(60)).await.unwrap_err();
        assert!(
            matches!(error, ExtendError::Ended(LeaseEnd::Forgotten)),
            "{error}"
        );
        lease.release().await;
        let left = nodes.iter().flat_map(MemoryNode::keys);
        assert_eq!(left.collect::<Vec<_>>(), Vec::<Vec<u8>>::new(), "{kind}");
    }
}

#[tokio::test]
async fn an_extension_is_a_new_proof() {
    let nodes = memory();
    let lease = client().acquire(&set_of(&nodes), &once("r")).await.unwrap();
    for node in &nodes {
        node.begin_epoch();
        lease.extend(Duration::from_secs(60)).await.unwrap();
        lease.recheck();
        assert_eq!(lease.over(), None);
    }
}

/// Such a lease has expired, and so its holder is told.
#[tokio::test]
async fn nothing_is_lost_behind_the_deadline() {
    let clock = StillClock::default();
    let nodes = ["a", "b", "c"].map(|name| MemoryNode::new(name, Arc::new(clock.clone())));
    let client = Client::new(clock.environment());
    for is_forgotten in [true, false] {
        let lease = client.acquire(&set_of(&nodes), &once("r")).await.unwrap();
        clock.advance(lease.validity());
        if is_forgotten {
            nodes.iter().for_each(MemoryNode::begin_epoch);
            lease.recheck();
        } else {
            lease.lose_keys();
        }
        assert_eq!(lease.lost().await, LeaseEnd::Expired);
        lease.release().await;
    }
}

/// Also `OnLost::Continue` ends at a shutdown, whatever the lease ended by before.
#[tokio::test]
async fn a_body_that_goes_on_without_its_lock_is_cancelled_when_the_lease_is_revoked() {
    type Loss = fn(&StillClock, &[MemoryNode; 3], &Lease);
    let losses: [(Loss, LeaseEnd); 4] = [
        (
            |clock, _, lease| clock.advance(lease.validity()),
            LeaseEnd::Expired,
        ),
        (|_, _, lease| lease.lose_keys(), LeaseEnd::Taken(None)),
        (
            |_, nodes, lease| {
                nodes.iter().for_each(MemoryNode::begin_epoch);
                lease.recheck();
            },
            LeaseEnd::Forgotten,
        ),
        (|_, _, _| {}, LeaseEnd::Revoked),
    ];
    for (lose, over) in losses {
        let clock = StillClock::default();
        let nodes = ["a", "b", "c"].map(|name| MemoryNode::new(name, Arc::new(clock.clone())));
        let client = Client::new(clock.environment());
        let lease = client.acquire(&set_of(&nodes), &once("r")).await.unwrap();
        let mut body = pin!(std::future::pending::<()>());
        let mut held = pin!(lease.hold(body.as_mut(), OnLost::Continue));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(held.as_mut().poll(context).is_pending());
        lose(&clock, &nodes, &lease);
        assert!(
            held.as_mut().poll(context).is_pending(),
            "{over}: it goes on"
        );
        lease.revoke();
        let cancelled = Poll::Ready(BodyOutcome::Cancelled(LeaseEnd::Revoked));
        assert_eq!(held.as_mut().poll(context), cancelled, "{over}");
        assert_eq!(
            lease.over(),
            Some(over),
            "the lease ended by what came first"
        );
    }
}

/// The body has not waited yet, so nothing would wake it later.
#[tokio::test]
async fn a_body_that_goes_on_without_its_lock_is_cancelled_if_its_first_poll_sees_the_lease_revoked()
 {
    let clock = StillClock::default();
    let nodes = ["a", "b", "c"].map(|name| MemoryNode::new(name, Arc::new(clock.clone())));
    let client = Client::new(clock.environment());
    let lease = client.acquire(&set_of(&nodes), &once("r")).await.unwrap();
    let handle = lease.handle();
    let mut body = pin!(std::future::poll_fn(|_| {
        clock.advance(handle.validity());
        handle.revoke();
        Poll::<()>::Pending
    }));
    let mut held = pin!(lease.hold(body.as_mut(), OnLost::Continue));
    let polled = held.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    let cancelled = BodyOutcome::Cancelled(LeaseEnd::Revoked);
    assert_eq!(polled, Poll::Ready(cancelled));
}
