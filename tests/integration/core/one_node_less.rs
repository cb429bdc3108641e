//! Waiting for another process where one node of three does not vote, and one of the other two is still
//! to answer when an attempt is refused. The retry delay is longer than any test, so what ends a pause
//! is the wake-up.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::node::{NodeErrorKind, NodeStatus};
use redlock_core::request::RetryLimit;
use redlock_core::restart_check::{CheckedSet, RestartCheck};
use redlock_core::{Client, Lease, NodeSet, Request};
use redlock_tests::{Nodes, Proxy, RedisNode, eventually};

use crate::core::fixture::{
    SOON, client, connect_each, once, patient, stand_in_line, start, until_voting,
};
use crate::core::still_clock::StillClock;

const ROUNDS: usize = 10;
/// Of each kind, in one line.
const CALLERS: usize = 10;

fn waiting() -> Request {
    let mut request = once("r");
    request.retry.limit = RetryLimit::Forever;
    request.retry.delay = Duration::from_secs(60 * 60);
    request
}

/// For a holder: the release before has reached the nearer node, and is on its way to the other one.
fn insisting() -> Request {
    let mut request = once("r");
    request.retry.limit = RetryLimit::Forever;
    request.retry.delay = Duration::from_millis(1);
    request
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Absence {
    Dead,
    Frozen,
    Quarantined,
}

/// Three nodes. The process that waits hears of the second one when the test says so.
struct Scene {
    nodes: Nodes,
    second: Proxy,
    absence: Absence,
}

impl Scene {
    async fn new(absence: Absence) -> Self {
        let nodes = Nodes::start(3).await;
        let second = Proxy::start(&nodes[1]).await;
        match absence {
            Absence::Dead => nodes[2].kill(),
            // No marker that a restart check knows.
            Absence::Quarantined => nodes[2].set("redlock:marker", "?", None),
            Absence::Frozen => {}
        }
        Self {
            nodes,
            second,
            absence,
        }
    }

    /// The nodes as a process has them that reaches the second one at `second`.
    async fn process(&self, second: String) -> NodeSet {
        let mut third = patient();
        third.suspect_after = Duration::from_millis(50);
        if self.absence == Absence::Quarantined {
            let max_ttl = Duration::from_secs(60 * 60);
            third.checked_set = Some(Arc::new(CheckedSet::new(
                RestartCheck::Standard,
                max_ttl,
                1,
            )));
        }
        let mut urls = self.nodes.urls();
        urls[1] = second;
        connect_each(urls.into_iter().zip([patient(), patient(), third])).await
    }

    /// From here on the third node does not vote in any of `processes`.
    async fn lose_the_third(&self, processes: &[&NodeSet]) {
        if self.absence == Absence::Frozen {
            self.nodes[2].freeze();
        }
        for set in processes {
            if self.absence == Absence::Frozen {
                // What it is asked is out for too long.
                drop(client().acquire(set, &once("other")).await.unwrap());
            }
            until_voting(&set[2], false).await;
            if self.absence == Absence::Quarantined {
                let NodeStatus::Abstaining(reason) = set[2].status() else {
                    panic!("it votes");
                };
                assert_eq!(reason.kind(), NodeErrorKind::Quarantined);
            }
        }
    }

    /// How often the nearer node was asked for a release.
    fn released(&self) -> u64 {
        self.nodes[0].calls("evalsha")
    }

    async fn until_released(&self, before: u64) {
        eventually("a release", SOON, || async {
            let released = self.released();
            (released > before)
                .then_some(())
                .ok_or(released.to_string())
        })
        .await;
    }

    async fn until_looked_at(&self, before: u64) {
        eventually("a look", SOON, || async {
            let looked = self.nodes[0].calls("pttl");
            (looked > before).then_some(()).ok_or(looked.to_string())
        })
        .await;
    }
}

async fn hand_overs_wake_up(absence: Absence) {
    let scene = Scene::new(absence).await;
    let theirs = scene.process(scene.nodes[1].url()).await;
    let ours = scene.process(scene.second.url()).await;
    scene.lose_the_third(&[&theirs, &ours]).await;
    let holder = client();
    for round in 0..ROUNDS {
        // Each round has a new process. A process that has just released the lock may give way first. It
        // asks the nodes before, and the second node's answers are held back here.
        let waiter = client();
        let held = holder.acquire(&theirs, &insisting()).await.unwrap();
        let (released, looked) = (scene.released(), scene.nodes[0].calls("pttl"));
        scene.second.hold_to_client();
        let waiting = tokio::spawn({
            let ours = ours.clone();
            async move { waiter.acquire(&ours, &waiting()).await }
        });
        // The first node has refused it, which makes it impossible.
        scene.until_released(released).await;
        scene.until_looked_at(looked).await;
        scene.second.restore().await;
        held.release().await;
        let acquired = tokio::time::timeout(SOON, waiting).await;
        let acquired = acquired.unwrap_or_else(|_| panic!("{absence:?}, {round}: not woken"));
        acquired.unwrap().unwrap().release().await;
    }
}

#[tokio::test]
async fn a_dead_node_costs_those_who_wait_nothing() {
    hand_overs_wake_up(Absence::Dead).await;
}

#[tokio::test]
async fn a_frozen_node_costs_those_who_wait_nothing() {
    hand_overs_wake_up(Absence::Frozen).await;
}

#[tokio::test]
async fn a_quarantined_node_costs_those_who_wait_nothing() {
    hand_overs_wake_up(Absence::Quarantined).await;
}

/// Each of them gives up for a reason of its own: it tries once, or its time is up.
async fn waiters_are_told_that_it_is_held(absence: Absence) {
    let scene = Scene::new(absence).await;
    let theirs = scene.process(scene.nodes[1].url()).await;
    let ours = scene.process(scene.second.url()).await;
    scene.lose_the_third(&[&theirs, &ours]).await;
    let held = client().acquire(&theirs, &once("r")).await.unwrap();
    let (released, waiter) = (scene.released(), client());
    scene.second.hold_to_client();
    let first = tokio::spawn({
        let (waiter, ours) = (waiter.clone(), ours.clone());
        async move { waiter.acquire(&ours, &waiting()).await }
    });
    scene.until_released(released).await;

    let mut short = once("r");
    short.retry.limit = RetryLimit::Wait(Duration::from_millis(100));
    // Half of them are not polled until the others have been told.
    let late: Vec<_> = (0..CALLERS)
        .map(|_| stand_in_line(&waiter, &ours, &short))
        .collect();
    let released = scene.released();
    let tries: Vec<_> = (0..CALLERS)
        .map(|_| stand_in_line(&waiter, &ours, &once("r")))
        .map(tokio::spawn)
        .collect();
    // The first caller has asked again for them, and the first node has refused it.
    scene.until_released(released).await;
    scene.second.restore().await;
    for caller in tries {
        is_told_that_it_is_held(caller.await.unwrap(), absence);
    }
    for caller in late {
        is_told_that_it_is_held(caller.await, absence);
    }
    held.release().await;
    first.await.unwrap().unwrap().release().await;
}

fn is_told_that_it_is_held(result: Result<Lease, AcquireError>, absence: Absence) {
    let error = result.expect_err("another process has it");
    assert!(
        matches!(error, AcquireError::Contended(_)),
        "{absence:?}: {error}"
    );
}

#[tokio::test]
async fn those_who_wait_are_told_of_the_holder_behind_a_dead_node() {
    waiters_are_told_that_it_is_held(Absence::Dead).await;
}

#[tokio::test]
async fn those_who_wait_are_told_of_the_holder_behind_a_frozen_node() {
    waiters_are_told_that_it_is_held(Absence::Frozen).await;
}

#[tokio::test]
async fn those_who_wait_are_told_of_the_holder_behind_a_quarantined_node() {
    waiters_are_told_that_it_is_held(Absence::Quarantined).await;
}

/// No node answers the attempt in time, so none is watched, and none will tell of a release.
#[tokio::test]
async fn nodes_that_were_frozen_in_an_attempt_are_asked_again_soon() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let waiter = Client::new(clock.environment());
    nodes.iter().for_each(RedisNode::freeze);
    let mut waits = stand_in_line(&waiter, &set, &waiting());
    // The attempt fails when its time is over.
    clock.advance(Duration::from_millis(50));
    let mut context = Context::from_waker(Waker::noop());
    assert!(waits.as_mut().poll(&mut context).is_pending());
    nodes.iter().for_each(RedisNode::thaw);
    assert!(waits.as_mut().poll(&mut context).is_pending());
    clock.advance(Duration::from_secs(1));
    let acquired = tokio::time::timeout(SOON, waits).await;
    acquired.expect("no attempt").unwrap().release().await;
}
