//! Bodies whose lease ends, or whose process stands still. The clock is the test's own.

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use redlock_core::error::LeaseEnd;
use redlock_core::internal::revoke;
use redlock_core::lease::{BodyOutcome, OnLost};
use redlock_core::{Client, Lease, MemoryNode, Node, NodeSet};

use crate::core::fixture::once;
use crate::core::still_clock::StillClock;

/// A lease on in-process nodes.
struct Scene {
    clock: StillClock,
    nodes: [MemoryNode; 3],
    lease: Lease,
}

impl Scene {
    async fn new() -> Self {
        let clock = StillClock::default();
        let nodes = ["a", "b", "c"].map(|name| MemoryNode::new(name, Arc::new(clock.clone())));
        let set = nodes.iter().cloned();
        let set: NodeSet = set.map(|node| Arc::new(node) as Arc<dyn Node>).collect();
        let client = Client::new(clock.environment());
        let lease = client.acquire(&set, &once("r")).await.unwrap();
        Self {
            clock,
            nodes,
            lease,
        }
    }

    fn expire(&self) {
        self.clock.advance(self.lease.validity());
    }

    fn forget(&self) {
        self.nodes.iter().for_each(MemoryNode::begin_epoch);
        self.lease.recheck();
    }

    fn lose(&self) {
        self.lease.lose_keys();
    }
}

fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Epochs of one node after another never end a lease that is extended between them.
#[tokio::test]
async fn an_extension_that_won_is_the_new_proof() {
    let scene = Scene::new().await;
    for node in &scene.nodes {
        node.begin_epoch();
        scene.lease.extend(Duration::from_secs(60)).await.unwrap();
        scene.lease.recheck();
        assert_eq!(scene.lease.over(), None);
    }
}

/// The holder is told that the lease has expired, whatever happens to its keys later.
#[tokio::test]
async fn nothing_is_lost_behind_the_deadline() {
    for lose in [Scene::forget, Scene::lose] {
        let scene = Scene::new().await;
        scene.expire();
        lose(&scene);
        assert_eq!(scene.lease.lost().await, LeaseEnd::Expired);
    }
}

/// Also `OnLost::Continue` ends at a shutdown, whatever the lease ended by before.
#[tokio::test]
async fn a_body_that_continues_is_cancelled_by_a_revocation() {
    type Loss = (fn(&Scene), LeaseEnd);
    let losses: [Loss; 4] = [
        (Scene::expire, LeaseEnd::Expired),
        (Scene::lose, LeaseEnd::Taken(None)),
        (Scene::forget, LeaseEnd::Forgotten),
        (|_| {}, LeaseEnd::Revoked),
    ];
    for (lose, over) in losses {
        let scene = Scene::new().await;
        let mut body = pin!(pending::<()>());
        let mut held = pin!(scene.lease.hold(body.as_mut(), OnLost::Continue));
        assert!(poll(held.as_mut()).is_pending());
        lose(&scene);
        assert!(poll(held.as_mut()).is_pending(), "{over}: it goes on");
        revoke(&scene.lease);
        let cancelled = Poll::Ready(BodyOutcome::Cancelled(LeaseEnd::Revoked));
        assert_eq!(poll(held.as_mut()), cancelled, "{over}");
        assert_eq!(scene.lease.over(), Some(over), "it ended by the first");
    }
}

/// The body has not waited yet, so nothing would wake it later.
#[tokio::test]
async fn a_body_that_continues_is_cancelled_if_it_began_revoked() {
    let scene = Scene::new().await;
    let mut body = pin!(poll_fn(|_| {
        scene.expire();
        revoke(&scene.lease);
        Poll::<()>::Pending
    }));
    let held = pin!(scene.lease.hold(body.as_mut(), OnLost::Continue));
    let cancelled = BodyOutcome::Cancelled(LeaseEnd::Revoked);
    assert_eq!(poll(held), Poll::Ready(cancelled));
}

#[tokio::test]
async fn a_body_that_wakes_up_behind_its_deadline_is_not_polled() {
    for (jump, expected) in [(Duration::ZERO, 2), (Duration::from_secs(60), 1)] {
        let scene = Scene::new().await;
        let polls = Cell::new(0);
        let (wake, mut woken) = tokio::sync::oneshot::channel::<()>();
        let mut body = pin!(poll_fn(|context| {
            polls.set(polls.get() + 1);
            pin!(&mut woken).poll(context).map(|_| ())
        }));
        let mut held = pin!(scene.lease.hold(body.as_mut(), OnLost::Cancel));
        let waits = poll_fn(|context| Poll::Ready(held.as_mut().poll(context).is_pending())).await;
        assert!(waits);
        // The host sleeps; what wakes it up first is the body's own event.
        scene.clock.jump(jump);
        wake.send(()).unwrap();
        let outcome = held.await;
        assert_eq!(polls.get(), expected);
        let is_done = matches!(outcome, BodyOutcome::Done(()));
        assert_eq!(is_done, expected == 2, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_body_that_ends_in_a_late_poll_returns_its_value() {
    let scene = Scene::new().await;
    let mut body = pin!(poll_fn(|_| {
        // It blocks its thread past the deadline.
        scene.clock.jump(Duration::from_secs(60));
        Poll::Ready("late")
    }));
    let held = pin!(scene.lease.hold(body.as_mut(), OnLost::Cancel));
    let late = BodyOutcome::Late("late", LeaseEnd::Expired);
    assert_eq!(poll(held), Poll::Ready(late));
}
