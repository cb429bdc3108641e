//! Locks that are given away and claimed, in the object style.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::transfer::Ticket;
use redlock_runtime::{Redlock, lock};
use redlock_tests::{Nodes, drop_after, eventually};

use crate::runtime::fixture::{SOON, config, registry, start};

#[tokio::test]
async fn a_lock_goes_from_one_registry_to_another_by_a_text() {
    let (nodes, redlock) = start(3).await;
    let other = Redlock::start(config(&nodes)).await.unwrap();
    let fenced = || lock("r").fencing(true).ttl(Duration::from_secs(60));
    let lease = registry(&redlock).scope(fenced().acquire()).await.unwrap();
    let (handle, number) = (lease.handle(), lease.fencing_token().unwrap());
    let text = lease.transfer().unwrap().to_secret();
    assert_eq!(handle.lost().await, LeaseEnd::Transferred);
    assert_eq!(redlock.registry().held_count(), 0);
    // Other callers are refused, and told why.
    let refused = registry(&redlock)
        .scope(fenced().retry_count(0).acquire())
        .await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("`transfer`"), "{refused}");

    let ticket: Ticket = text.parse().unwrap();
    let claimed = registry(&other)
        .scope(fenced().note("next").claim(ticket))
        .await
        .unwrap();
    assert!(claimed.fencing_token().unwrap() > number);
    assert_eq!(other.registry().held().len(), 1);
    let again = text.parse().unwrap();
    let spent = registry(&redlock)
        .scope(fenced().claim(again))
        .await
        .unwrap_err();
    assert!(spent.is_spent() && spent.http_status() == 423, "{spent}");
    assert!(spent.to_string().contains("(`next`)"), "{spent}");
    claimed.release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_claim_below_a_holder_or_for_another_resource_is_refused() {
    let (_nodes, redlock) = start(1).await;
    let _entered = redlock.registry().enter();
    let ticket = lock("r").acquire().await.unwrap().transfer().unwrap();
    let refused = lock("other").claim(ticket).await.unwrap_err();
    assert!(
        refused.is_invalid() && refused.to_string().contains("is for `r`"),
        "{refused}"
    );

    let ticket = lock("s").acquire().await.unwrap().transfer().unwrap();
    let text = ticket.to_secret();
    let lease = lock("s").claim(ticket).await.unwrap();
    let below = lease
        .run(|_| lock("s").claim(text.parse().unwrap()))
        .await
        .unwrap();
    let LockErrorKind::Invalid(invalid) = below.unwrap_err().kind().clone() else {
        panic!("it cannot be claimed");
    };
    assert!(
        invalid.to_string().contains("a caller above holds it"),
        "{invalid}"
    );
}

#[tokio::test]
async fn a_claim_that_is_dropped_at_any_await_releases_what_it_took_over() {
    let (nodes, redlock) = start(3).await;
    let registry = registry(&redlock);
    let there = |nodes: &Nodes| nodes.values_of("r").iter().flatten().count();
    let (mut cut_off, mut claimed) = (0, 0);
    for polls in 0..12 {
        let given = registry.clone().scope(lock("r").acquire()).await.unwrap();
        eventually("the key on all nodes", SOON, || async {
            let there = there(&nodes);
            (there == 3).then_some(()).ok_or(format!("{there}"))
        })
        .await;
        let ticket = given.transfer().unwrap();
        let claim = registry.clone().scope(lock("r").claim(ticket));
        match drop_after(polls, claim).await {
            Some(lease) => {
                assert_eq!(registry.held_count(), 1);
                drop(lease.unwrap());
                claimed += 1;
            }
            None if polls == 0 => {
                assert_eq!(there(&nodes), 3, "nothing was sent");
                for node in &nodes {
                    node.del("r");
                }
            }
            None => cut_off += 1,
        }
        assert_eq!(registry.held_count(), 0);
        // Long before the ttl.
        nodes.assert_no_lock_keys(SOON).await;
    }
    assert!(cut_off > 0 && claimed > 0, "{cut_off} and {claimed}");
}

#[tokio::test]
async fn a_claim_is_refused_by_a_registry_that_shuts_down() {
    let (_nodes, redlock) = start(3).await;
    let registry = registry(&redlock);
    let given = registry.clone().scope(lock("s").acquire()).await.unwrap();
    let ticket = given.transfer().unwrap();
    redlock.shutdown().await;
    let refused = registry.scope(lock("s").claim(ticket)).await.unwrap_err();
    assert!(refused.is_shutting_down(), "{refused}");
}
