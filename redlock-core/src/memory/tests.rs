//! How an in-process node misbehaves when it is told to.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::env::Entropy;
use crate::env::still_clock::still_clock;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeErrorKind;
use crate::node::operation::Want;
use crate::quorum::round::{Goal, Round};
use crate::testing::ask;

const TTL: Duration = Duration::from_secs(10);

struct Fixed(u8);

impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(self.0);
    }
}

fn operation(token: u8, want: Want) -> Operation {
    Operation::new(
        Resource::from("r"),
        OwnerToken::draw("other/1", &Fixed(token)),
        want,
    )
}

fn acquire(token: u8) -> Operation {
    operation(token, Want::Acquire { ttl: TTL, hint: 0 })
}

fn release(token: u8) -> Operation {
    operation(token, Want::Release { ttl: TTL })
}

/// The answer, if it has arrived.
fn poll(answer: std::pin::Pin<&mut impl Future<Output = Answer>>) -> Option<Answer> {
    match answer.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn now(node: &MemoryNode, operation: Operation) -> Answer {
    poll(pin!(ask(node, operation))).expect("an answer at once")
}

fn is_voting(node: &MemoryNode) -> bool {
    matches!(node.status(), NodeStatus::Voting)
}

#[test]
fn a_node_that_hangs_serves_what_came_meanwhile_in_order_once_it_is_restored() {
    let node = MemoryNode::new("a", still_clock().1);
    node.hang();
    assert!(!is_voting(&node));
    let mut first = pin!(ask(&node, acquire(1)));
    let mut second = pin!(ask(&node, acquire(2)));
    let mut undone = pin!(ask(&node, release(1)));
    let mut third = pin!(ask(&node, acquire(3)));
    assert_eq!(poll(first.as_mut()), None);
    assert_eq!(poll(second.as_mut()), None);
    assert_eq!(poll(undone.as_mut()), None);
    assert_eq!(poll(third.as_mut()), None);
    assert!(node.keys().is_empty());

    node.restore();
    assert!(is_voting(&node));
    assert_eq!(poll(first), Some(Answer::GRANTED));
    assert!(matches!(poll(second), Some(Answer::Held(_))));
    assert_eq!(poll(undone), Some(Answer::GRANTED));
    assert_eq!(poll(third), Some(Answer::GRANTED));
}

#[test]
fn a_caller_who_gave_up_on_a_node_that_hangs_leaves_nothing_there() {
    let node = MemoryNode::new("a", still_clock().1);
    node.hang();
    for operation in [acquire(1), release(1)] {
        assert_eq!(poll(pin!(ask(&node, operation))), None);
    }
    node.restore();
    assert!(node.keys().is_empty());
}

#[test]
fn a_node_that_is_cut_while_it_hangs_refuses_what_it_was_asked() {
    let node = MemoryNode::new("a", still_clock().1);
    assert_eq!(now(&node, acquire(1)), Answer::GRANTED);
    node.hang();
    let mut refused = pin!(ask(&node, acquire(2)));
    let mut released = pin!(ask(&node, release(1)));
    assert_eq!(poll(refused.as_mut()), None);
    assert_eq!(poll(released.as_mut()), None);
    node.cut();
    for answer in [poll(refused), poll(released)] {
        let Some(Answer::Failed(error)) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(error.kind(), NodeErrorKind::NotConnected);
    }
    assert_eq!(node.keys().len(), 1, "it did not come through");
    node.restore();
    assert!(node.keys().is_empty(), "and does now");
}

#[test]
fn a_node_that_fails_answers_the_error_and_keeps_what_it_holds() {
    let node = MemoryNode::new("a", still_clock().1);
    assert_eq!(now(&node, acquire(1)), Answer::GRANTED);
    node.fail("READONLY You can't write against a read only replica.");
    let extended = now(&node, operation(1, Want::Extend { ttl: TTL }));
    let Answer::Failed(error) = extended else {
        panic!("{extended:?}");
    };
    assert_eq!(error.kind(), NodeErrorKind::Server);
    assert!(error.to_string().starts_with("READONLY"), "{error}");
    assert!(!is_voting(&node));
    assert_eq!(node.keys().len(), 1);

    let barrier = || {
        let round = Round::new(1, Goal::All);
        let reply = Reply::new(Arc::clone(&round), 0);
        node.submit_on(0, Arc::new(release(9)), reply);
        round.answers().pop().flatten()
    };
    assert_eq!(barrier(), Some(Answer::Absent), "nothing is owed");
    assert!(matches!(now(&node, release(1)), Answer::Failed(_)));
    assert_eq!(node.keys().len(), 1);
    assert!(matches!(barrier(), Some(Answer::Failed(_))));
    node.restore();
    assert!(node.keys().is_empty());
    assert_eq!(barrier(), Some(Answer::Absent));
    assert_eq!(now(&node, acquire(2)), Answer::GRANTED);
}

#[test]
fn a_set_that_was_answered_with_an_error_leaves_nothing_to_release() {
    let node = MemoryNode::new("a", still_clock().1);
    node.fail("OOM command not allowed when used memory > 'maxmemory'.");
    let was_sent = |operation| match now(&node, operation) {
        Answer::Failed(error) => error.was_sent(),
        other => panic!("{other:?}"),
    };
    assert!(!was_sent(acquire(1)));
    let both = Resource::all(["a", "b"]);
    let want = Want::Acquire { ttl: TTL, hint: 0 };
    assert!(was_sent(Operation::new(
        both,
        OwnerToken::draw("other/1", &Fixed(2)),
        want
    )));
}
