//! Waiting for another process where one node of three does not vote, and the other two do not answer
//! at one moment. The retry delay is longer than any test, so what ends a pause is the wake-up.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::guard::{Fleet, RestartGuard};
use redlock_core::{NodeErrorKind, NodeSet, NodeStatus, Request, RetryLimit};
use redlock_tests::redis::Value;
use redlock_tests::{Nodes, Proxy, RedisNode, eventually};

use crate::core::fixture::{SOON, client, connect_each, once, patient, until_voting};

const ROUNDS: usize = 10;

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

/// Three nodes, the second of which is a little further away.
struct Scene {
    nodes: Nodes,
    distant: Proxy,
    absence: Absence,
}

impl Scene {
    async fn new(absence: Absence) -> Self {
        let nodes = Nodes::start(3).await;
        let distant = Proxy::start(&nodes[1]).await;
        distant.delay(Duration::from_micros(500));
        match absence {
            Absence::Dead => nodes[2].kill(),
            // No marker that a guard knows.
            Absence::Quarantined => nodes[2].set("redlock:marker", "?", None),
            Absence::Frozen => {}
        }
        Self {
            nodes,
            distant,
            absence,
        }
    }

    /// The nodes of a process that knows of the third one.
    async fn process(&self) -> NodeSet {
        let mut third = patient();
        third.suspect_after = Duration::from_millis(50);
        if self.absence == Absence::Quarantined {
            let max_ttl = Duration::from_secs(60 * 60);
            third.fleet = Some(Arc::new(Fleet::new(RestartGuard::Standard, max_ttl, 1)));
        }
        let mut urls = self.nodes.urls();
        urls[1] = self.distant.url();
        let options = [patient(), patient(), third];
        let set = connect_each(urls.into_iter().zip(options)).await;
        if self.absence == Absence::Frozen {
            self.nodes[2].freeze();
            // What it is asked is out for too long.
            drop(client().acquire(&set, &once("other")).await.unwrap());
        }
        until_voting(&set[2], false).await;
        if self.absence == Absence::Quarantined {
            let NodeStatus::Abstaining(reason) = set[2].status() else {
                panic!("it votes");
            };
            assert_eq!(reason.kind(), NodeErrorKind::Quarantined);
        }
        if self.absence == Absence::Frozen {
            // For the next process to connect.
            self.nodes[2].thaw();
        }
        set
    }
}

/// How often somebody has asked the node for how long a key is there.
fn looks(node: &RedisNode) -> u64 {
    let Value::BulkString(text) = node.command(["INFO", "commandstats"]) else {
        panic!("some text");
    };
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().find(|line| line.starts_with("cmdstat_pttl:"));
    let calls = line.and_then(|line| line.split(['=', ',']).nth(1));
    calls.map_or(0, |calls| calls.parse().unwrap())
}

async fn hand_overs_wake_up(absence: Absence) {
    let scene = Scene::new(absence).await;
    let (theirs, ours) = (scene.process().await, scene.process().await);
    if absence == Absence::Frozen {
        scene.nodes[2].freeze();
    }
    let (holder, waiter) = (client(), client());
    for round in 0..ROUNDS {
        let held = holder.acquire(&theirs, &insisting()).await.unwrap();
        let before = [0, 1].map(|node| looks(&scene.nodes[node]));
        let waiting = tokio::spawn({
            let (waiter, ours) = (waiter.clone(), ours.clone());
            async move { waiter.acquire(&ours, &waiting()).await }
        });
        // It was refused, and pauses.
        for node in [0, 1] {
            eventually("the waiter to look", SOON, || async {
                let looks = looks(&scene.nodes[node]);
                (looks > before[node])
                    .then_some(())
                    .ok_or_else(|| looks.to_string())
            })
            .await;
        }
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
