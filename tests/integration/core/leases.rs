//! A lease from acquisition to release.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use redlock_core::error::{AcquireError, Brief, ExtendError, LeaseEnd};
use redlock_core::lease::Released;
use redlock_core::node::Remaining;
use redlock_core::request::RetryLimit;
use redlock_tests::{Pttl, eventually};

use crate::core::fixture::{SOON, client, once, settle, start};

#[tokio::test]
async fn the_key_is_the_resource_its_value_the_token_its_pttl_at_most_the_ttl() {
    let (nodes, set) = start(3).await;
    let ttl = Duration::from_secs(600);
    let lease = client()
        .acquire(&set, &once("order:{42}").ttl(ttl))
        .await
        .unwrap();
    // The third vote may still be on its way when the second one decided.
    eventually("one value everywhere", SOON, || async {
        let values = nodes.values_of("order:{42}");
        if values.iter().all(|value| *value == values[0]) && values[0].is_some() {
            Ok(())
        } else {
            Err(format!("{values:?}"))
        }
    })
    .await;
    let value = String::from_utf8(nodes[0].get("order:{42}").unwrap()).unwrap();
    assert!(
        value.contains(&format!("/{}/", std::process::id())),
        "{value}"
    );
    for node in &nodes {
        let left = node.pttl("order:{42}").left().expect("an expiry");
        assert!(left <= ttl && left > ttl / 2, "{left:?}");
    }
    assert!(lease.validity() <= ttl && lease.validity() > ttl / 2);
    assert_eq!(lease.release().await, Released::Confirmed);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn a_held_resource_is_refused_and_the_refusal_names_holder_and_remaining_time() {
    let (nodes, set) = start(3).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    settle(&set).await;
    let before = nodes.values_of("r");
    let error = client().acquire(&set, &once("r")).await.unwrap_err();
    let AcquireError::Contended(contended) = &error else {
        panic!("{error}");
    };
    let Remaining::Expires(left) = contended.holding.remaining else {
        panic!("{error}");
    };
    // All of it may be left still, to the millisecond.
    assert!(left <= lease.ttl() && left > lease.ttl() / 2, "{left:?}");
    let text = error.to_string();
    let held = format!("/{} for {} more", std::process::id(), Brief(left));
    let spent = format!("after 1 attempt in {}", Brief(contended.waited));
    assert!(text.contains(&held) && text.ends_with(&spent), "{text}");
    assert_eq!(
        nodes.values_of("r"),
        before,
        "the refused attempt touched nothing"
    );
    drop(lease);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn an_unreleased_lock_expires_by_itself() {
    let (nodes, set) = start(3).await;
    let ttl = Duration::from_secs(2);
    let mut request = once("r").ttl(ttl);
    // An attempt has a quarter of the ttl, which a busy machine may need for other things.
    request.retry.limit = RetryLimit::Wait(SOON);
    let lease = client().acquire(&set, &request).await.unwrap();
    assert_eq!(lease.lost().await, LeaseEnd::Expired);
    assert_eq!(lease.validity(), Duration::ZERO);
    nodes.assert_no_keys(SOON).await;
    let error = lease.extend(ttl).await.unwrap_err();
    assert!(
        matches!(error, ExtendError::Ended(LeaseEnd::Expired)),
        "{error}"
    );
    nodes.assert_no_keys(SOON).await;
    assert_eq!(
        lease.release().await,
        Released::Confirmed,
        "cheap, and no error"
    );
}

#[tokio::test]
async fn extend_lengthens_on_every_node_and_never_shortens() {
    let (nodes, set) = start(3).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    let (longer, half) = (Duration::from_secs(600), Duration::from_secs(300));
    lease.extend(longer).await.unwrap();
    let is_long = |node: &redlock_tests::RedisNode| match node.pttl("r") {
        Pttl::Left(left) => left > half,
        _ => false,
    };
    eventually("the extension everywhere", SOON, || async {
        if nodes.iter().all(is_long) {
            Ok(())
        } else {
            Err("not longer everywhere".to_owned())
        }
    })
    .await;
    assert!(lease.validity() > half);
    lease.extend(Duration::from_secs(1)).await.unwrap();
    assert!(lease.validity() > half);
    assert!(nodes.iter().all(is_long), "shortened");
    drop(lease);
    nodes.assert_no_keys(SOON).await;
}

#[tokio::test]
async fn who_took_the_lock_is_told_if_a_node_names_it() {
    let (nodes, set) = start(3).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    settle(&set).await;
    let token = format!("web-7/3121/{}", "0f".repeat(16));
    for node in nodes.iter().take(2) {
        node.set("r", &token, Some(Duration::from_secs(60)));
    }
    lease.extend(Duration::from_secs(60)).await.unwrap_err();
    let over = lease.lost().await;
    assert_eq!(over, LeaseEnd::Taken(Some("web-7/3121".into())));
    assert!(
        over.to_string().starts_with("taken by web-7/3121: "),
        "{over}"
    );
}

#[tokio::test]
async fn a_caller_that_no_longer_waits_for_the_end_leaves_no_waker_behind() {
    struct Idle;

    impl Wake for Idle {
        fn wake(self: Arc<Self>) {}
    }

    let (_nodes, set) = start(1).await;
    let lease = client().acquire(&set, &once("r")).await.unwrap();
    let task = Arc::new(Idle);
    let waker = Waker::from(Arc::clone(&task));
    let mut context = Context::from_waker(&waker);
    {
        let (mut lost, mut expiring) = (pin!(lease.lost()), pin!(lease.expiring()));
        assert!(lost.as_mut().poll(&mut context).is_pending());
        assert!(expiring.as_mut().poll(&mut context).is_pending());
        assert!(Arc::strong_count(&task) >= 4, "both are to be woken");
    }
    assert_eq!(Arc::strong_count(&task), 2, "the test and its waker");
}
