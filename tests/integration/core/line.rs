//! Callers of one process in line, and callers of others beside them, on real servers.

use std::future::Future;
use std::time::Duration;

use redlock_core::Request;
use redlock_core::lease::Released;
use redlock_core::request::{Note, RetryLimit};
use redlock_tests::{Nodes, RedisNode, drop_after};

use crate::core::fixture::{SOON, client, settle, stand_in_line, start, unhurried};

const AN_HOUR: Duration = Duration::from_secs(60 * 60);

/// Waits for ever, and by itself asks again in an hour only. The lock is as good as new for a tenth
/// of its ttl, which is longer than a test takes.
fn waiting(fencing: bool) -> Request {
    Request::new("r")
        .ttl(AN_HOUR)
        .retry_limit(RetryLimit::Forever)
        .retry_delay(AN_HOUR)
        .fencing(fencing)
}

async fn soon<F: Future>(future: F) -> F::Output {
    let done = tokio::time::timeout(SOON, future).await;
    done.expect("it takes milliseconds")
}

/// How many commands each server has served that have to do with locks.
fn served(nodes: &Nodes) -> Vec<u64> {
    let commands = ["set", "del", "eval", "evalsha"];
    let count = |node: &RedisNode| commands.iter().map(|command| node.calls(command)).sum();
    nodes.iter().map(count).collect()
}

#[tokio::test]
async fn a_lock_is_taken_over_without_a_message() {
    for fencing in [false, true] {
        let (nodes, set) = start(3).await;
        let client = unhurried();
        let request = waiting(fencing);
        let mut holder = client.acquire(&set, &request).await.unwrap();
        client.flush(&set, SOON).await;
        let before = served(&nodes);
        for _ in 0..10 {
            let next = stand_in_line(&client, &set, &request);
            let token = holder.fencing_token().map(u64::from);
            assert_eq!(holder.release().await, Released::HandedOver);
            holder = soon(next).await.unwrap();
            let next = holder.fencing_token().map(u64::from);
            assert_eq!(next, token.map(|token| token + 1));
        }
        assert_eq!(served(&nodes), before);
        assert_eq!(holder.release().await, Released::Confirmed);
        nodes.assert_no_lock_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_lock_is_taken_over_as_it_is_only_with_the_same_note() {
    let (nodes, set) = start(1).await;
    let client = unhurried();
    for notes in [["a", "a"], ["a", "b"], ["", "b"], ["a", ""], ["", ""]] {
        let [first, second] = notes.map(|note| waiting(false).note(Note::new(note)));
        let holder = client.acquire(&set, &first).await.unwrap();
        let before = nodes[0].get("r");
        let next = stand_in_line(&client, &set, &second);
        holder.release().await;
        let next = soon(next).await.unwrap();
        let after = nodes[0].get("r");
        assert_eq!(before == after, notes[0] == notes[1], "{notes:?}");
        assert_eq!(next.note(), Note::new(notes[1]));
        let value = String::from_utf8(after.expect("it is held")).unwrap();
        let note = value.split_once(' ').map_or("", |(_, note)| note);
        assert_eq!(note, notes[1], "{value}");
        next.release().await;
        settle(&set).await;
    }
}

#[tokio::test]
async fn a_node_that_did_not_hear_of_a_hand_over_is_released() {
    let (nodes, set) = start(3).await;
    let client = unhurried();
    let request = waiting(true);
    let holder = client.acquire(&set, &request).await.unwrap();
    client.flush(&set, SOON).await;
    // With another note, the lock is released and acquired.
    let request = request.note(Note::new("next"));
    let next = stand_in_line(&client, &set, &request);
    nodes[2].freeze();
    assert_eq!(holder.release().await, Released::HandedOver);
    let holder = soon(next).await.unwrap();
    nodes[2].thaw();
    assert_eq!(holder.release().await, Released::Confirmed);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_next_one_who_goes_away_at_any_await_leaves_nothing() {
    // With another note, the lock is released and acquired.
    for (fencing, note) in [(false, ""), (true, ""), (true, "next")] {
        let (nodes, set) = start(3).await;
        let client = unhurried();
        let (first, request) = (waiting(fencing), waiting(fencing).note(Note::new(note)));
        let mut polls = 0;
        loop {
            let holder = client.acquire(&set, &first).await.unwrap();
            let mut next = stand_in_line(&client, &set, &request);
            let behind = stand_in_line(&client, &set, &request);
            assert_eq!(holder.release().await, Released::HandedOver);
            let acquired = soon(drop_after(polls, next.as_mut())).await;
            let is_done = acquired.is_some();
            drop((acquired, next));
            // The line goes on.
            soon(behind).await.unwrap().release().await;
            nodes.assert_no_lock_keys(SOON).await;
            if is_done {
                break;
            }
            polls += 1;
        }
        assert!(polls > 0);
    }
}

#[tokio::test]
async fn a_caller_is_woken_by_a_release_in_another_process() {
    let (nodes, set) = start(3).await;
    let (here, there) = (client(), client());
    for fencing in [false, true] {
        let request = waiting(fencing);
        let holder = there.acquire(&set, &request).await.unwrap();
        let next = stand_in_line(&here, &set, &request);
        let next = tokio::spawn(next);
        holder.release().await;
        let next = soon(next).await.unwrap().unwrap();
        next.release().await;
        nodes.assert_no_lock_keys(SOON).await;
    }
}
