//! Fencing tokens of servers whose clocks are wrong.

use std::time::{Duration, SystemTime};

use redlock_core::error::{AcquireError, NodeOutcome};
use redlock_core::node::NodeErrorKind;
use redlock_core::restart_check::RestartCheck;
use redlock_core::{Lease, Node, Request};
use redlock_tests::{NodeOptions, Nodes, eventually};

use crate::core::fixture::settle;
use crate::restart_check::fixture::{SOON, Set, client, once, reason};

const COUNTER: &str = "redlock:fence:{r}";
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

async fn movable(n: usize) -> Nodes {
    Nodes::start_with(n, NodeOptions::default().movable_clock()).await
}

fn fenced() -> Request {
    let mut request = once("r");
    request.fencing = true;
    request
}

async fn lock(set: &Set) -> Lease {
    client().acquire(&set.node_set(), &fenced()).await.unwrap()
}

/// The token of a lock that is taken and released. A node whose clock has just been moved refuses it
/// until it was looked at.
async fn token(set: &Set) -> u64 {
    let lease = eventually("a fenced lock", SOON, || async {
        let acquired = client().acquire(&set.node_set(), &fenced()).await;
        acquired.map_err(|error| error.to_string())
    })
    .await;
    let token = lease.fencing_token().expect("a token").as_u64();
    lease.release().await;
    token
}

/// In µs, as tokens are.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::try_from(now.unwrap().as_micros()).unwrap()
}

fn assert_about_now(token: u64) {
    let off = token.abs_diff(now());
    assert!(off < 60_000_000, "{off} µs off");
}

/// Why each node of `error` did not grant, by its seat.
fn refusals(error: &AcquireError) -> Vec<(NodeErrorKind, String)> {
    let AcquireError::Unavailable(unavailable) = error else {
        panic!("{error}");
    };
    let of = |outcome: &NodeOutcome| match outcome {
        NodeOutcome::Failed(error) => Some((error.kind(), error.to_string())),
        _ => None,
    };
    let nodes = unavailable.nodes.iter();
    nodes.filter_map(|report| of(&report.outcome)).collect()
}

#[tokio::test]
async fn a_node_whose_clock_is_a_day_off_has_no_say_in_a_fenced_lock_and_says_so() {
    for is_ahead in [true, false] {
        let nodes = movable(3).await;
        if is_ahead {
            nodes[0].advance_clock(DAY);
        } else {
            nodes[0].set_back_clock(DAY);
        }
        let set = Set::attentive(nodes.urls()).await.voting().await;
        for _ in 0..20 {
            assert_about_now(token(&set).await);
        }
        assert_eq!(nodes[0].get(COUNTER), None);
        eventually("it to say so", SOON, || async {
            let clock = set.nodes[0].health().clock;
            clock
                .filter(|clock| clock.is_outlier)
                .ok_or_else(|| format!("{clock:?}"))
        })
        .await;
        let clock = set.nodes[1].health().clock;
        assert!(clock.is_some_and(|clock| !clock.is_outlier), "{clock:?}");

        // It votes on everything else.
        nodes[1].stop().await;
        let lease = client().acquire(&set.node_set(), &once("plain")).await;
        lease.unwrap().release().await;
        let error = client().acquire(&set.node_set(), &fenced()).await;
        let told = refusals(&error.unwrap_err());
        let direction = if is_ahead { "ahead of" } else { "behind" };
        assert!(
            told.iter().any(|(kind, text)| *kind == NodeErrorKind::Clock
                && text.contains(direction)
                && text.contains("does not vote for a fenced lock")),
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn of_two_nodes_that_disagree_neither_has_a_say() {
    let nodes = movable(2).await;
    nodes[0].advance_clock(DAY);
    let set = Set::attentive(nodes.urls()).await.voting().await;
    let error = client().acquire(&set.node_set(), &fenced()).await;
    let told = refusals(&error.unwrap_err());
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|(kind, _)| *kind == NodeErrorKind::Clock));
    assert_eq!([nodes[0].get(COUNTER), nodes[1].get(COUNTER)], [None, None]);
    nodes[0].set_back_clock(DAY);
    set.until_voting(0).await;
    assert_about_now(token(&set).await);
}

/// The node itself compares the clocks when it grants: no check has read its clock since the step.
#[tokio::test]
async fn a_clock_that_steps_between_two_checks_moves_no_counter() {
    let nodes = movable(3).await;
    let set = Set::standard(nodes.urls()).await.voting().await;
    let before = token(&set).await;
    settle(&set.node_set()).await;
    let counter = nodes[0].get(COUNTER);
    nodes[0].advance_clock(HOUR / 2);
    assert!(reason(&*set.nodes[0]).is_none(), "it is not known yet");
    let lease = lock(&set).await;
    let after = lease.fencing_token().unwrap().as_u64();
    assert!(after > before);
    assert_about_now(after);
    settle(&set.node_set()).await;
    assert_eq!(nodes[0].get(COUNTER), counter);
    // The node is then checked, and is in quarantine.
    set.until(0, NodeErrorKind::Quarantined).await;
}

/// All nodes, and so a single pool, have nothing but their own clocks to go by.
#[tokio::test]
async fn tokens_rise_on_behind_a_clock_that_was_a_day_ahead_and_counters_that_idled_for_hours() {
    for n in [1, 3] {
        let nodes = movable(n).await;
        for node in &nodes {
            node.advance_clock(DAY);
        }
        let set = Set::with(nodes.urls(), RestartCheck::Off, |_| {}).await;
        let mut last = token(&set).await;
        assert!(last > now() + 80_000_000_000, "by the nodes' time");
        for node in &nodes {
            node.set_back_clock(DAY);
        }
        let mended = token(&set).await;
        assert!(mended > last, "{mended} behind {last}");
        last = mended;
        // What was used last is kept for an hour, or until the time has passed it.
        for hours in [2, 20, 2, 2] {
            for node in &nodes {
                node.advance_clock(HOUR * hours);
            }
            let later = token(&set).await;
            assert!(later > last, "{later} behind {last}");
            last = later;
        }
        assert!(last > now() + 24 * 3_600_000_000, "the time has passed it");
        assert!(last < now() + 27 * 3_600_000_000, "{last}");
    }
}
