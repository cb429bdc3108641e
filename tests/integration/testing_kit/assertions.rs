//! What a test may be sure of, and what it is told where that is wrong.

use std::cell::RefCell;
use std::sync::Once;
use std::time::Duration;

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, LockError, Resource, lock, redlock};

use super::elsewhere::{charge, transfer};

#[redlock(resource = "order:{id}", ttl = "20s", fencing = true)]
async fn outer(id: u64) -> Result<u64, LockError> {
    charge(id).await
}

#[tokio::test]
async fn each_acquisition_is_recorded_in_order() {
    let locks = TestLocks::new();
    outer(1).await.unwrap();
    let _hold = locks.hold("order:2");
    charge(2).await.unwrap_err();
    let _lease = lock("bare").pools(["a"]).acquire().await.unwrap();
    let recorded = locks.acquisitions();
    let line = |at: usize| recorded[at].to_string();
    let outer = format!(
        "`order:1` by `{}::outer` on a, b, c for 20 s: released",
        module_path!()
    );
    assert_eq!(line(0), outer);
    assert!(
        line(1).ends_with("shared with its caller: released"),
        "{}",
        line(1)
    );
    assert!(
        line(2).contains(": refused, as `order:2` is held by other-client/1"),
        "{}",
        line(2)
    );
    let is_bare =
        line(3).starts_with("`bare` by `") && line(3).ends_with("` on a for 1 min: held now");
    assert!(
        is_bare && line(3).contains("/assertions.rs:"),
        "{}",
        line(3)
    );
    assert!(recorded[0].fencing_token.is_some() && recorded[3].fencing_token.is_none());
}

#[tokio::test]
async fn a_resource_among_others_counts() {
    let locks = TestLocks::new();
    transfer(1, 2).await.unwrap();
    locks.assert_locked("from:1");
    locks.assert_locked(Resource::all(["to:2", "from:1"]));
    locks.assert_not_locked("from:2");
    locks.assert_not_locked(Resource::all(["to:2", "from:2"]));
}

/// What an assertion that fails tells the test, at a line of this file.
fn failure(assertion: impl FnOnce()) -> String {
    thread_local!(static FILE: RefCell<String> = const { RefCell::new(String::new()) });
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let at = panic.location().map_or("", |at| at.file());
            FILE.set(at.to_owned());
            before(panic);
        }));
    });
    let assertion = std::panic::AssertUnwindSafe(assertion);
    let panic = std::panic::catch_unwind(assertion).expect_err("it fails");
    let text = *panic.downcast::<String>().expect("a text");
    let file = FILE.take();
    assert!(file.ends_with(file!()), "`{text}` names {file}");
    text
}

#[tokio::test]
async fn an_assertion_that_fails_says_what_calls_did() {
    let locks = TestLocks::new();
    let text = failure(|| locks.assert_locked("order:1"));
    assert!(text.ends_with("; no call asked for any lock"), "{text}");
    charge(1).await.unwrap();
    let refused = locks.hold("order:3");
    charge(3).await.unwrap_err();
    let did = "; what calls did:\n  `order:1` by `integration";
    let failures: [(&dyn Fn(), _); 5] = [
        (
            &|| locks.assert_locked("order:2"),
            "`order:2` was not locked",
        ),
        (
            &|| locks.assert_locked("order:3"),
            "`order:3` was not locked",
        ),
        (
            &|| locks.assert_not_locked("order:1"),
            "`order:1` was locked",
        ),
        (&|| locks.assert_held("order:1"), "`order:1` is not held"),
        (
            &|| locks.lose("order:1"),
            "`order:1` cannot be lost: it is not held",
        ),
    ];
    for (assertion, expected) in failures {
        let text = failure(assertion);
        assert!(text.starts_with(&format!("{expected}{did}")), "{text}");
    }
    refused.release();

    let one_node = locks.other_client().on(["b"]).hold("r");
    let text = failure(|| locks.assert_free("r"));
    assert!(
        text.starts_with("`r` is not free: other-client/1 has `r` on b;"),
        "{text}"
    );
    one_node.release();
    let lease = lock("leaked").acquire().await.unwrap();
    let text = failure(|| locks.assert_all_free());
    assert!(text.starts_with("some locks are not free: "), "{text}");
    drop(lease);
}

#[tokio::test]
async fn a_hold_that_is_refused_says_why_and_leaves_nothing() {
    let locks = TestLocks::new();
    let other_pool = failure(|| drop(locks.other_client().on(["x"])));
    let text = "there is no pool `x`; there are a, b, c";
    assert!(other_pool.starts_with(text), "{other_pool}");
    let lease = lock("ours").acquire().await.unwrap();
    let ours = failure(|| drop(locks.hold("ours")));
    assert!(ours.contains("what calls did:\n  `ours` by "), "{ours}");
    lease.release().await;

    let first = locks.other_client().on(["c"]).hold("r");
    failure(|| drop(locks.hold("r")));
    assert!(locks.node("a").keys().is_empty() && locks.node("b").keys().is_empty());
    first.release();
    locks.cut_all();
    let unreachable = failure(|| drop(locks.hold("r")));
    assert!(unreachable.ends_with("no node grants it"), "{unreachable}");
    let config = Config::new().node_timeout(Duration::ZERO);
    failure(|| drop(TestLocks::with_config(config)));
}
