//! Calls and bodies that outlive what they were begun under.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redlock_runtime::parameters::{OnLost, Wait};
use redlock_runtime::{Config, LockError, Redlock, lock, redlock};
use redlock_tests::drop_after;
use tokio::sync::mpsc;

use crate::runtime::fixture::{SOON, registry};

type Left = Pin<Box<dyn Future<Output = Result<(), LockError>> + Send>>;

async fn in_memory() -> Redlock {
    Redlock::start(Config::new().pool("a", "memory://a"))
        .await
        .unwrap()
}

#[tokio::test]
async fn no_body_begins_under_a_lease_that_is_over() {
    let redlock = in_memory().await;
    let lease = lock("r").on_lost(OnLost::Continue).acquire();
    let lease = registry(&redlock).scope(lease).await.unwrap();
    registry(&redlock).memory_node("a").unwrap().begin_epoch();
    lease.lost().await;
    let ran = lease.run(|lease| async move { lease.validity() }).await;
    assert!(ran.unwrap_err().is_lost());
}

#[redlock(resource = "r")]
async fn extends_for_too_long() -> Result<LockError, LockError> {
    let lease = redlock_runtime::current_lease().expect("a lease");
    Ok(lease.extend(Duration::MAX).await.unwrap_err())
}

#[tokio::test]
async fn an_extension_that_fails_names_its_function() {
    let redlock = in_memory().await;
    let refused = registry(&redlock).scope(extends_for_too_long()).await;
    let refused = refused.unwrap();
    let name = concat!(module_path!(), "::extends_for_too_long");
    assert_eq!(refused.site().name(), name, "{refused}");
}

#[tokio::test]
async fn a_call_that_outlived_the_body_above_is_refused_at_shutdown() {
    static RAN: AtomicU32 = AtomicU32::new(0);
    let redlock = in_memory().await;
    let node = registry(&redlock).memory_node("a").unwrap().clone();
    node.put(b"s", b"foreign", SOON);
    let (left, mut leaves) = mpsc::unbounded_channel::<Left>();
    let outer = lock("r").run(async move {
        let inner = lock("s").wait(Wait::Forever).retry_delay(Duration::ZERO);
        let mut inner: Left = Box::pin(inner.run(async {
            RAN.fetch_add(1, Ordering::SeqCst);
        }));
        assert!(drop_after(1, inner.as_mut()).await.is_none());
        left.send(inner)
            .unwrap_or_else(|_| panic!("the test waits for it"));
    });
    registry(&redlock).scope(outer).await.unwrap();
    let inner = leaves.recv().await.unwrap();
    let inner = crate::runtime::fixture::spawn_on(&redlock, inner);
    let report = redlock.shutdown().await;
    assert_eq!(report.under_way, 0, "{report}");
    let refused = inner.await.unwrap().unwrap_err();
    assert!(refused.is_shutting_down(), "{refused}");
    assert_eq!(RAN.load(Ordering::SeqCst), 0);
}

/// Each is begun below the one before, and outlives it.
fn begun_below(left: mpsc::UnboundedSender<Left>, levels: u32) -> Left {
    Box::pin(lock("r").run(async move {
        tokio::task::yield_now().await;
        if levels > 0 {
            let mut below = begun_below(left.clone(), levels - 1);
            assert!(drop_after(1, below.as_mut()).await.is_none());
            left.send(below)
                .unwrap_or_else(|_| panic!("the test waits for it"));
        }
    }))
}

#[tokio::test]
async fn a_long_chain_of_calls_takes_no_stack_to_end() {
    const LEVELS: u32 = 20_000;
    let redlock = in_memory().await;
    let _entered = redlock.registry().enter();
    let (left, mut leaves) = mpsc::unbounded_channel();
    let mut last = begun_below(left, LEVELS);
    for _ in 0..LEVELS {
        last.await.unwrap();
        last = leaves.recv().await.unwrap();
    }
    drop(last);
}
