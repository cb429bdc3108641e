//! Leases that extend themselves. The clock is the test's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redlock_core::error::LeaseEnd;
use redlock_core::lease::Released;
use redlock_core::node::{Effect, NodeStatus, Submission};
use redlock_core::request::Renewal;
use redlock_core::{Client, MemoryNode, Node, NodeSet, Request, Resource};
use redlock_tests::{RedisNode, eventually};

use crate::core::fixture::{SOON, client, once, settle, start, until_voting};
use crate::core::still_clock::StillClock;

const TTL: Duration = Duration::from_secs(60);

fn renewed(renewal: Renewal) -> Request {
    let mut request = once("r").ttl(TTL);
    request.renewal = renewal;
    request
}

fn patient(clock: &StillClock) -> Client {
    Client::with_settings(
        clock.environment(),
        redlock_core::Settings::default()
            .node_timeout(SOON)
            .key_prefix([]),
    )
}

/// Lets the key on `node` be about to expire, so that an extension shows.
async fn shorten(node: &RedisNode) {
    until_there(node).await;
    node.command(["PEXPIRE", "r", "30000"]);
}

pub(super) async fn until_there(node: &RedisNode) {
    eventually("the key", SOON, || async {
        node.get("r").map(|_| ()).ok_or_else(|| "gone".to_owned())
    })
    .await;
}

async fn until_long(node: &RedisNode) {
    eventually("the extension", SOON, || async {
        match node.pttl("r").left() {
            Some(left) if left > Duration::from_secs(40) => Ok(()),
            left => Err(format!("{left:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn a_lease_is_renewed_when_a_third_of_its_validity_has_passed() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let request = renewed(Renewal::Unlimited);
    let lease = patient(&clock).acquire(&set, &request).await.unwrap();
    let whole = lease.validity();
    for _ in 0..3 {
        for node in &nodes {
            shorten(node).await;
        }
        clock.advance(whole / 3);
        for node in &nodes {
            until_long(node).await;
        }
        eventually("the new validity", SOON, || async {
            let left = lease.validity();
            (left == whole).then_some(()).ok_or(format!("{left:?}"))
        })
        .await;
    }
    assert_eq!(lease.release().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn renewal_ends_when_the_lock_has_been_held_for_max_hold() {
    let (_nodes, set) = start(3).await;
    let clock = StillClock::default();
    let held = Duration::from_secs(100);
    let request = renewed(Renewal::For(held));
    let lease = patient(&clock).acquire(&set, &request).await.unwrap();
    let mut passed = Duration::ZERO;
    while lease.over().is_none() {
        assert!(
            passed + lease.validity() <= held,
            "{passed:?} + {:?}",
            lease.validity()
        );
        let step = Duration::from_secs(1);
        clock.advance(step);
        passed += step;
        // A third of the validity has passed after 20 s. The second extension, after 40 s, is the last one.
        let due = [20, 40].map(Duration::from_secs);
        let due = due.iter().filter(|due| **due <= passed).count();
        eventually("the extension", SOON, || async {
            match lease.extensions() as usize {
                extensions if extensions >= due => Ok(()),
                extensions => Err(format!("{extensions} of {due}")),
            }
        })
        .await;
    }
    // The renewal may conclude its last extension a moment after the lease was prolonged.
    eventually("the reason", SOON, || async {
        let over = lease.over().map(|over| over.to_string());
        match over.as_deref() {
            Some("`max_hold` of 1 min 40 s is over") => Ok(()),
            over => Err(format!("{over:?}")),
        }
    })
    .await;
    assert_eq!(lease.lost().await, LeaseEnd::MaxHold(held));
    assert_eq!(lease.extensions(), 2);
    assert!(passed > TTL, "it was renewed at all: {passed:?}");
}

#[tokio::test]
async fn keys_deleted_under_the_holder_are_noticed_at_the_next_renewal() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let request = renewed(Renewal::Unlimited);
    let lease = patient(&clock).acquire(&set, &request).await.unwrap();
    for node in &nodes {
        until_there(node).await;
    }
    // A grant that is still out could make up for a node that has lost the key.
    settle(&set).await;
    nodes[0].del("r");
    nodes[1].set("r", "thief", Some(TTL));
    clock.advance(TTL / 3);
    assert_eq!(
        lease.lost().await,
        LeaseEnd::Taken(None),
        "no name is known"
    );
    assert!(lease.validity().is_zero());
    lease.release().await;
    settle(&set).await;
    assert_eq!(nodes[0].get("r"), None, "nothing was put back");
    assert_eq!(nodes[1].get("r").as_deref(), Some(&b"thief"[..]));
    assert_eq!(nodes[2].get("r"), None);
}

#[tokio::test]
async fn a_renewal_that_finds_no_majority_is_tried_again_while_the_validity_stands() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let request = renewed(Renewal::Unlimited);
    let lease = patient(&clock).acquire(&set, &request).await.unwrap();
    // Waits for all three votes: with two, the restart of one of these nodes would lose the majority.
    settle(&set).await;
    for node in &nodes {
        shorten(node).await;
    }
    for node in [0, 1] {
        nodes[node].kill();
        until_voting(&set[node], false).await;
    }
    clock.advance(TTL / 3);
    // The one node that is left was asked; that is no majority, and no loss either.
    until_long(&nodes[2]).await;
    assert_eq!(lease.over(), None);
    // The node that comes back empty does not hold the key. The other node that is up holds it.
    nodes[0].restart().await;
    until_voting(&set[0], true).await;
    shorten(&nodes[2]).await;
    clock.advance(TTL / 3);
    until_long(&nodes[2]).await;
    settle_one(&set).await;
    assert_eq!(lease.over(), None, "one of three is no proof of loss");
    clock.advance(TTL / 3);
    let over = lease.lost().await;
    let text = over.to_string();
    assert!(
        over.is_end_of_validity() && text.starts_with("not renewed: "),
        "{text}"
    );
    // The text has the answers of the last try. It does not name the node that granted.
    assert!(
        text.contains("a: the key is gone; b: ") && !text.contains("c: "),
        "{text}"
    );
}

#[tokio::test]
async fn a_process_that_stood_still_past_the_deadline_is_told_so() {
    let (_nodes, set) = start(3).await;
    let clock = StillClock::default();
    let request = renewed(Renewal::Unlimited);
    let client = patient(&clock);
    let lease = client.acquire(&set, &request).await.unwrap();
    // The renewal is due and over before it runs.
    clock.jump(TTL);
    assert_eq!(lease.over(), Some(LeaseEnd::StoodStill));
    clock.advance(Duration::from_millis(1));
    assert_eq!(lease.lost().await, LeaseEnd::StoodStill);

    // One task renews both leases, in the order in which they are due.
    let mut later = renewed(Renewal::Unlimited);
    later.resource = Resource::from("later");
    let later = client.acquire(&set, &later).await.unwrap();
    clock.advance(TTL / 3);
    eventually("a renewal of the later lease", SOON, async || {
        let extensions = later.extensions();
        (extensions > 0).then_some(()).ok_or("none".to_owned())
    })
    .await;
    assert_eq!(lease.over(), Some(LeaseEnd::StoodStill), "the reason stays");
}

async fn settle_one(set: &NodeSet) {
    assert!(client().flush(set, SOON).await.is_empty());
}

/// Panics when it is first asked for an extension.
struct Moody {
    node: MemoryNode,
    has_panicked: AtomicBool,
}

impl Node for Moody {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn submit(&self, submission: Submission) {
        let is_extension = submission.call().effect == Effect::Keeps;
        let panics = is_extension && !self.has_panicked.swap(true, Ordering::Relaxed);
        assert!(!panics, "on purpose");
        self.node.submit(submission);
    }

    fn drained(&self) -> bool {
        self.node.drained()
    }

    fn status(&self) -> NodeStatus {
        self.node.status()
    }
}

#[tokio::test]
async fn renewal_goes_on_behind_a_panic() {
    let clock = StillClock::default();
    let set: NodeSet = Arc::new([Arc::new(Moody {
        node: MemoryNode::new("a", clock.environment().clock),
        has_panicked: AtomicBool::new(false),
    }) as Arc<dyn Node>]);
    let request = renewed(Renewal::Unlimited);
    let lease = patient(&clock).acquire(&set, &request).await.unwrap();
    let whole = lease.validity();
    clock.advance(whole / 3);
    eventually("an extension", SOON, || async {
        // The pause behind the panic is a part of that.
        clock.advance(Duration::from_millis(10));
        match lease.validity() {
            left if left > whole * 5 / 6 => Ok(()),
            left => Err(format!("{left:?}")),
        }
    })
    .await;
    lease.release().await;
}
