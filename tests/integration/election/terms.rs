//! Terms in a loop.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::time::Duration;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{election, lock};
use redlock_tests::eventually;
use tokio::time::{Instant, sleep};

use super::fixture::{OFFICE, Process, SOON, Told, end_of, ends, ms_later, office, scoped};

/// A leader that loses its office loses it within this.
const TTL: Duration = Duration::from_secs(2);

#[tokio::test]
async fn l2_each_beginning_of_a_term_has_one_end() {
    let mut process = Process::start_with(|config| config.shutdown_grace(Duration::ZERO)).await;
    let election = office().ttl(TTL).options(quick());
    let standing = process.stand(&election);
    // It resigns.
    process.elected().await.resign();
    process.ended().await;
    // It loses the office. Where the machine is slow, it may lose it more often than that.
    let term = process.elected().await;
    for node in &*process.nodes {
        node.del(OFFICE);
    }
    process.ended().await;
    assert!(!term.proceed().await);
    // It leaves.
    process.elected().await;
    let candidates = process.candidates();
    let [candidate] = &candidates[..] else {
        panic!("{candidates:?}");
    };
    assert!(candidate.leading_for.is_some(), "{candidate:?}");
    election.resign();
    process.ended().await;
    end_of(standing).await.unwrap();
    assert!(process.candidates().is_empty());

    // A task that is stopped, and a body that a shutdown cuts off.
    let stopped = process.stand_with(&office(), |teller, term| async move {
        teller.lead(term, pending()).await;
    });
    process.elected().await;
    stopped.abort();
    process.ended().await;
    let cut_off = process.stand_with(&office(), |teller, term| async move {
        teller.lead(term, pending()).await;
    });
    process.elected().await;
    let rest = process.shut_down().await;
    assert!(matches!(rest[..], [Told::Ended(_)]), "{rest:?}");
    end_of(cut_off).await.unwrap();
}

fn quick() -> LockOptions {
    LockOptions::new().retry_delay(Duration::from_millis(1))
}

#[tokio::test]
async fn l3_a_leader_that_loses_its_office_stands_again_and_the_run_goes_on() {
    let mut process = Process::start().await;
    let standing = process.stand(&office().ttl(TTL));
    let first = process.elected().await;
    // A majority hangs: nothing renews the lease.
    process.nodes[0].freeze();
    process.nodes[1].freeze();
    process.ended().await;
    assert!(!standing.is_finished(), "{:?}", standing.await);
    process.nodes[0].thaw();
    process.nodes[1].thaw();
    let second = process.elected().await;
    assert!(second.fencing_token() > first.fencing_token());
    // Somebody deletes the keys and takes the office.
    for node in &*process.nodes {
        node.set(OFFICE, "somebody", None);
    }
    process.ended().await;
    process.until_refused().await;
    assert!(!standing.is_finished(), "{:?}", standing.await);
    for node in &*process.nodes {
        node.del(OFFICE);
    }
    let third = process.elected().await;
    assert!(third.fencing_token() > second.fencing_token());
    standing.abort();
}

#[tokio::test]
async fn a_call_below_a_term_shares_its_lock() {
    let process = Process::start().await;
    let election = office();
    let shares = election.run(async |term| {
        let below = lock(OFFICE).fencing(true).acquire().await.unwrap();
        assert_eq!(below.fencing_token(), Some(term.fencing_token()));
        below.release().await;
        // One that wants another kind of lock is told why it cannot have it.
        let refused = lock(OFFICE).permits(2).acquire().await.unwrap_err();
        assert!(refused.is_invalid(), "{refused}");
        assert!(term.proceed().await, "it is still held");
        election.resign();
    });
    scoped(&process, shares).await.unwrap();
    process.nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn l3_a_full_line_is_waited_out() {
    let mut process = Process::start_with(|config| config.max_callers(0)).await;
    let (one, other) = (office(), office().options(quick()));
    let first = process.stand(&one);
    process.elected().await;
    let second = process.stand(&other);
    eventually("two candidates", SOON, async || {
        let candidates = process.candidates();
        (candidates.len() == 2)
            .then_some(())
            .ok_or(format!("{candidates:?}"))
    })
    .await;
    one.resign();
    process.ended().await;
    end_of(first).await.unwrap();
    process.elected().await;
    assert!(!second.is_finished());
    other.resign();
    end_of(second).await.unwrap();
}

#[tokio::test]
async fn a_candidate_does_not_lead_while_another_client_has_the_lock() {
    let mut process = Process::start().await;
    for node in &*process.nodes {
        node.set(OFFICE, "somebody", None);
    }
    let election = election(OFFICE);
    let standing = process.stand(&election);
    process.until_refused().await;
    assert_eq!(process.candidates()[0].leading_for, None);
    for node in &*process.nodes {
        node.del(OFFICE);
    }
    process.elected().await;
    election.resign();
    process.ended().await;
    end_of(standing).await.unwrap();
}

/// What a user's test does, with the kit.
#[tokio::test(start_paused = true)]
async fn the_kit_has_someone_else_in_office_and_deposes_a_leader() {
    let locks = TestLocks::new();
    let other = locks.someone_else().named("web-7/3121").hold(OFFICE);
    let mut observer = office().observe().unwrap();
    assert!(observer.changed().await);
    let leader = observer.sighting().leader.expect("someone else");
    assert_eq!(leader.owner.as_deref(), Some("web-7/3121"));

    let (begun, mut terms) = tokio::sync::mpsc::unbounded_channel();
    let standing = tokio::spawn(async move {
        let run = async |term| {
            begun.send(term).unwrap();
            pending::<()>().await;
        };
        office().run(run).await
    });
    locks.until_waiting(OFFICE).await;
    assert!(terms.is_empty());
    other.release();
    let first = terms.recv().await.unwrap();
    locks.lose(OFFICE);
    let second = terms.recv().await.unwrap();
    assert!(second.fencing_token() > first.fencing_token());
    let report = locks.shutdown().await;
    assert_eq!(report.cancelled.len(), 1, "{report}");
    standing.await.unwrap().unwrap();
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
