//! `permits`.

use std::collections::BTreeSet;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{LockError, Redlock, lock, redlock};

use crate::runtime::fixture::{SOON, config, registry, spawn_on, stage, start, start_nodes};

#[redlock(resource = "reports", permits = 2, guard = lease)]
async fn report(mut stage: super::fixture::Stage) -> Result<u16, LockError> {
    stage.play().await;
    Ok(lease.permit().expect("`permits = 2`"))
}

#[redlock(resource = "reports", permits = 2, wait = "1m", guard = lease)]
async fn patient_report() -> Result<u16, LockError> {
    tokio::task::yield_now().await;
    Ok(lease.permit().expect("`permits = 2`"))
}

#[redlock(resource = "reports", permits = count, fencing = is_fenced, guard = lease)]
async fn one_of(count: u32, is_fenced: bool) -> Result<Option<u16>, LockError> {
    Ok(lease.permit())
}

#[tokio::test]
async fn as_many_calls_run_as_there_are_permits() {
    let (nodes, redlock) = start(3).await;
    let (first, one) = stage();
    let (second, other) = stage();
    let running = [
        spawn_on(&redlock, report(first)),
        spawn_on(&redlock, report(second)),
    ];
    one.begun.await.unwrap();
    other.begun.await.unwrap();
    let (third, _director) = stage();
    let refused = registry(&redlock).scope(report(third)).await.unwrap_err();
    assert!(refused.is_contended(), "{refused}");
    assert!(
        refused.to_string().contains("all 2 permits are held"),
        "{refused}"
    );

    let held = redlock.registry().held();
    let permits: BTreeSet<_> = held.iter().filter_map(|held| held.permit).collect();
    assert_eq!(permits, (0..2).collect());

    let waiting = spawn_on(&redlock, patient_report());
    one.end.send(()).unwrap();
    let freed = waiting.await.unwrap().unwrap();
    other.end.send(()).unwrap();
    let mut numbers = Vec::new();
    for call in running {
        numbers.push(call.await.unwrap().unwrap());
    }
    assert_eq!(
        numbers.iter().copied().collect::<BTreeSet<_>>(),
        (0..2).collect()
    );
    assert_eq!(freed, numbers[0]);
    nodes.assert_no_lock_keys(SOON).await;
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

#[tokio::test]
async fn the_defaults_may_not_have_them() {
    let nodes = start_nodes(1).await;
    let of_all = config(&nodes).defaults(LockOptions::new().permits(5));
    let refused = Redlock::start(of_all).await.unwrap_err().to_string();
    assert!(
        refused.contains("one of 5 permits of every lock of the service"),
        "{refused}"
    );
}
