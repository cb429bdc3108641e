//! Readers and permits in the kit.

use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::parameters::Mode;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};

#[redlock(resource = "reports", permits = 2, retry_count = 0, guard = lease)]
async fn one_of_two() -> Result<Option<u16>, LockError> {
    Ok(lease.permit())
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
    let other = locks.hold("reports");
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
