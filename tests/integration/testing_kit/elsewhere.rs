//! Locks that another client has, and leases that are lost.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{LockError, lock, redlock};

#[redlock(resource = "order:{id}", retry_count = 0)]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = "work", ttl = "1m", retry_count = 0)]
async fn works_forever() -> Result<(), LockError> {
    std::future::pending::<()>().await;
    Ok(())
}

#[redlock(resource = "account", fencing = true, guard = lease, retry_count = 0)]
async fn fenced() -> Result<i64, LockError> {
    Ok(lease.fencing_token().expect("`fencing = true`").as_i64())
}

#[tokio::test]
async fn a_hold_refuses_others_by_name_until_it_is_released() {
    let locks = TestLocks::new();
    let hold = locks.hold("order:42");
    let error = charge(42).await.unwrap_err();
    assert!(error.is_contended());
    assert!(
        error.to_string().contains("held by someone-else/1"),
        "{error}"
    );
    charge(43).await.unwrap();
    hold.release();
    locks.assert_free("order:42");
    charge(42).await.unwrap();
    {
        let _hold = locks
            .someone_else()
            .named("billing-7/3121")
            .hold("order:42");
        let error = charge(42).await.unwrap_err().to_string();
        assert!(error.contains("billing-7/3121"), "{error}");
    }
    charge(42).await.unwrap();
    locks.assert_all_free();
}

#[redlock(resource = ["from:{from}", "to:{to}"], retry_count = 0)]
async fn transfer(from: u64, to: u64) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_hold_of_one_of_several_names_refuses_all_of_them_and_leaves_the_others_free() {
    let locks = TestLocks::new();
    let other = locks.someone_else().named("billing-7/3121");
    let hold = other.hold("to:2");
    let error = transfer(1, 2).await.unwrap_err();
    assert!(error.is_contended(), "{error}");
    let text = "`from:1 + to:2` is held by billing-7/3121 (name `to:2`) for ";
    assert!(error.to_string().starts_with(text), "{error}");
    locks.assert_free("from:1");
    transfer(1, 3).await.unwrap();
    hold.release();
    transfer(1, 2).await.unwrap();

    // A hold of several names: each of them is refused, also by a name on its own.
    let hold = other.hold(["from:1", "from:2"]);
    assert!(transfer(2, 3).await.unwrap_err().is_contended());
    let one = lock("from:1").retry_count(0).acquire().await.unwrap_err();
    assert!(one.is_contended(), "{one}");
    hold.release();
    transfer(2, 3).await.unwrap();
    locks.assert_all_free();
}

#[redlock(resource = "reports", permits = 2, retry_count = 0, guard = lease)]
async fn report() -> Result<Option<u16>, LockError> {
    Ok(lease.permit())
}

#[tokio::test]
async fn a_permit_that_another_has_is_one_holder() {
    let locks = TestLocks::new();
    let first = locks.hold("reports");
    assert_eq!(report().await.unwrap(), Some(1));
    let second = lock("reports").permits(2).acquire().await.unwrap();
    let error = report().await.unwrap_err().to_string();
    assert!(
        error.contains("all 2 permits are held, the first to expire by"),
        "{error}"
    );
    first.release();
    assert_eq!(report().await.unwrap(), Some(0));
    let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        locks.assert_free("reports");
    }));
    assert!(left.is_err(), "the second permit is held");
    second.release().await;
    locks.assert_free("reports");
    locks.assert_all_free();
}

#[tokio::test]
async fn a_hold_on_one_node_is_outvoted_and_one_on_a_majority_is_not() {
    let locks = TestLocks::new();
    let minority = locks.someone_else().on(["b"]).hold("order:1");
    charge(1).await.unwrap();
    assert_eq!(locks.node("a").keys().len(), 0);
    assert_eq!(locks.node("b").keys().len(), 1);
    let _majority = locks.someone_else().on(["a", "c"]).hold("order:1");
    assert!(charge(1).await.unwrap_err().is_contended());
    drop(minority);
    assert!(charge(1).await.unwrap_err().is_contended());
}

#[tokio::test]
#[should_panic(expected = "there is no pool `x`; there are a, b, c")]
async fn a_hold_on_a_pool_that_is_not_there_is_refused() {
    let _hold = TestLocks::new().someone_else().on(["x"]).hold("r");
}

#[tokio::test]
#[should_panic(expected = "`work` by `integration::testing_kit::elsewhere::works_forever`")]
async fn what_the_code_under_test_holds_cannot_be_held_by_others() {
    let locks = TestLocks::new();
    let _work = tokio::spawn(works_forever());
    locks.until_held("work").await;
    let _hold = locks.hold("work");
}

#[tokio::test]
async fn a_hold_that_is_refused_leaves_nothing_behind() {
    let locks = TestLocks::new();
    let _first = locks.someone_else().on(["c"]).hold("r");
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| locks.hold("r")));
    assert!(refused.is_err());
    assert!(locks.node("a").keys().is_empty() && locks.node("b").keys().is_empty());
    assert_eq!(locks.node("c").keys().len(), 1);
}

#[tokio::test]
#[should_panic(expected = "no node grants it")]
async fn nobody_holds_anything_where_no_node_can_be_reached() {
    let locks = TestLocks::new();
    locks.cut_all();
    let _hold = locks.hold("r");
}

#[tokio::test]
async fn a_lost_lease_cancels_the_body_and_tells_who_waits_for_it() {
    let locks = TestLocks::new();
    let work = tokio::spawn(works_forever());
    let lease = lock("bare").acquire().await.unwrap();
    locks.until_held("work").await;
    locks.lose("work");
    let error = work.await.unwrap().unwrap_err();
    assert!(
        matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Taken(_))),
        "{error}"
    );
    let [work] = &locks.acquisitions_of("work")[..] else {
        panic!();
    };
    assert!(
        matches!(work.outcome, Outcome::Lost(LeaseEnd::Taken(_))),
        "{work}"
    );
    locks.assert_free("work");

    locks.assert_held("bare");
    locks.lose("bare");
    locks.assert_free("bare");
    assert_eq!(lease.lost().await, LeaseEnd::Taken(None));
    assert!(lease.validity().is_zero());
}

#[tokio::test]
async fn nodes_that_forget_everything_end_all_leases() {
    let locks = TestLocks::new();
    let work = tokio::spawn(works_forever());
    locks.until_held("work").await;
    locks.lose_all();
    let error = work.await.unwrap().unwrap_err();
    assert!(
        matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Forgotten)),
        "{error}"
    );
    locks.assert_all_free();
    charge(1).await.unwrap();
}

#[tokio::test]
async fn a_holder_whose_lock_was_stolen_finds_out_when_it_extends() {
    let locks = TestLocks::new();
    let lease = lock("r")
        .ttl(Duration::from_secs(60))
        .acquire()
        .await
        .unwrap();
    let thief = locks.someone_else().steal("r");
    assert!(!lease.validity().is_zero(), "nobody told it");
    assert!(
        lease
            .extend(Duration::from_secs(60))
            .await
            .unwrap_err()
            .is_lost()
    );
    lease.release().await;
    // The late release is not for the thief's key.
    assert_eq!(locks.node("a").keys().len(), 1);
    thief.release();
    locks.assert_all_free();
}

#[tokio::test]
async fn fencing_tokens_grow_and_are_recorded() {
    let locks = TestLocks::new();
    let (first, second) = (fenced().await.unwrap(), fenced().await.unwrap());
    assert!(second > first);
    let recorded = locks.acquisitions_of("account");
    let recorded = recorded.iter().map(|it| it.fencing_token.unwrap().as_i64());
    assert_eq!(recorded.collect::<Vec<_>>(), [first, second]);
    locks.assert_all_free();
}
