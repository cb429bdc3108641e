//! The claim on permits, and nodes that answer late.

use parking_lot::Mutex;

use super::*;
use crate::env::Moment;
use crate::env::still_clock::still_clock;
use crate::node::{
    Answer, Effect, Node, NodeError, NodeErrorKind, NodeSet, NodeStatus, Reply, Value,
};
use crate::quorum::claim::Claim;

const TTL: Duration = Duration::from_secs(10);

/// A node that answers when the test says so.
#[derive(Default)]
struct Slow {
    /// The names of the keys of each release that it was sent.
    releases: Mutex<Vec<Vec<String>>>,
    unanswered: Mutex<Option<(Arc<Call>, Reply)>>,
}

impl Node for Slow {
    fn name(&self) -> &'static str {
        "a"
    }

    fn submit(&self, call: Arc<Call>, reply: Reply) {
        let name = |name| String::from_utf8_lossy(name).into_owned();
        match call.effect() {
            Effect::Takes => *self.unanswered.lock() = Some((call, reply)),
            Effect::Undoes(_) => self.releases.lock().push(call.keys().map(name).collect()),
            other => panic!("{other:?}"),
        }
    }

    fn drained(&self) -> bool {
        self.unanswered.lock().is_none()
    }

    fn status(&self) -> NodeStatus {
        NodeStatus::Voting
    }
}

impl Slow {
    /// Grants `permit`, while the others are held, or refuses all of them.
    fn answer(&self, permit: Option<u16>) {
        let (call, reply) = self.unanswered.lock().take().expect("an acquisition");
        let taken = permit.map(name);
        let is_taken = |key| taken.as_ref().is_some_and(|name| name.as_bytes() == key);
        let bit = |key| if is_taken(key) { b'1' } else { b'0' };
        let free: Vec<_> = call.keys().map(bit).collect();
        let value = Value::List(vec![
            Value::Int(i64::from(taken.is_some())),
            Value::text(free),
            Value::Int(-3),
            Value::Nil,
        ]);
        reply.answer(Answer::Reply { value, epoch: 0 });
    }

    fn fail(&self, error: NodeError) {
        let (_, reply) = self.unanswered.lock().take().expect("an acquisition");
        reply.answer(Answer::Failed(error));
    }

    /// The releases since the last look.
    fn released(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut *self.releases.lock())
    }
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
    let permits = Arc::new(permits("r", 3, ""));
    let in_time = (still_clock().1, Moment::from_origin(TTL));
    let (claim, acquisition) = Claim::acquire(&nodes, permits, golden::token(), TTL, in_time, 0);
    slow[0].answer(Some(1));
    slow[1].answer(Some(1));
    let narrowed = claim.narrow(&acquisition).expect("it has won");
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
    nodes[2].answer(Some(1));
    assert!(nodes.iter().all(|node| node.released().is_empty()));
    claim.release();
    for node in &nodes {
        assert_eq!(node.released(), [names(&[1])]);
    }
}

#[test]
fn a_late_node_that_answers_otherwise_is_sent_the_release_of_the_others_at_once() {
    let answers: [fn(&Slow); 4] = [
        |node| node.answer(Some(0)),
        |node| node.answer(Some(2)),
        |node| node.answer(None),
        |node| node.fail(NodeError::sent(NodeErrorKind::Disconnected, "gone")),
    ];
    for answer in answers {
        let (claim, nodes) = won();
        answer(&nodes[2]);
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
    nodes[2].fail(NodeError::unsent(NodeErrorKind::NotConnected, "not there"));
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
    nodes[2].answer(Some(2));
    drop(claim);
    assert!(nodes.iter().all(|node| node.released().is_empty()));
}

#[test]
fn an_answer_that_comes_when_the_claim_is_gone_changes_nothing() {
    let (claim, nodes) = won();
    drop(claim);
    assert_eq!(nodes[2].released(), [names(&[0, 1, 2])]);
    nodes[2].answer(Some(2));
    assert!(nodes[2].released().is_empty());
}
