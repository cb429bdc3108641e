//! The body and its lock: which of the two ends first, and what a body may know.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use redlock_runtime::election::{Election, Term};
use redlock_runtime::lock;
use redlock_runtime::parameters::{LockOptions, Mode};
use redlock_runtime::testing::TestLocks;
use redlock_tests::drop_after;

use super::fixture::{LONG, OFFICE, Process, SOON, Teller, Told, end_of, ends, office, scoped};
use crate::runtime::fixture::{catch_unwind, until_held_everywhere};

const MAJORITY: usize = 2;

async fn ignore(teller: Teller, term: Term) {
    teller.lead(term, pending()).await;
}

#[tokio::test]
async fn l1_the_body_has_ended_before_the_release_is_sent() {
    let mut process = Process::start_with(|config| config.shutdown_grace(Duration::ZERO)).await;
    let (nodes, teller) = (Arc::clone(&process.nodes), process.teller.clone());
    // A body that panics.
    let panics = office();
    let run = panics.run(async |term| {
        let work = async {
            until_held_everywhere(&nodes, OFFICE).await;
            panic!("on purpose");
        };
        teller.lead(term, work).await;
    });
    assert!(catch_unwind(scoped(&process, run)).await.is_err());
    process.elected().await;
    assert!(process.ended().await >= MAJORITY);
    nodes.assert_no_lock_keys(SOON).await;

    // A run that its caller drops.
    let dropped = process.stand_with(&office(), ignore);
    process.elected().await;
    until_held_everywhere(&nodes, OFFICE).await;
    dropped.abort();
    assert!(process.ended().await >= MAJORITY);
    nodes.assert_no_lock_keys(SOON).await;

    // A body that a shutdown cuts off.
    drop(teller);
    let stubborn = process.stand_with(&office(), ignore);
    process.elected().await;
    until_held_everywhere(&nodes, OFFICE).await;
    let rest = process.shut_down().await;
    assert!(matches!(rest[..], [Told::Ended(MAJORITY..)]), "{rest:?}");
    end_of(stubborn).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_run_that_is_dropped_at_any_await_leaves_nothing() {
    for polls in 0..12 {
        let process = Process::start().await;
        let teller = process.teller.clone();
        let election = office();
        // The body wakes itself, so that each number of polls is reached.
        let run = election.run(async |term| {
            let work = async {
                loop {
                    tokio::task::yield_now().await;
                }
            };
            teller.lead(term, work).await;
        });
        let ended = scoped(&process, drop_after(polls, run)).await;
        assert!(ended.is_none(), "{ended:?}");
        assert!(process.candidates().is_empty());
        process.nodes.assert_no_lock_keys(SOON).await;
        drop(teller);
        let told = process.shut_down().await;
        let is_pair = |pair: &[Told]| matches!(pair, [Told::Began(_), Told::Ended(_)]);
        assert!(told.chunks(2).all(is_pair), "{told:?}");
    }
}

/// The lease is lost within one poll of the body.
#[tokio::test(start_paused = true)]
async fn l7_a_body_that_lost_its_office_is_cut_off_at_proceed() {
    let locks = TestLocks::new();
    let (election, kept, went_on) = (office(), RefCell::new(None), Cell::new(false));
    let run = election.run(async |term| {
        kept.replace(Some(term.clone()));
        election.resign();
        locks.lose(OFFICE);
        term.proceed().await;
        went_on.set(true);
    });
    ends(run).await.unwrap();
    assert!(!went_on.get(), "it took another step");
    // Nobody cuts off a task that the term was passed on to.
    let term = kept.take().unwrap();
    assert!(!term.proceed().await);
    term.ending().await;
}

#[tokio::test]
async fn an_election_refuses_what_it_decides_itself() {
    let locks = TestLocks::new();
    let refused = async |election: Election| {
        let run = election.run(async |_term| unreachable!("it is refused"));
        run.await.unwrap_err().to_string()
    };
    for (options, name) in [
        (LockOptions::new().retry_count(3), "`retry_count`"),
        (LockOptions::new().wait(LONG), "`wait`"),
        (LockOptions::new().max_hold(LONG), "`max_hold`"),
        (LockOptions::new().once_per(LONG), "`once_per`"),
        (LockOptions::new().fencing(false), "`fencing`"),
        // Several would lead at a time.
        (LockOptions::new().permits(2), "`permits`"),
        (LockOptions::new().mode(Mode::Read), "`mode`"),
        (LockOptions::new().mode(Mode::Write), "`mode`"),
    ] {
        let text = refused(office().options(options)).await;
        assert!(text.contains(name) && text.contains("leave"), "{text}");
    }
    let long = "a `value` of 258 bytes, of at most 256; shorten it";
    for (election, why) in [
        (office().max_term(Duration::ZERO), "`max_term`"),
        (office().value("é".repeat(129)), long),
        (office().pools(["nowhere"]), "nowhere"),
        (office().ttl(Duration::ZERO), "ttl"),
    ] {
        let text = refused(election).await;
        assert!(text.contains(why), "{text}");
    }
    let text = lock(OFFICE).run(refused(office())).await.unwrap();
    assert!(text.contains("below a holder of its own lock"), "{text}");
    assert!(locks.registry().elections().is_empty());
    let unknown = office().pools(["nowhere"]).observe().unwrap_err();
    assert!(unknown.to_string().contains("nowhere"), "{unknown}");
    drop(locks);
    let outside = office().run(async |_term| {}).await.unwrap_err();
    assert!(outside.is_not_initialized(), "{outside}");
    let outside = office().observe().unwrap_err();
    assert!(outside.is_not_initialized(), "{outside}");
}
