//! Callers of one process in line, and callers of others beside them, on real servers.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redlock_core::Request;
use redlock_core::lease::Released;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, RedisNode, drop_after};

use crate::core::fixture::{SOON, client, stand_in_line, start, unhurried};

const AN_HOUR: Duration = Duration::from_secs(60 * 60);

/// Waits for ever, and by itself asks again in an hour only. The lock is as good as new for a tenth
/// of its ttl, which is longer than a test takes.
fn waiting(fencing: bool) -> Request {
    let mut request = Request::new("r").ttl(AN_HOUR);
    request.retry.limit = RetryLimit::Forever;
    request.retry.delay = AN_HOUR;
    request.fencing = fencing;
    request
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
    let (nodes, set) = start(3).await;
    let client = unhurried();
    let request = waiting(false);
    let mut holder = client.acquire(&set, &request).await.unwrap();
    client.flush(&set, SOON).await;
    let before = served(&nodes);
    for _ in 0..10 {
        let next = stand_in_line(&client, &set, &request);
        assert_eq!(holder.release().await, Released::HandedOver);
        holder = soon(next).await.unwrap();
    }
    assert_eq!(served(&nodes), before);
    assert_eq!(holder.release().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_node_that_did_not_hear_of_a_hand_over_is_released() {
    let (nodes, set) = start(3).await;
    let client = unhurried();
    let request = waiting(true);
    let holder = client.acquire(&set, &request).await.unwrap();
    client.flush(&set, SOON).await;
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
    for fencing in [false, true] {
        let (nodes, set) = start(3).await;
        let client = unhurried();
        let request = waiting(fencing);
        let mut polls = 0;
        loop {
            let holder = client.acquire(&set, &request).await.unwrap();
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
async fn a_caller_that_pauses_is_woken_by_a_release_in_another_process() {
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

#[tokio::test]
async fn many_callers_of_many_processes_exclude_each_other_and_all_have_their_turn() {
    const PROCESSES: usize = 3;
    const CALLERS: usize = 8;
    const TIMES: usize = 10;
    let (nodes, set) = start(3).await;
    let is_held = Arc::new(AtomicBool::new(false));
    let (done, mut turns) = tokio::sync::mpsc::unbounded_channel();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..PROCESSES {
        let client = client();
        for caller in 0..CALLERS {
            let (client, set) = (client.clone(), set.clone());
            let (is_held, done) = (Arc::clone(&is_held), done.clone());
            callers.spawn(async move {
                for time in 0..TIMES {
                    let mut request = waiting((caller + time) % 3 == 0);
                    // Processes that ask at one moment may spoil it for each other.
                    request.retry.delay = Duration::from_millis(50);
                    let lease = client.acquire(&set, &request).await.unwrap();
                    assert!(!is_held.swap(true, Ordering::SeqCst), "there are two");
                    tokio::task::yield_now().await;
                    assert!(!lease.validity().is_zero());
                    is_held.store(false, Ordering::SeqCst);
                    lease.release().await;
                    done.send(()).unwrap();
                }
            });
        }
    }
    drop(done);
    // However long all turns take together, none is long in coming.
    let mut had = 0;
    while soon(turns.recv()).await.is_some() {
        had += 1;
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    assert_eq!(had, PROCESSES * CALLERS * TIMES);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_process_full_of_callers_lets_another_one_in() {
    let (nodes, set) = start(3).await;
    let (crowd, other) = (client(), client());
    let is_enough = Arc::new(AtomicBool::new(false));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (client, set, is_enough) = (crowd.clone(), set.clone(), Arc::clone(&is_enough));
        callers.spawn(async move {
            while !is_enough.load(Ordering::SeqCst) {
                let lease = client.acquire(&set, &waiting(false)).await.unwrap();
                tokio::task::yield_now().await;
                lease.release().await;
            }
        });
    }
    for _ in 0..5 {
        let lease = soon(other.acquire(&set, &waiting(false))).await;
        lease.unwrap().release().await;
    }
    is_enough.store(true, Ordering::SeqCst);
    soon(async {
        while let Some(ended) = callers.join_next().await {
            ended.unwrap();
        }
    })
    .await;
    nodes.assert_no_keys(SOON).await;
}
