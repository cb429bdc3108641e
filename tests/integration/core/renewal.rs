//! Leases that extend themselves. The clock is the test's own.

use std::time::Duration;

use redlock_core::error::LeaseEnd;
use redlock_core::lease::Released;
use redlock_core::request::MaxHold;
use redlock_core::{Request, Resource};
use redlock_tests::{Pttl, wait_until};

use crate::core::fixture::{SOON, once, settle, start};
use crate::core::still_clock::StillClock;

const TTL: Duration = Duration::from_secs(60);

fn renewed(renewal: MaxHold) -> Request {
    once("r").ttl(TTL).max_hold(renewal)
}

#[tokio::test]
async fn a_lease_is_renewed_when_a_third_of_its_validity_has_passed() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let request = renewed(MaxHold::Unlimited);
    let lease = clock.client().acquire(&set, &request).await.unwrap();
    let whole = lease.validity();
    for _ in 0..3 {
        settle(&set).await;
        for node in &nodes {
            // So an extension shows.
            node.command(["PEXPIRE", "r", "30000"]);
        }
        clock.advance(whole / 3);
        for node in &nodes {
            let is_long = |left: &Pttl| left.left() > Some(Duration::from_secs(40));
            wait_until("the extension", || node.pttl("r"), is_long).await;
        }
        wait_until("the validity", || lease.validity(), |it| *it == whole).await;
    }
    assert_eq!(lease.release().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn renewal_ends_when_the_lock_has_been_held_for_max_hold() {
    let (_nodes, set) = start(3).await;
    let clock = StillClock::default();
    let held = Duration::from_secs(100);
    let request = renewed(MaxHold::For(held));
    let lease = clock.client().acquire(&set, &request).await.unwrap();
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
        let extensions = || lease.extensions() as usize;
        wait_until("the extension", extensions, |it| *it >= due).await;
    }
    // The renewal may conclude its last extension a moment after the lease was prolonged.
    let told = Some("`max_hold` of 1 min 40 s is over".to_owned());
    let over = || lease.over().map(|over| over.to_string());
    wait_until("the reason", over, |over| *over == told).await;
    assert_eq!(lease.lost().await, LeaseEnd::MaxHold(held));
    assert_eq!(lease.extensions(), 2);
    assert!(passed > TTL, "it was renewed at all: {passed:?}");
}

#[tokio::test]
async fn keys_that_were_deleted_are_noticed_at_the_next_renewal() {
    let (nodes, set) = start(3).await;
    let clock = StillClock::default();
    let request = renewed(MaxHold::Unlimited);
    let lease = clock.client().acquire(&set, &request).await.unwrap();
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
async fn a_process_that_stood_still_past_the_deadline_is_told_so() {
    let (_nodes, set) = start(3).await;
    let clock = StillClock::default();
    let request = renewed(MaxHold::Unlimited);
    let client = clock.client();
    let lease = client.acquire(&set, &request).await.unwrap();
    // The renewal is due and over before it runs.
    clock.jump(TTL);
    assert_eq!(lease.over(), Some(LeaseEnd::StoodStill));
    clock.advance(Duration::from_millis(1));
    assert_eq!(lease.lost().await, LeaseEnd::StoodStill);

    // One task renews both leases, in the order in which they are due.
    let mut later = renewed(MaxHold::Unlimited);
    later.resource = Resource::from("later");
    let later = client.acquire(&set, &later).await.unwrap();
    clock.advance(TTL / 3);
    let extensions = || later.extensions();
    wait_until("a renewal of the later lease", extensions, |it| *it > 0).await;
    assert_eq!(lease.over(), Some(LeaseEnd::StoodStill), "the reason stays");
}
