//! Locks that another client has, and leases that are lost.

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{LockError, lock, redlock};

#[redlock(resource = "order:{id}", retry_count = 0)]
pub(super) async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = ["from:{from}", "to:{to}"], retry_count = 0)]
pub(super) async fn transfer(from: u64, to: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "work", ttl = "1m", retry_count = 0)]
async fn works_forever() -> Result<(), LockError> {
    std::future::pending::<()>().await;
    Ok(())
}

#[redlock(resource = "reports", permits = 2, retry_count = 0, guard = lease)]
async fn report() -> Result<Option<u16>, LockError> {
    Ok(lease.permit())
}

#[tokio::test]
async fn a_hold_of_one_of_several_names_refuses_all_of_them() {
    let locks = TestLocks::new();
    let other = locks.other_client().named("billing-7/3121");
    let hold = other.hold("to:2");
    let error = transfer(1, 2).await.unwrap_err().to_string();
    let text = "`from:1 + to:2` is held by billing-7/3121 (name `to:2`) for ";
    assert!(error.starts_with(text), "{error}");
    locks.assert_free("from:1");
    hold.release();
    transfer(1, 2).await.unwrap();

    // A hold of several names: each of them is refused, also by a name on its own.
    let hold = other.hold(["from:1", "from:2"]);
    assert!(transfer(2, 3).await.unwrap_err().is_contended());
    let one = lock("from:1").retry_count(0).acquire().await.unwrap_err();
    assert!(one.is_contended(), "{one}");
    hold.release();
    locks.assert_all_free();
}

#[tokio::test]
async fn a_permit_elsewhere_is_one_holder_and_no_other_is_lost() {
    let locks = TestLocks::new();
    let first = locks.hold("reports");
    let second = lock("reports").permits(2).acquire().await.unwrap();
    assert_eq!(second.permit(), Some(1));
    let error = report().await.unwrap_err().to_string();
    let text = "all 2 permits are held, the first to expire by";
    assert!(error.contains(text), "{error}");
    locks.lose("reports");
    assert_eq!(second.lost().await, LeaseEnd::Taken(None));
    assert_eq!(report().await.unwrap(), Some(1), "the first one is held");
    first.release();
    locks.assert_free("reports");
    locks.assert_all_free();
}

#[tokio::test]
async fn a_lost_lease_cancels_its_body_and_is_recorded() {
    let locks = TestLocks::new();
    let work = tokio::spawn(works_forever());
    locks.until_held("work").await;
    locks.lose("work");
    let error = work.await.unwrap().unwrap_err();
    let is_taken = matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Taken(_)));
    assert!(is_taken, "{error}");
    let outcome = &locks.acquisitions_of("work")[0].outcome;
    assert!(
        matches!(outcome, Outcome::Lost(LeaseEnd::Taken(_))),
        "{outcome}"
    );
    locks.assert_free("work");
}
