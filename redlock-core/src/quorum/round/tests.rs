//! Tests of when a round is decided.

use std::pin::Pin;
use std::task::{Context, Wake, Waker};

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::kinds::any_kind::peek;
use crate::model::resource::Resource;
use crate::node::{Holding, bit};

/// A waker whose drop reads its round, as the end of a task may.
struct Looks(Arc<Round>, Arc<AtomicBool>);

impl Wake for Looks {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.1.store(!self.0.state.is_locked(), Ordering::Relaxed);
    }
}

/// Makes a round about a question.
fn round(nodes: usize, goal: Goal) -> Arc<Round> {
    Round::new(nodes, peek(&Resource::from("r")), goal)
}

fn is_decided(round: &Round) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    Pin::new(&mut round.decided()).poll(&mut context).is_ready()
}

fn held() -> Vote {
    Vote::Held(Holding::default())
}

#[test]
fn an_attempt_is_decided_once_a_majority_granted_or_none_can() {
    let granted = || Vote::GRANTED;
    for (nodes, mut votes, is_won) in [
        (5, vec![granted(), held(), granted(), granted()], true),
        (4, vec![granted(), held(), held()], false),
    ] {
        let (round, last) = (round(nodes, Goal::Majority), votes.pop().expect("a vote"));
        let seat = votes.len();
        for (seat, vote) in votes.into_iter().enumerate() {
            round.vote(seat, vote);
        }
        assert!(!is_decided(&round));
        round.vote(seat, last);
        assert_eq!((is_decided(&round), round.tally().is_won()), (true, is_won));
    }
}

#[test]
fn a_waker_is_dropped_outside_of_the_lock() {
    let round = round(1, Goal::Majority);
    let was_free = Arc::new(AtomicBool::new(false));
    let waker = Waker::from(Arc::new(Looks(Arc::clone(&round), Arc::clone(&was_free))));
    let mut context = Context::from_waker(&waker);
    assert!(
        Pin::new(&mut round.decided())
            .poll(&mut context)
            .is_pending()
    );
    // The round now has the last handle of the waker.
    drop(waker);
    assert!(!is_decided(&round));
    assert!(was_free.load(Ordering::Relaxed));
}

#[test]
fn a_node_votes_once() {
    let round = round(3, Goal::Majority);
    round.vote(0, Vote::GRANTED);
    round.vote(0, Vote::GRANTED);
    assert_eq!(round.tally().granted, 1);
}

#[test]
fn a_reply_that_is_dropped_is_a_vote_against() {
    let round = round(1, Goal::Majority);
    drop(Submission::new(Arc::clone(&round), 0));
    assert!(is_decided(&round));
    assert_eq!(round.tally().failed, 1);
    assert!(
        round.seats().reached & bit(0) != 0,
        "nobody knows, so it has to be undone"
    );
}

#[test]
fn what_was_never_sent_needs_no_release() {
    let round = round(2, Goal::Majority);
    let refused = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
    round.vote(0, Vote::Failed(refused));
    assert_eq!(round.seats().reached & 0b11, 0b10);
}

#[test]
fn a_look_is_decided_once_a_majority_agrees_or_all_answered() {
    let by = |value: &str| Vote::Held(Holding::by(value));
    for (votes, is_decided_now) in [
        (vec![Vote::Absent, Vote::Absent], false),
        (vec![Vote::Absent, Vote::Absent, Vote::Absent], true),
        (vec![by("a"), by("a"), by("a")], true),
        (vec![by("a"), by("b"), by("a")], false),
        (vec![by("a"), by("b"), by("a"), by("b")], false),
        (vec![by("a"), by("b"), by("c")], false),
        (vec![by("a"), by("b"), by("c"), Vote::Absent], false),
        (vec![by("a"), by("b"), by("a"), by("b"), Vote::Absent], true),
    ] {
        let round = round(5, Goal::Known);
        let shown = format!("{votes:?}");
        for (seat, vote) in votes.into_iter().enumerate() {
            assert!(!is_decided(&round), "{shown}: before {seat}");
            round.vote(seat, vote);
        }
        assert_eq!(is_decided(&round), is_decided_now, "{shown}");
    }
}
