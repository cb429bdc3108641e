//! Tests of the faults of an in-process node.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use super::*;
use crate::env::tests::still_clock;
use crate::kinds::tests::{other, token};
use crate::kinds::{self, ProtocolArgs, any_kind, plain};
use crate::node::{Holding, NodeErrorKind, NodeSet, OwnerToken, Remaining, Vote};
use crate::testing::ask;
use crate::waiting::QuorumWatch;

const TTL: Duration = Duration::from_secs(10);

fn acquire(token: &OwnerToken) -> Call {
    plain(&"r".into()).acquire_call(token, TTL, 0)
}

fn release(token: &OwnerToken) -> Call {
    plain(&"r".into()).release_call(token, TTL, true)
}

/// Returns the answer, if it has arrived.
fn poll<T>(answer: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match answer.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn now(node: &MemoryNode, call: Call) -> Vote {
    poll(pin!(ask(node, call))).expect("an answer at once")
}

fn is_voting(node: &MemoryNode) -> bool {
    matches!(node.status(), NodeStatus::Voting)
}

#[test]
fn a_node_that_is_cut_while_it_hangs_refuses_what_it_was_asked() {
    let node = MemoryNode::new("a", still_clock().1);
    assert_eq!(now(&node, acquire(&token())), Vote::GRANTED);
    node.hang();
    let mut refused = pin!(ask(&node, acquire(&other())));
    let mut released = pin!(ask(&node, release(&token())));
    assert_eq!(poll(refused.as_mut()), None);
    assert_eq!(poll(released.as_mut()), None);
    node.cut();
    for answer in [poll(refused), poll(released)] {
        let Some(Vote::Failed(error)) = answer else {
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
    assert_eq!(now(&node, acquire(&token())), Vote::GRANTED);
    node.fail("READONLY You can't write against a read only replica.");
    let extended = now(&node, plain(&"r".into()).extend_call(&token(), TTL));
    let Vote::Failed(error) = extended else {
        panic!("{extended:?}");
    };
    assert_eq!(error.kind(), NodeErrorKind::Server);
    assert!(error.to_string().starts_with("READONLY"), "{error}");
    assert!(!is_voting(&node));
    assert_eq!(node.keys().len(), 1);

    assert!(node.drained(), "nothing is owed");
    assert!(matches!(now(&node, release(&token())), Vote::Failed(_)));
    assert_eq!(node.keys().len(), 1);
    assert!(!node.drained());
    node.restore();
    assert!(node.keys().is_empty());
    assert!(node.drained());
    assert_eq!(now(&node, acquire(&other())), Vote::GRANTED);
}

#[test]
fn a_release_is_owed_for_no_longer_than_its_keys_may_live() {
    let (clock, shared) = still_clock();
    let node = MemoryNode::new("a", shared);
    node.cut();
    now(&node, release(&token()));
    clock.advance(TTL / 2);
    now(&node, release(&other()));
    assert!(!node.drained());
    clock.advance(TTL / 2);
    now(&node, release(&token()));
    assert_eq!(node.shared.state.lock().owed.len(), 2);
    clock.advance(TTL);
    assert!(node.drained());
}

#[test]
fn a_key_that_is_no_lock_is_a_reply_and_no_failure() {
    let node = MemoryNode::new("a", still_clock().1);
    node.change(|state| state.store.zadd(b"r", 1, b"x").unwrap());
    let not_a_lock = Vote::Held(Holding::unknown(Remaining::NotALock));
    assert_eq!(now(&node, acquire(&token())), not_a_lock);
    node.delete(b"r");
    node.put(b"redlock:readers:{r}", b"no set", TTL);
    let reader = kinds::Kind::Read.protocol(&ProtocolArgs {
        keys: &"r".into(),
        prefix: b"",
        is_fenced: false,
        advice: None,
    });
    assert_eq!(
        now(&node, reader.release_call(&token(), TTL, true)),
        not_a_lock
    );
    assert!(node.drained(), "nothing is owed");
}

#[test]
fn a_forced_release_is_told_to_those_who_watch_the_key() {
    let (_, clock) = still_clock();
    let node = MemoryNode::new("a", Arc::clone(&clock));
    assert_eq!(now(&node, acquire(&token())), Vote::GRANTED);
    let nodes: NodeSet = [Arc::new(node.clone()) as Arc<dyn Node>].into();
    let watch = QuorumWatch::begin(&clock, &nodes, &"r".into());
    let has_changed = || poll(pin!(watch.until_reported())).is_some();
    assert!(has_changed(), "how it is at first");
    let holder: Box<[u8]> = token().as_bytes().into();
    now(&node, any_kind::peek(&"r".into()));
    assert!(!has_changed(), "a look is no change");
    now(
        &node,
        any_kind::force_release(&"r".into(), &[holder].into()),
    );
    assert!(has_changed());
}
