//! `lock("…")`.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Fenced, Lease, LockBuilder, LockError, Resource, current_lease, lock};

use crate::runtime::fixture::{SOON, registry, start};

#[tokio::test]
async fn acquire_extend_release() {
    let (nodes, redlock) = start(3).await;
    registry(&redlock)
        .scope(async {
            let lock = lock("r")
                .pools(["a", "b", "c"])
                .ttl(Duration::from_secs(60))
                .retry_count(1);
            let lease = lock.acquire().await.unwrap();
            assert!(lease.validity() <= Duration::from_secs(60));
            lease.extend(Duration::from_secs(200)).await.unwrap();
            assert!(lease.validity() > Duration::from_secs(60));
            let over = lease.extend(Duration::from_secs(301)).await.unwrap_err();
            assert!(over.to_string().contains("`max_ttl`"), "{over}");
            lease.release().await;
        })
        .await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Number(#[from] std::num::ParseIntError),
}

/// Reads and doubles a number, under a lock whose name is made of the text.
async fn doubled(text: &str) -> Result<u64, Failed> {
    let lock = lock(format_args!("number:{}", Resource::part(text))).retry_count(0);
    let body = async {
        redlock_runtime::assert_held(format!("number:{}", text.replace(':', "%3A")));
        Ok(text.parse::<u64>()? * 2)
    };
    lock.try_run(body).await
}

#[tokio::test]
async fn a_block_returns_its_own_result() {
    let (nodes, redlock) = start(3).await;
    let _entered = redlock.registry().enter();
    assert_eq!(doubled("21").await.unwrap(), 42);
    let failed = doubled("4:2").await;
    assert!(matches!(failed, Err(Failed::Number(_))), "{failed:?}");
    let held = lock("number:21").acquire().await.unwrap();
    let refused = doubled("21").await;
    assert!(
        matches!(&refused, Err(Failed::Lock(error)) if error.is_contended()),
        "{refused:?}"
    );
    held.release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn without_a_name_a_lock_has_the_place_of_its_call() {
    let (nodes, redlock) = start(1).await;
    let _entered = redlock.registry().enter();
    let place = format!("{}:{}", file!(), line!() + 1);
    let held = lock("r").acquire().await.unwrap();
    assert_eq!(held.site().name(), place);
    assert_eq!(
        redlock.registry().held()[0].site.to_string(),
        format!("`{place}:16`")
    );
    let refused = lock("r").retry_count(0).acquire().await.unwrap_err();
    let holder = format!("the holder is `{place}:16` in this process, ");
    assert!(refused.to_string().contains(&holder), "{refused}");
    let own = format!("{}:{}", refused.site().file(), refused.site().line());
    assert_eq!(refused.site().name(), own);
    assert_ne!(own, place);
    held.release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn bad_requests_are_refused_before_anything_is_sent() {
    let (nodes, redlock) = start(1).await;
    registry(&redlock)
        .scope(async {
            let refused = |lock: redlock_runtime::LockBuilder, hint: &'static str| async move {
                let error = lock.acquire().await.unwrap_err();
                assert!(error.is_invalid(), "{error}");
                assert!(error.to_string().contains(hint), "{error}");
            };
            refused(lock("redlock:x"), "reserved").await;
            refused(lock(Vec::<String>::new()), "an empty list").await;
            refused(lock("r").wait(Duration::ZERO), "a wait of zero").await;
            refused(lock("r").ttl(Duration::MAX), "max_ttl").await;
            refused(lock("r").pools(["a", "a"]), "twice").await;
            refused(lock("r").pools::<&str>([]), "no pools").await;

            let error = lock("r").pools(["a", "nope"]).acquire().await.unwrap_err();
            assert!(error.is_unknown_pool(), "{error}");
            let LockErrorKind::UnknownPool { pool, configured } = error.kind() else {
                unreachable!()
            };
            assert_eq!(
                (pool.as_str(), configured.as_slice()),
                ("nope", &["a".to_owned()][..])
            );
        })
        .await;
    nodes.assert_no_lock_keys(SOON).await;
}

/// A lock that is fenced by its type, and whose options say no.
fn fenced() -> LockBuilder<Fenced<Lease>> {
    lock("r")
        .fencing()
        .options(LockOptions::new().fencing(false))
}

#[tokio::test]
async fn a_fenced_lock_comes_with_a_token_under_any_options() {
    let _locks = TestLocks::new();
    let lease = fenced().acquire().await.unwrap();
    let first = lease.fencing_token();
    assert_eq!(lease.handle().fencing_token(), first);
    lease.release().await;
    let second = fenced().run(async |lease| lease.fencing_token());
    let second = second.await.unwrap();
    let third: Result<_, LockError> = fenced()
        .try_run(async |lease| Ok(lease.fencing_token()))
        .await;
    assert!(first < second && second < third.unwrap());
}

#[tokio::test]
async fn a_body_under_a_fenced_lease_has_its_token() {
    let _locks = TestLocks::new();
    let lease = fenced().acquire().await.unwrap();
    let token = lease.fencing_token();
    let found = lease.run(async |lease| {
        let below = lock("r").run(async { current_lease()?.fenced() }).await;
        let below = below.unwrap().expect("it shares the fenced lease");
        (lease.fencing_token(), below.fencing_token())
    });
    assert_eq!(found.await.unwrap(), (token, token));
    let lease = fenced().acquire().await.unwrap();
    let token = lease.fencing_token();
    let found = lease.try_run(async |lease| Ok::<_, LockError>(lease.fencing_token()));
    assert_eq!(found.await.unwrap(), token);
}
