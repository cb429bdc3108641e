//! Terms in a loop.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, lock};
use tokio::time::{Instant, sleep};

use super::fixture::{OFFICE, ends, ms_later, office, stand_alone};

/// A leader that loses its office loses it within this.
const TTL: Duration = Duration::from_secs(2);

#[tokio::test(start_paused = true)]
async fn l3_a_leader_that_loses_its_office_stands_again() {
    let locks = TestLocks::new();
    let (standing, mut terms) = stand_alone(office().ttl(TTL));
    let first = ends(terms.recv()).await.unwrap();
    // A majority hangs: nothing renews the lease.
    locks.node("a").hang();
    locks.node("b").hang();
    ends(first.lease().lost()).await;
    sleep(TTL).await;
    assert!(!standing.is_finished() && terms.is_empty());
    locks.restore_all();
    let second = ends(terms.recv()).await.unwrap();
    assert!(second.fencing_token() > first.fencing_token());
    // Somebody takes the office.
    let thief = locks.other_client().steal(OFFICE);
    ends(second.lease().lost()).await;
    locks.until_waiting(OFFICE).await;
    assert!(!standing.is_finished() && terms.is_empty());
    thief.release();
    let third = ends(terms.recv()).await.unwrap();
    assert!(third.fencing_token() > second.fencing_token());
    standing.abort();
}

#[tokio::test]
async fn a_call_below_a_term_shares_its_lock() {
    let locks = TestLocks::new();
    let election = office();
    let shares = election.run(async |term| {
        let below = lock(OFFICE).fencing().acquire().await.unwrap();
        assert_eq!(below.fencing_token(), term.fencing_token());
        below.release().await;
        // One that wants another kind of lock is told why it cannot have it.
        let refused = lock(OFFICE).permits(2).acquire().await.unwrap_err();
        assert!(refused.is_invalid(), "{refused}");
        assert!(term.proceed().await, "it is still held");
        election.resign();
    });
    shares.await.unwrap();
    locks.assert_all_free();
}

#[tokio::test(start_paused = true)]
async fn l3_a_full_line_is_waited_out() {
    let locks = TestLocks::with_config(Config::new().max_waiters(0));
    let [one, other] = [office(), office()];
    let (first, mut terms) = stand_alone(one.clone());
    ends(terms.recv()).await.unwrap();
    let (second, mut terms) = stand_alone(other);
    sleep(TTL).await;
    assert_eq!(locks.registry().elections().len(), 2);
    one.resign();
    ends(first).await.unwrap().unwrap();
    ends(terms.recv()).await.unwrap();
    second.abort();
}

#[tokio::test(start_paused = true)]
async fn l6_the_pause_doubles_up_to_the_ttl_while_terms_end_at_once() {
    const LASTING: usize = 5;
    let _locks = TestLocks::new();
    let delay = LockOptions::new().retry_delay(Duration::from_secs(1));
    let election = office().ttl(Duration::from_secs(10)).options(delay);
    let (ended, pauses) = (Cell::new(Instant::now()), RefCell::new(Vec::new()));
    let run = election.run(async |_term| {
        let terms = {
            let mut pauses = pauses.borrow_mut();
            pauses.push(ended.get().elapsed());
            pauses.len()
        };
        if terms == LASTING {
            sleep(Duration::from_secs(2)).await;
        } else if terms > LASTING + 1 {
            election.resign();
        }
        ended.set(Instant::now());
    });
    ends(run).await.unwrap();
    let pauses = pauses.take();
    for (pause, expected) in pauses.iter().zip([0, 2, 4, 8, 10, 2, 2]) {
        let expected = Duration::from_secs(expected);
        assert!(ms_later(expected).contains(pause), "{pauses:?}");
    }
    assert_eq!(pauses.len(), LASTING + 2);
}
