//! Locks that go from their holder to another process by a ticket.

use std::time::Duration;

use redlock_core::error::{AcquireError, LeaseEnd};
use redlock_core::node::Remaining;
use redlock_core::request::{Note, Renewal, RetryLimit};
use redlock_core::transfer::{ClaimError, Ticket, TransferError};
use redlock_core::{Client, Lease, NodeSet, Request, Settings};
use redlock_tests::{NodeOptions, Nodes, drop_after, eventually};

use crate::core::fixture::{SOON, client, connect, once, settle, start, until_voting};
use crate::core::still_clock::StillClock;

/// The servers' clocks go on: no test takes as long as a small part of this.
const TTL: Duration = Duration::from_secs(60);

fn request() -> Request {
    once("r").ttl(TTL)
}

fn fenced() -> Request {
    let mut request = request();
    request.fencing = true;
    request
}

/// A lock that was given away, and its ticket as a text.
async fn given(client: &Client, set: &NodeSet, request: &Request) -> String {
    let lease = client.acquire(set, request).await.unwrap();
    settle(set).await;
    lease.transfer().unwrap().to_secret()
}

fn read(text: &str) -> Ticket {
    text.parse().expect("a ticket")
}

#[track_caller]
fn spent(outcome: Result<Lease, ClaimError>) -> String {
    match outcome {
        Err(ClaimError::Spent(spent)) => spent.to_string(),
        other => panic!("{other:?}"),
    }
}

fn values(nodes: &Nodes) -> Vec<Option<Vec<u8>>> {
    nodes.values_of("r")
}

#[tokio::test]
async fn a_lock_goes_from_one_process_to_another_without_a_moment_for_a_third() {
    let (nodes, set) = start(3).await;
    let lease = client().acquire(&set, &fenced()).await.unwrap();
    settle(&set).await;
    let (handle, number) = (lease.handle(), lease.fencing_token().unwrap());
    let before = values(&nodes);
    let ticket = lease.transfer().unwrap();
    // The giver's lease is over, and its keys are there.
    assert_eq!(handle.over(), Some(LeaseEnd::Transferred));
    assert!(handle.validity().is_zero());
    assert_eq!(values(&nodes), before);
    let third = client().acquire(&set, &request()).await;
    assert!(
        matches!(third, Err(AcquireError::Contended(_))),
        "{third:?}"
    );

    let mut own = fenced();
    own.note = Note::new("the next one");
    let next = client().claim(&set, ticket, &own).await.unwrap();
    settle(&set).await;
    assert!(next.validity() > TTL / 2);
    assert!(next.fencing_token().unwrap() > number);
    assert_eq!(next.note(), own.note);
    assert!(
        values(&nodes)
            .iter()
            .zip(&before)
            .all(|(now, then)| now != then)
    );
    let third = client().acquire(&set, &request()).await;
    assert!(
        matches!(third, Err(AcquireError::Contended(_))),
        "{third:?}"
    );
    // What is left of the giver has no effect.
    assert!(handle.extend(TTL).await.is_err());
    drop(handle);

    next.extend(TTL * 2).await.unwrap();
    next.release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_ticket_is_good_once() {
    let (nodes, set) = start(3).await;
    let text = given(&client(), &set, &request()).await;
    let first = client().claim(&set, read(&text), &request()).await.unwrap();
    let second = client();
    let why = spent(second.claim(&set, read(&text), &request()).await);
    let holder = format!(
        "the ticket is spent: the lock is held by {} for",
        second.owner()
    );
    assert!(why.starts_with(&holder), "{why}");
    settle(&set).await;
    assert!(!first.validity().is_zero());
    first.release().await;
    nodes.assert_no_keys(SOON).await;

    // Nor when the lock is free again.
    let why = spent(client().claim(&set, read(&text), &request()).await);
    assert!(
        why.contains("claimed before, or the giver's keys have expired"),
        "{why}"
    );
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn of_many_claims_at_one_moment_one_succeeds_at_most() {
    let (nodes, set) = start(3).await;
    let mut won = 0;
    for _ in 0..30 {
        let text = given(&client(), &set, &request()).await;
        let claims: Vec<_> = (0..8)
            .map(|_| {
                let (set, ticket) = (set.clone(), read(&text));
                tokio::spawn(async move { client().claim(&set, ticket, &request()).await })
            })
            .collect();
        let mut leases = Vec::new();
        for claim in claims {
            match claim.await.unwrap() {
                Ok(lease) => leases.push(lease),
                Err(ClaimError::Spent(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert!(leases.len() <= 1, "{leases:?}");
        won += leases.len();
        for lease in leases {
            lease.release().await;
        }
        settle(&set).await;
        for node in &nodes {
            node.del("r");
        }
    }
    assert!(won > 0);
}

#[tokio::test]
async fn nobody_renews_a_lock_that_was_given_away() {
    let options = NodeOptions::default().movable_clock();
    let nodes = Nodes::start_with(3, options).await;
    let set = connect(nodes.urls()).await;
    let clock = StillClock::default();
    let settings = Settings::default().node_timeout(SOON).key_prefix([]);
    let giver = Client::with_settings(clock.environment(), settings);
    let mut renewed = request();
    renewed.renewal = Renewal::Unlimited;
    let text = given(&giver, &set, &renewed).await;
    let left = |nodes: &Nodes| {
        nodes
            .iter()
            .map(|node| node.pttl("r").left())
            .max()
            .flatten()
    };
    let before = left(&nodes).expect("a key");
    // Its renewals would be due.
    for _ in 0..6 {
        clock.advance(TTL / 3);
        settle(&set).await;
    }
    assert!(left(&nodes).expect("a key") <= before);
    for node in &nodes {
        node.advance_clock(TTL);
    }
    let why = spent(client().claim(&set, read(&text), &request()).await);
    assert!(why.contains("expired"), "{why}");
    client()
        .acquire(&set, &request())
        .await
        .unwrap()
        .release()
        .await;
}

#[tokio::test]
async fn a_claim_needs_a_majority_that_still_holds_the_givers_token() {
    let (nodes, set) = start(3).await;
    // One node has lost the key: two are a majority.
    let text = given(&client(), &set, &request()).await;
    nodes[0].del("r");
    let lease = client().claim(&set, read(&text), &request()).await.unwrap();
    settle(&set).await;
    // It is no acquisition: where the key was missing, none was set.
    assert_eq!(nodes[0].get("r"), None);
    lease.release().await;
    nodes.assert_no_keys(SOON).await;

    let text = given(&client(), &set, &request()).await;
    nodes[0].del("r");
    nodes[1].set("r", "by hand", Some(TTL));
    spent(client().claim(&set, read(&text), &request()).await);
    settle(&set).await;
    assert_eq!(nodes[1].get("r"), Some(b"by hand".to_vec()));
    // What the claim took over, it released.
    assert_eq!(nodes[2].get("r"), None);
}

#[tokio::test]
async fn a_claim_works_with_one_node_down_and_says_so_if_two_are() {
    let (nodes, set) = start(3).await;
    let text = given(&client(), &set, &request()).await;
    nodes[0].kill();
    until_voting(&set[0], false).await;
    let lease = client().claim(&set, read(&text), &fenced()).await.unwrap();
    let text = lease.transfer().unwrap().to_secret();
    nodes[1].kill();
    until_voting(&set[1], false).await;
    let outcome = client().claim(&set, read(&text), &request()).await;
    let Err(ClaimError::Unavailable(error)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((error.granted, error.needed), (1, 2), "{error}");
}

#[tokio::test]
async fn several_names_are_taken_over_all_or_none() {
    let (nodes, set) = start(3).await;
    let mut both = fenced();
    both.resource = ["r", "s"].into();
    let text = given(&client(), &set, &both).await;
    let lease = client().claim(&set, read(&text), &both).await.unwrap();
    let text = lease.transfer().unwrap().to_secret();
    settle(&set).await;
    for node in nodes.iter().take(2) {
        node.del("s");
    }
    let mut plain = both.clone();
    plain.fencing = false;
    spent(client().claim(&set, read(&text), &plain).await);
    settle(&set).await;
    for node in nodes.iter().take(2) {
        assert!(node.get("r").is_some(), "it was not touched");
    }
}

#[tokio::test]
async fn a_claim_for_another_resource_is_refused_before_anything_is_sent() {
    let (nodes, set) = start(1).await;
    let text = given(&client(), &set, &request()).await;
    let outcome = client().claim(&set, read(&text), &once("other")).await;
    let Err(ClaimError::Invalid(invalid)) = outcome else {
        panic!("{outcome:?}");
    };
    let expected = "the ticket is for `r`, and not for `other`; claim what it is for";
    assert_eq!(invalid.to_string(), expected);
    assert!(nodes[0].get("r").is_some());
    let lease = client().claim(&set, read(&text), &request()).await.unwrap();
    lease.release().await;
}

#[tokio::test]
async fn a_lease_that_is_shared_or_over_is_not_given_away() {
    let (nodes, set) = start(1).await;
    let lease = client().acquire(&set, &request()).await.unwrap();
    let joined = lease.join().unwrap();
    assert_eq!(lease.transfer(), Err(TransferError::Shared(1)));
    assert!(!joined.validity().is_zero(), "the other holder keeps it");
    let text = joined.transfer().unwrap().to_secret();
    let lease = client().claim(&set, read(&text), &request()).await.unwrap();

    lease.revoke();
    assert_eq!(
        lease.transfer(),
        Err(TransferError::Ended(LeaseEnd::Revoked))
    );
    nodes.assert_no_keys(SOON).await;
    let lease = client().acquire(&set, &request()).await.unwrap();
    lease.revoke_and_release().await;
    assert_eq!(
        lease.transfer(),
        Err(TransferError::Ended(LeaseEnd::Revoked))
    );

    let clock = StillClock::default();
    let settings = Settings::default().node_timeout(SOON).key_prefix([]);
    let client = Client::with_settings(clock.environment(), settings);
    let lease = client.acquire(&set, &request()).await.unwrap();
    clock.advance(TTL);
    assert_eq!(
        lease.transfer(),
        Err(TransferError::Ended(LeaseEnd::Expired))
    );
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_caller_in_line_behind_the_giver_gets_the_lock_once_the_claimer_is_done() {
    let (nodes, set) = start(3).await;
    let giver = client();
    let lease = giver.acquire(&set, &request()).await.unwrap();
    let waiting = {
        let (giver, set, mut request) = (giver.clone(), set.clone(), request());
        request.retry.limit = RetryLimit::Wait(SOON);
        tokio::spawn(async move { giver.acquire(&set, &request).await })
    };
    eventually("a caller to wait", SOON, || async {
        let is_there = giver.waiting() == 1;
        is_there
            .then_some(())
            .ok_or_else(|| "nobody in line".to_owned())
    })
    .await;
    settle(&set).await;
    let ticket = lease.transfer().unwrap();
    // Also a claim of the giver's own process does not stand in line.
    let claimed = giver.claim(&set, ticket, &request()).await.unwrap();
    assert!(!waiting.is_finished());
    claimed.release().await;
    waiting.await.unwrap().unwrap().release().await;
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_ticket_that_is_dropped_leaves_the_lock_to_its_ttl() {
    let (nodes, set) = start(3).await;
    let text = given(&client(), &set, &request()).await;
    drop(read(&text));
    settle(&set).await;
    let status = client().peek(&set, &"r".into()).await.unwrap();
    let left = status.holder().unwrap().remaining();
    assert!(
        matches!(left, Remaining::Expires(left) if left <= TTL),
        "{status}"
    );
    assert_eq!(values(&nodes).iter().flatten().count(), 3);
}

#[tokio::test]
async fn a_claim_may_be_dropped_at_any_await() {
    let (nodes, set) = start(3).await;
    for polls in 0..8 {
        let text = given(&client(), &set, &fenced()).await;
        let claimed = drop_after(polls, client().claim(&set, read(&text), &fenced())).await;
        drop(claimed);
        settle(&set).await;
        // Either nothing was sent, or what was taken over is released.
        let left = values(&nodes).iter().flatten().count();
        assert!(
            left == 0 || left == 3 && polls == 0,
            "{left} after {polls} polls"
        );
        for node in &nodes {
            node.del("r");
        }
    }
    nodes.assert_no_lock_keys(SOON).await;
}
