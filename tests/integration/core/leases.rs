//! The end of a lease, as its holder learns of it.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use redlock_core::error::LeaseEnd;

use crate::core::fixture::{client, once, settle, start};

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
async fn a_caller_that_no_longer_waits_for_the_end_leaves_no_waker() {
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
