//! Tests of the gate, and of the time that counts.

use std::task::Waker;

use tokio::time::Instant;

use super::*;
use crate::env::tests::still_clock;
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::{Call, NodeStatus, Value};
use crate::quorum::round::{Goal, Round};
use crate::waiting::tests::Woken;

fn inbox(time: LibraryTime) -> Inbox {
    let log = NodeLog::new("a".into(), still_clock().1);
    Inbox::new(log, RedisOptions::default(), Arc::default(), time)
}

/// Returns the reason of a node whose restart check is under way.
fn looked_at() -> NodeError {
    NodeError::unsent(NodeErrorKind::Quarantined, "its restart check is under way")
}

/// Creates the inbox of a node that votes.
fn open() -> Inbox {
    let inbox = inbox(LibraryTime::default());
    inbox.open(looked_at(), None);
    inbox.quarantine(None, true);
    inbox
}

/// Takes the calls that the driver has to send.
fn take(inbox: &Inbox) -> Vec<QueuedCall> {
    let mut batch = Batch::default();
    inbox.take_batch(&mut batch, 0, Waker::noop());
    batch.calls
}

/// Returns the reason why the node abstains.
fn objection(inbox: &Inbox) -> Option<NodeErrorKind> {
    match inbox.status() {
        NodeStatus::Voting => None,
        NodeStatus::Abstaining(error) => Some(error.kind()),
    }
}

const TTL: Duration = Duration::from_secs(60);

fn token() -> OwnerToken {
    let io = crate::IoThread::start().unwrap();
    OwnerToken::draw("web-7/3121", &*io.environment().entropy)
}

fn release() -> Call {
    plain(&Resource::from("r")).release_call(&token(), TTL, true)
}

fn submit(inbox: &Inbox, call: &Call) -> Arc<Round> {
    let round = Round::new(1, call.clone(), Goal::All);
    round.send_to(inbox, 0);
    round
}

#[test]
fn leaving_a_suspicion_does_not_end_a_quarantine() {
    let inbox = open();
    let reason = || Some(NodeError::unsent(NodeErrorKind::Quarantined, "flushed"));
    for is_suspect_first in [true, false] {
        if is_suspect_first {
            inbox.suspect(Duration::from_secs(1));
            inbox.quarantine(reason(), true);
        } else {
            inbox.quarantine(reason(), true);
            inbox.suspect(Duration::from_secs(1));
        }
        assert_eq!(objection(&inbox), Some(NodeErrorKind::Quarantined));
        inbox.trust();
        assert_eq!(objection(&inbox), Some(NodeErrorKind::Quarantined));
        inbox.quarantine(None, true);
        assert_eq!(objection(&inbox), None);
    }
    inbox.quarantine(reason(), true);
    inbox.suspect(Duration::from_secs(1));
    inbox.quarantine(None, true);
    let timed_out = Some(NodeErrorKind::TimedOut);
    assert_eq!(objection(&inbox), timed_out, "nor the other way round");
}

#[test]
fn a_driver_that_looks_late_names_its_own_process() {
    let inbox = open();
    let text = || inbox.status().to_string();
    let after = inbox.options.suspect_after;
    for (overdue, is_late) in [(after * 2, true), (after * 3, false)] {
        inbox.suspect(overdue);
        assert_eq!(text().contains(STOOD_STILL), is_late, "{}", text());
    }
    inbox.trust();
    inbox.suspect(after);
    assert!(!text().contains(STOOD_STILL), "{}", text());
}

#[test]
fn a_refused_server_stays_refused_until_its_restart_check() {
    let inbox = open();
    for kind in [NodeErrorKind::Refused, NodeErrorKind::Denied] {
        inbox.close(&NodeError::unsent(kind, "a twin, or no permission"));
        inbox.open(looked_at(), None);
        assert_eq!(objection(&inbox), Some(kind));
        inbox.quarantine(None, true);
        assert_eq!(objection(&inbox), None);
    }
}

#[test]
fn a_driver_that_takes_over_refuses_nothing_before_its_check() {
    let inbox = open();
    inbox.open(looked_at(), None);
    assert_eq!(objection(&inbox), None);
    // A node in quarantine does not begin to vote.
    inbox.quarantine(Some(looked_at()), true);
    inbox.open(looked_at(), None);
    assert_eq!(objection(&inbox), Some(NodeErrorKind::Quarantined));
}

#[test]
fn a_node_in_quarantine_is_sent_releases() {
    let inbox = open();
    let error = NodeError::unsent(NodeErrorKind::Quarantined, "flushed");
    inbox.quarantine(Some(error), true);
    let release = submit(&inbox, &release());
    assert_eq!(release.tally().failed, 0);
    assert_eq!(take(&inbox).len(), 1);
}

#[test]
fn a_release_is_owed_by_the_time_of_the_library() {
    let library = crate::IoThread::start().unwrap();
    let made = || inbox(library.time());
    // First a caller whose clock was moved by a test.
    let mut caller = tokio::runtime::Builder::new_current_thread();
    let caller = caller.enable_time().start_paused(true).build().unwrap();
    caller.block_on(tokio::time::advance(Duration::from_secs(3600)));
    let owing = made();
    caller.block_on(async { submit(&owing, &release()) });
    let now = Instant::from_std(std::time::Instant::now());
    assert!(owing.owes(now), "kept");
    assert!(!owing.owes(now + TTL), "and dropped");
    // Then a caller at the end of its thread, where entering a runtime fails.
    let at_the_end = Arc::new(made());
    let its = Arc::clone(&at_the_end);
    std::thread::spawn(move || {
        struct Releases(Arc<Inbox>);
        impl Drop for Releases {
            fn drop(&mut self) {
                submit(&self.0, &release());
            }
        }
        thread_local! {
            static LAST: std::cell::RefCell<Option<Releases>> = const { std::cell::RefCell::new(None) };
        }
        LAST.set(Some(Releases(its)));
        // Make tokio create its thread-local data now. It is destroyed first, because it was created last.
        drop(tokio::runtime::Handle::try_current());
    })
    .join()
    .unwrap();
    assert_eq!(at_the_end.take_owed(|_| true).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn errors_from_a_while_ago_say_nothing_of_the_node() {
    let inbox = open();
    inbox.record_error_streak(Some(&NodeError::server(b"OOM command not allowed")));
    assert_eq!(objection(&inbox), Some(NodeErrorKind::Server));
    tokio::time::advance(STREAK_COUNTS_FOR).await;
    assert_eq!(objection(&inbox), None);
}

#[test]
fn a_release_is_waited_for_at_each_step_of_a_connections_end() {
    let (inbox, release) = (open(), release());
    submit(&inbox, &release);
    let calls = take(&inbox);
    assert!(!inbox.drained(), "unanswered");
    let error = NodeError::sent(NodeErrorKind::Disconnected, "connection reset");
    inbox.close(&error);
    assert!(!inbox.drained(), "neither answered nor owed yet");
    inbox.lose(calls, &error);
    assert!(!inbox.drained(), "owed");
}

/// Permits send two releases of one owner: one for permits that were not won, and one at the end of the lease.
#[test]
fn a_key_that_was_put_back_says_nothing_of_a_lost_acquisition() {
    for is_put_back in [false, true] {
        let (inbox, lock, owner) = (open(), plain(&Resource::from("r")), token());
        let sent = |call: Call| {
            submit(&inbox, &call);
            take(&inbox)
        };
        let error = NodeError::sent(NodeErrorKind::Disconnected, "it does not answer");
        inbox.lose(sent(lock.acquire_call(&owner, TTL, 0)), &error);
        let early = sent(lock.release_call(&owner, TTL, true));
        assert!(inbox.owe_if_lost(&early[0], false), "nothing was there");
        if is_put_back {
            sent(lock.restore_call(&owner, TTL));
        }
        inbox.send_owed(Instant::now() + TTL * 2);
        assert!(take(&inbox).is_empty(), "its ttl has passed");
        let released = sent(lock.release_call(&owner, TTL, true));
        assert_eq!(inbox.owe_if_lost(&released[0], true), is_put_back);
    }
}

#[test]
fn a_huge_key_is_forgotten_after_a_short_answer() {
    let (lock, mut keys) = (plain(&Resource::from("r")), HugeKeys::default());
    let (taken, released) = (lock.acquire_call(&token(), TTL, 0), release());
    keys.note(&taken, &Value::text(*b"web-7/3121/ab"));
    assert!(!keys.has_any_of(&taken));
    keys.note(&taken, &Value::text([b'x'; 1000]));
    keys.note(&released, &Value::Int(0));
    assert!(keys.has_any_of(&released));
    keys.note(&taken, &Value::Nil);
    assert!(!keys.has_any_of(&taken));
}

#[test]
fn the_end_of_a_node_is_seen_at_a_look_or_wakes_the_driver() {
    let (inbox, driver) = (open(), Arc::new(Woken::default()));
    let (mut batch, waker) = (Batch::default(), Waker::from(Arc::clone(&driver)));
    inbox.take_batch(&mut batch, 0, &waker);
    assert!(!batch.has_ended);
    submit(&inbox, &release());
    assert_eq!(driver.take(), 1);
    // The driver looks, and then the node is dropped.
    inbox.take_batch(&mut batch, 0, &waker);
    assert!(!batch.has_ended && batch.calls.len() == 1);
    inbox.end();
    assert_eq!(driver.take(), 1);
    batch.calls.clear();
    inbox.take_batch(&mut batch, 0, &waker);
    assert!(batch.has_ended && batch.calls.is_empty());
}
