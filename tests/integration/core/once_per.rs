//! Jobs that run once a period: what nodes remember of a run, and what they forget. The client's clock
//! is the test's own.

use std::time::Duration;

use redlock_core::error::{AcquireError, LastRun};
use redlock_core::request::RetryLimit;
use redlock_core::{Client, Lease, NodeSet, Request};
use redlock_tests::{Nodes, drop_after};

use crate::core::fixture::{SOON, client, once, settle, stand_in_line, start};
use crate::core::still_clock::StillClock;

/// The servers' clocks go on: no test takes as long as a small part of these.
const TTL: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_secs(60 * 60);
const RUN: &str = "redlock:once:{r}";

fn hourly(resource: &str) -> Request {
    once(resource).ttl(TTL).once_per(PERIOD)
}

/// Runs the job, to a good end.
async fn run(client: &Client, set: &NodeSet) -> Result<(), AcquireError> {
    let mut lease = client.acquire(set, &hourly("r")).await?;
    lease.remember_run();
    lease.release().await;
    Ok(())
}

#[track_caller]
fn already_run(outcome: Result<Lease, AcquireError>) -> LastRun {
    match outcome {
        Err(AcquireError::AlreadyRun(run)) => run,
        Err(other) => panic!("{other}"),
        Ok(lease) => panic!("{lease:?}"),
    }
}

fn left(nodes: &Nodes) -> Vec<Option<Duration>> {
    nodes.iter().map(|node| node.pttl(RUN).left()).collect()
}

#[tokio::test]
async fn a_run_is_remembered_for_nine_tenths_of_its_period() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let acquired = clock.client().acquire(&set, &hourly("r")).await;
    let mut lease = acquired.unwrap();
    clock.advance(TTL / 2);
    lease.remember_run();
    lease.release().await;
    settle(&set).await;
    let whole = (PERIOD / 10 * 9).saturating_sub(TTL / 2);
    for left in left(&nodes) {
        let left = left.expect("a record on each node");
        assert!(left <= whole && left + TTL / 3 > whole, "{left:?}");
    }
    let owner = client().owner().to_owned();
    for record in nodes.values_of(RUN) {
        let record = String::from_utf8(record.unwrap()).unwrap();
        let (by, began) = record.split_once(' ').unwrap();
        assert_eq!(by, owner);
        assert!(began.ends_with('Z') && began.len() == 24, "{record}");
    }

    let run = already_run(client().acquire(&set, &hourly("r")).await);
    assert_eq!(run.owner.as_deref(), Some(&*owner));
    assert!(run.began.is_some());
    assert!(run.next_in <= whole, "{run:?}");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_record_that_comes_late_leaves_that_of_a_later_run() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let acquired = clock.client().acquire(&set, &hourly("r")).await;
    let mut late = acquired.unwrap();
    // Its lock is lost, and another process runs.
    for node in &nodes {
        node.del("r");
    }
    run(&client(), &set).await.unwrap();
    settle(&set).await;
    let records = nodes.values_of(RUN);
    clock.advance(PERIOD / 2);
    late.remember_run();
    late.release().await;
    settle(&set).await;
    assert_eq!(nodes.values_of(RUN), records);
}

#[tokio::test]
async fn a_run_as_long_as_its_period_leaves_nothing() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let acquired = clock.client().acquire(&set, &hourly("r").ttl(PERIOD)).await;
    let mut lease = acquired.unwrap();
    clock.advance(PERIOD / 10 * 9);
    lease.remember_run();
    lease.release().await;
    settle(&set).await;
    assert_eq!(left(&nodes), [None, None, None]);
}

/// As on a node whose clock was set back behind a run.
#[tokio::test]
async fn a_record_that_lasts_too_long_is_no_vote_and_is_replaced() {
    let (nodes, set) = start(3).await;
    for node in &nodes {
        node.set(RUN, "by hand", Some(PERIOD * 24));
    }
    run(&client(), &set).await.unwrap();
    let last = already_run(client().acquire(&set, &hourly("r")).await);
    assert!(last.began.is_some() && last.next_in <= PERIOD, "{last:?}");
}

#[tokio::test]
async fn who_waited_for_the_run_sees_it_under_the_lock() {
    let (nodes, set) = start(3).await;
    for _ in 0..20 {
        let first = client();
        let mut lease = first.acquire(&set, &hourly("r")).await.unwrap();
        // Two of another process, in line behind each other, and one of the same process.
        let waiting = hourly("r").retry_limit(RetryLimit::Wait(SOON));
        let second = client();
        let behind = [&second, &second, &first]
            .map(|client| tokio::spawn(stand_in_line(client, &set, &waiting)));
        lease.remember_run();
        lease.release().await;
        for behind in behind {
            already_run(behind.await.unwrap());
        }
        settle(&set).await;
        for node in &nodes {
            assert!(node.del(RUN), "it is remembered");
        }
    }
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_release_with_a_record_may_be_dropped_at_any_await() {
    let (nodes, set) = start(3).await;
    for polls in 0..6 {
        let mut lease = client().acquire(&set, &hourly("r")).await.unwrap();
        lease.remember_run();
        let _ = drop_after(polls, lease.release()).await;
        settle(&set).await;
        assert!(
            left(&nodes).iter().all(Option::is_some),
            "after {polls} polls"
        );
        nodes.assert_no_lock_keys(SOON).await;
        for node in &nodes {
            node.del(RUN);
        }
    }
}
