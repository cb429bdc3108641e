//! `permits`.

use redlock_runtime::{LockError, lock, redlock};

use crate::runtime::fixture::{SOON, registry, start};

#[redlock(resource = "reports", permits = count, fencing = is_fenced, guard = lease)]
async fn one_of(count: u32, is_fenced: bool) -> Result<Option<u16>, LockError> {
    Ok(lease.permit())
}

#[tokio::test]
async fn the_call_says_how_many_permits_there_are() {
    let (nodes, redlock) = start(3).await;
    let on = |call| registry(&redlock).scope(call);
    assert!(on(one_of(8, false)).await.unwrap() < Some(8));
    assert_eq!(on(one_of(1, true)).await.unwrap(), Some(0));
    for (count, is_fenced, reason) in [
        (0, false, "`permits` of 0"),
        (300, false, "`permits` of 300"),
        (u32::MAX, false, "`permits` of 65535"),
        (2, true, "needs one holder at a time"),
    ] {
        let refused = on(one_of(count, is_fenced)).await.unwrap_err();
        assert!(
            refused.is_invalid() && refused.to_string().contains(reason),
            "{refused}"
        );
    }
    nodes.assert_no_lock_keys(SOON).await;
}

#[redlock(resource = "reports", permits = 2, guard = lease)]
async fn inner() -> Result<Option<u16>, LockError> {
    Ok(lease.permit())
}

#[redlock(resource = "reports", permits = 2, guard = lease)]
async fn outer() -> Result<(), LockError> {
    assert_eq!(inner().await?, lease.permit(), "it shares the permit");
    for (lock, wanted) in [
        (lock("reports"), "wants a plain lock"),
        (lock("reports").permits(3), "wants one of 3 permits"),
    ] {
        let refused = lock.acquire().await.unwrap_err();
        let text = refused.to_string();
        assert!(refused.is_invalid() && text.contains(wanted), "{text}");
        assert!(text.contains("which holds one of 2 permits"), "{text}");
    }
    Ok(())
}

#[redlock(resource = "reports")]
async fn plain() -> Result<(), LockError> {
    let refused = inner().await.unwrap_err();
    assert!(refused.is_invalid(), "{refused}");
    assert!(
        refused.to_string().contains("which holds a plain lock"),
        "{refused}"
    );
    Ok(())
}

#[tokio::test]
async fn a_call_below_a_holder_shares_its_permit_or_is_told_why_not() {
    let (nodes, redlock) = start(3).await;
    registry(&redlock).scope(outer()).await.unwrap();
    registry(&redlock).scope(plain()).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}
