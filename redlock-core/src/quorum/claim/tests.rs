//! The claim on permits, and nodes that answer late.

use std::collections::BTreeSet;

use super::*;
use crate::env::Entropy;
use crate::env::still_clock::still_clock;
use crate::node::{Holding, Node, NodeError, NodeErrorKind, NodeStatus, PermitReport, Reply, Vote};
use crate::quorum::permits::PermitKeys;

const TTL: Duration = Duration::from_secs(10);

/// A node that answers when the test says so.
#[derive(Default)]
struct Slow {
    /// The names of the keys of each release that it was sent.
    releases: Mutex<Vec<Vec<String>>>,
    unanswered: Mutex<Option<Reply>>,
}

impl Node for Slow {
    fn name(&self) -> &'static str {
        "a"
    }

    fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        let names = operation.keys().names();
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        match operation.want() {
            Want::AcquirePermit { .. } => *self.unanswered.lock() = Some(reply),
            Want::Release { .. } => self.releases.lock().push(names.collect()),
            other => panic!("{other:?}"),
        }
    }

    fn status(&self) -> NodeStatus {
        NodeStatus::Voting
    }
}

impl Slow {
    fn answer(&self, answer: Vote) {
        let reply = self.unanswered.lock().take().expect("an acquisition");
        reply.answer(answer);
    }

    /// The releases since the last look.
    fn released(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut *self.releases.lock())
    }

    fn is_retracted(&self) -> bool {
        self.unanswered
            .lock()
            .as_ref()
            .expect("no answer")
            .is_retracted()
    }
}

struct Fixed;

impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(1);
    }
}

fn granted(permit: u16) -> Vote {
    Vote::Granted {
        counter: None,
        epoch: 0,
        permits: Some(Arc::new(PermitReport {
            taken: Some(permit),
            ..PermitReport::default()
        })),
    }
}

fn failed(was_sent: bool) -> Vote {
    let error = if was_sent {
        NodeError::sent(NodeErrorKind::Disconnected, "gone")
    } else {
        NodeError::unsent(NodeErrorKind::NotConnected, "not there")
    };
    Vote::Failed(error)
}

fn name(permit: u16) -> String {
    match permit {
        0 => "r".to_owned(),
        _ => format!("redlock:permit:{permit}:{{r}}"),
    }
}

/// The names of the keys, in their order.
fn names(permits: &[u16]) -> Vec<String> {
    let mut names: Vec<_> = permits.iter().copied().map(name).collect();
    names.sort();
    names
}

/// A claim on the permit 1 of three, which two of three nodes granted. The third one has not answered.
fn won() -> (Arc<Claim>, Vec<Arc<Slow>>) {
    let slow: Vec<_> = (0..3).map(|_| Arc::new(Slow::default())).collect();
    let nodes: NodeSet = slow
        .iter()
        .map(|node| Arc::clone(node) as Arc<dyn Node>)
        .collect();
    let keys = PermitKeys::new(&Resource::from("r"), 3, b"");
    let token = OwnerToken::draw("web/1", &Fixed);
    let order = keys.order(&BTreeSet::new(), &token);
    let (_, clock) = still_clock();
    let in_time = (clock, Moment::from_origin(TTL));
    let (claim, acquisition) =
        Claim::acquire_permit(&nodes, keys.all(), order, token, TTL, in_time);
    slow[0].answer(granted(1));
    slow[1].answer(granted(1));
    let narrowed = claim.narrow(keys.of(1).unwrap(), &acquisition);
    drop(claim);
    for node in &slow {
        assert_eq!(
            node.released(),
            Vec::<Vec<String>>::new(),
            "nothing is to be undone"
        );
    }
    (narrowed, slow)
}

#[test]
fn a_late_node_that_grants_the_same_permit_is_sent_one_release() {
    let (claim, nodes) = won();
    nodes[2].answer(granted(1));
    assert!(nodes.iter().all(|node| node.released().is_empty()));
    claim.release();
    for node in &nodes {
        assert_eq!(node.released(), [names(&[1])]);
    }
}

#[test]
fn a_late_node_that_answers_otherwise_is_sent_the_release_of_the_others_at_once() {
    let refused = || Vote::Held(Holding::default());
    for answer in [granted(0), granted(2), refused(), failed(true)] {
        let (claim, nodes) = won();
        nodes[2].answer(answer);
        assert_eq!(nodes[2].released(), [names(&[0, 2])]);
        drop(claim);
        for node in &nodes {
            assert_eq!(node.released(), [names(&[1])]);
        }
    }
}

#[test]
fn a_late_node_that_the_acquisition_never_reached_is_sent_nothing() {
    let (claim, nodes) = won();
    nodes[2].answer(failed(false));
    drop(claim);
    assert!(nodes[2].released().is_empty());
}

#[test]
fn a_claim_that_ends_before_a_node_answers_releases_all_permits_there_and_once() {
    let (claim, nodes) = won();
    claim.release();
    for node in &nodes[..2] {
        assert_eq!(node.released(), [names(&[1])]);
    }
    assert_eq!(nodes[2].released(), [names(&[0, 1, 2])]);
    nodes[2].answer(granted(2));
    drop(claim);
    assert!(nodes.iter().all(|node| node.released().is_empty()));
}

#[test]
fn an_answer_that_comes_when_the_claim_is_gone_changes_nothing() {
    let (claim, nodes) = won();
    drop(claim);
    assert_eq!(nodes[2].released(), [names(&[0, 1, 2])]);
    nodes[2].answer(granted(2));
    assert!(nodes[2].released().is_empty());
}

/// A server of a Redis Cluster may redirect it.
#[test]
fn a_late_acquisition_may_be_sent_again_until_its_release_is_sent() {
    let (claim, nodes) = won();
    assert!(!nodes[2].is_retracted());
    claim.release();
    assert!(nodes[2].is_retracted());
}
