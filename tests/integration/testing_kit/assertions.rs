//! What a test may be sure of, and what it is told where that is wrong.

use std::time::Duration;

use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{Config, LockError, Resource, lock, redlock};

#[redlock(resource = "order:{id}", ttl = "20s", retry_count = 0)]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "order:{id}", retry_count = 0)]
async fn outer(id: u64) -> Result<u64, LockError> {
    charge(id).await
}

#[redlock(resource = ["from:{from}", "to:{to}"], retry_count = 0)]
async fn transfer(from: u64, to: u64) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn each_acquisition_is_recorded_in_order() {
    let locks = TestLocks::new();
    charge(1).await.unwrap();
    let _hold = locks.hold("order:2");
    charge(2).await.unwrap_err();
    let lease = lock("bare").pools(["a"]).acquire().await.unwrap();
    let lines: Vec<String> = locks
        .acquisitions()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lines[0],
        format!(
            "`order:1` by `{}::charge` on a, b, c for 20 s: released",
            module_path!()
        )
    );
    assert!(lines[1].starts_with("`order:2` by"), "{}", lines[1]);
    assert!(
        lines[1].contains(": refused, as `order:2` is held by someone-else/1"),
        "{}",
        lines[1]
    );
    assert!(lines[2].starts_with("`bare` by `"), "{}", lines[2]);
    assert!(
        lines[2].ends_with("/assertions.rs:29` on a for 1 min: held now"),
        "{}",
        lines[2]
    );
    drop(lease);
    assert!(matches!(locks.acquisitions()[2].outcome, Outcome::Released));
}

#[tokio::test]
async fn a_call_below_a_holder_is_recorded_as_one_that_shares() {
    let locks = TestLocks::new();
    outer(1).await.unwrap();
    let shared: Vec<bool> = locks.acquisitions().iter().map(|it| it.is_shared).collect();
    assert_eq!(shared, [false, true]);
    locks.assert_all_free();
}

#[tokio::test]
async fn a_resource_among_others_counts() {
    let locks = TestLocks::new();
    transfer(1, 2).await.unwrap();
    locks.assert_locked("from:1");
    locks.assert_locked("to:2");
    locks.assert_locked(Resource::all(["to:2", "from:1"]));
    locks.assert_not_locked("from:2");
    locks.assert_not_locked(Resource::all(["to:2", "from:2"]));
}

#[tokio::test]
async fn what_is_held_now_is_told_from_what_was() {
    let locks = TestLocks::new();
    let lease = lock("order:1").acquire().await.unwrap();
    locks.assert_held("order:1");
    locks.assert_free("order:2");
    lease.release().await;
    locks.assert_free("order:1");
    locks.assert_locked("order:1");
}

/// What an assertion that fails tells the test.
fn failure(assertion: impl FnOnce()) -> String {
    let assertion = std::panic::AssertUnwindSafe(assertion);
    let panic = std::panic::catch_unwind(assertion).expect_err("it fails");
    *panic.downcast::<String>().expect("a text")
}

#[tokio::test]
async fn an_assertion_that_fails_says_what_calls_did() {
    let locks = TestLocks::new();
    let text = failure(|| locks.assert_locked("order:1"));
    assert!(text.ends_with("; no call asked for any lock"), "{text}");
    charge(1).await.unwrap();
    let did = "; what calls did:\n  `order:1` by `integration";
    let refused = locks.hold("order:3");
    charge(3).await.unwrap_err();
    for (text, expected) in [
        (
            failure(|| locks.assert_locked("order:2")),
            "`order:2` was not locked",
        ),
        (
            failure(|| locks.assert_locked("order:3")),
            "`order:3` was not locked",
        ),
        (
            failure(|| locks.assert_not_locked("order:1")),
            "`order:1` was locked",
        ),
        (
            failure(|| locks.assert_held("order:1")),
            "`order:1` is not held",
        ),
        (
            failure(|| locks.lose("order:1")),
            "`order:1` cannot be lost: it is not held",
        ),
    ] {
        assert!(text.starts_with(&format!("{expected}{did}")), "{text}");
    }
    refused.release();

    let _hold = locks.someone_else().on(["b"]).hold("r");
    let text = failure(|| locks.assert_free("r"));
    assert!(
        text.starts_with("`r` is not free: someone-else/1 has `r` on b;"),
        "{text}"
    );
    std::mem::forget(lock("forgotten").acquire().await.unwrap());
    let text = failure(|| locks.assert_all_free());
    assert!(text.starts_with("not all is free: "), "{text}");
}

/// The failure is the test's, and not the kit's.
#[tokio::test]
async fn a_failure_names_the_line_of_the_test() {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    static AT: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static IS_OVER: AtomicBool = AtomicBool::new(false);

    let locks = TestLocks::new();
    let thread = std::thread::current().id();
    let before = std::panic::take_hook();
    // It stays for other tests, which may have this thread later on.
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().id() == thread && !IS_OVER.load(Ordering::SeqCst) {
            AT.lock()
                .unwrap()
                .push(panic.location().unwrap().file().to_owned());
        } else {
            before(panic);
        }
    }));
    let assertions: [&dyn Fn(); 7] = [
        &|| locks.assert_locked("r"),
        &|| locks.assert_held("r"),
        &|| locks.lose("r"),
        &|| {
            let _hold = locks.hold("r");
            locks.assert_free("r");
        },
        &|| {
            locks.node("none");
        },
        &|| {
            let _hold = locks.someone_else().on(["none"]).hold("r");
        },
        &|| {
            TestLocks::with_config(Config::new().node_timeout(Duration::ZERO));
        },
    ];
    for assertion in assertions {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(assertion)).unwrap_err();
    }
    IS_OVER.store(true, Ordering::SeqCst);
    let at = AT.lock().unwrap().clone();
    assert_eq!(at.len(), 7);
    let is_here = |file: &String| file.ends_with(file!());
    assert!(at.iter().all(is_here), "{at:?}");
}
