//! Readers, permits and locks that are given away, in the kit.

use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::parameters::Mode;
use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{LockError, lock, redlock};

#[redlock(resource = "reports", permits = 2, retry_count = 0, guard = lease)]
async fn one_of_two() -> Result<Option<u16>, LockError> {
    Ok(lease.permit())
}

#[tokio::test]
async fn a_lock_that_another_gave_away_is_claimed() {
    let locks = TestLocks::new();
    let other = locks.someone_else().on(["a", "b", "c"]);
    let ticket = other.hold("import").transfer();
    let text = ticket.to_secret();
    let refused = lock("import").retry_count(0).acquire().await.unwrap_err();
    assert!(refused.is_contended(), "{refused}");
    let lease = lock("import").claim(ticket).await.unwrap();
    let again = lock("import").claim(text.parse().unwrap()).await;
    assert!(again.unwrap_err().is_spent());
    lease.release().await;
    locks.assert_all_free();
}

#[tokio::test]
async fn a_lock_that_was_given_away_is_claimed_by_another() {
    let locks = TestLocks::new();
    let lease = lock("import").acquire().await.unwrap();
    let text = lease.transfer().unwrap().to_secret();
    let [given] = &locks.acquisitions_of("import")[..] else {
        panic!();
    };
    assert!(matches!(given.outcome, Outcome::Transferred), "{given}");
    assert!(given.was_locked() && !given.is_held(), "{given}");
    let other = locks.someone_else().named("billing-7/3121");
    let hold = other.claim(text.parse().unwrap());
    let error = lock("import").retry_count(0).acquire().await.unwrap_err();
    assert!(error.to_string().contains("billing-7/3121"), "{error}");
    let spent = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        other.claim(text.parse().unwrap())
    }));
    assert!(spent.is_err(), "a ticket is good once");
    hold.release();
    locks.assert_all_free();
}

#[tokio::test]
async fn a_share_of_a_lease_is_not_recorded_as_given_away() {
    let locks = TestLocks::new();
    let lease = lock("import").acquire().await.unwrap();
    let below = lease.run(|_| async {
        let shared = lock("import").acquire().await.unwrap();
        shared.transfer().unwrap_err()
    });
    let error = below.await.unwrap();
    assert!(error.is_invalid(), "{error}");
    let [_, shared] = &locks.acquisitions_of("import")[..] else {
        panic!();
    };
    assert!(matches!(shared.outcome, Outcome::Released), "{shared}");
    locks.assert_all_free();
}

#[tokio::test]
#[should_panic(expected = "such a lock is not given away")]
async fn a_permit_that_another_has_is_not_given_away() {
    let locks = TestLocks::new();
    let _ticket = locks.someone_else().hold_permit("reports", 0).transfer();
}

#[tokio::test]
async fn a_reader_elsewhere_keeps_writers_out_and_a_writer_keeps_readers_out() {
    let locks = TestLocks::new();
    let attempt = |mode| lock("report:7").mode(mode).retry_count(0).acquire();
    let reading = locks.someone_else().mode(Mode::Read).hold("report:7");
    let error = attempt(Mode::Write).await.unwrap_err();
    assert!(error.to_string().contains("held by readers"), "{error}");
    attempt(Mode::Read).await.unwrap().release().await;
    // It is one reader of several, and leaves the others.
    let also = attempt(Mode::Read).await.unwrap();
    reading.release();
    assert!(attempt(Mode::Write).await.unwrap_err().is_contended());
    also.release().await;
    let writing = locks.someone_else().mode(Mode::Write).hold("report:7");
    for mode in [Mode::Read, Mode::Write] {
        let error = attempt(mode).await.unwrap_err().to_string();
        assert!(error.contains("held by someone-else/1"), "{error}");
    }
    writing.release();
    locks.assert_all_free();
}

#[tokio::test]
async fn a_lost_permit_is_no_other_holders() {
    let locks = TestLocks::new();
    let other = locks.someone_else().hold_permit("reports", 0);
    let lease = lock("reports").permits(2).acquire().await.unwrap();
    assert_eq!(lease.permit(), Some(1));
    locks.lose("reports");
    assert_eq!(lease.lost().await, LeaseEnd::Taken(None));
    assert_eq!(
        one_of_two().await.unwrap(),
        Some(1),
        "the first one is held"
    );
    other.release();
    drop(lease);
    locks.assert_all_free();
}

#[tokio::test]
async fn readers_that_lose_their_lock_leave_it_to_a_writer() {
    let locks = TestLocks::new();
    let attempt = |mode| lock("report:7").mode(mode).retry_count(0).acquire();
    let reader = attempt(Mode::Read).await.unwrap();
    locks.lose("report:7");
    assert_eq!(reader.lost().await, LeaseEnd::Taken(None));
    locks.assert_free("report:7");
    let writer = attempt(Mode::Write).await.unwrap();
    // The late release is not for the writer's key.
    reader.release().await;
    assert!(attempt(Mode::Read).await.unwrap_err().is_contended());
    writer.release().await;
    locks.assert_all_free();
}
