//! The body and its lock: which of the two ends first, and what a body may know.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redlock_runtime::election::Term;
use redlock_runtime::lock;
use redlock_runtime::parameters::{LockOptions, Mode};
use redlock_tests::drop_after;

use super::fixture::{LONG, OFFICE, Process, SOON, Teller, Told, end_of, office, scoped};
use crate::runtime::fixture::{catch_unwind, until_held_everywhere};

const MAJORITY: usize = 2;

async fn ignore(teller: Teller, term: Term) {
    teller.lead(term, pending()).await;
}

#[tokio::test]
async fn l1_the_body_has_ended_before_the_release_is_sent() {
    let mut process = Process::start_with(|config| config.shutdown_grace(Duration::ZERO)).await;
    let (nodes, teller) = (Arc::clone(&process.nodes), process.teller.clone());
    // A body that returns by itself.
    let returns = office();
    let run = returns.run(async |term| {
        let work = async {
            until_held_everywhere(&nodes, OFFICE).await;
            returns.resign();
        };
        teller.lead(term, work).await;
    });
    scoped(&process, run).await.unwrap();
    process.elected().await;
    assert!(process.ended().await >= MAJORITY);
    nodes.assert_no_lock_keys(SOON).await;

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
async fn a_run_that_is_dropped_at_any_await_leaves_nothing_behind() {
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

/// A step that takes longer than the lease does, within one poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l7_a_body_that_lost_its_office_is_cut_off_where_it_asks_to_proceed() {
    let mut process = Process::start().await;
    let went_on = Arc::new(AtomicBool::new(false));
    let witness = Arc::clone(&went_on);
    let (election, teller) = (office().ttl(Duration::from_secs(2)), process.teller.clone());
    let leave = election.clone();
    let run = async move {
        election
            .run(async |term| {
                let step = async {
                    while !term.lease().validity().is_zero() {
                        std::hint::spin_loop();
                    }
                    term.proceed().await;
                    witness.store(true, Ordering::SeqCst);
                };
                teller.lead(term.clone(), step).await;
            })
            .await
    };
    let standing = crate::runtime::fixture::spawn_on(&process.redlock, run);
    let term = process.elected().await;
    leave.resign();
    for node in &*process.nodes {
        node.del(OFFICE);
    }
    process.ended().await;
    end_of(standing).await.unwrap();
    assert!(!went_on.load(Ordering::SeqCst), "it took another step");
    // Nobody cuts off a task that the term was passed on to.
    assert!(!term.proceed().await);
    term.ending().await;
}

#[tokio::test]
async fn l7_each_term_has_a_higher_fencing_token_and_nobody_can_ask_whether_it_leads() {
    let mut process = Process::start().await;
    let retry = LockOptions::new().retry_delay(Duration::from_millis(1));
    let election = office().options(retry);
    let standing = process.stand(&election);
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let term = process.elected().await;
        assert!(term.proceed().await);
        tokens.push(term.fencing_token());
        term.resign();
        process.ended().await;
        assert!(!term.proceed().await);
    }
    assert!(
        tokens.is_sorted() && tokens[0] < tokens[1] && tokens[1] < tokens[2],
        "{tokens:?}"
    );
    election.resign();
    end_of(standing).await.unwrap();

    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../redlock-runtime/src/election"
    );
    let mut sources = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!source.contains("fn is_leader"));
        sources += 1;
    }
    assert!(sources > 2);
}

#[tokio::test]
async fn an_election_refuses_what_it_decides_itself_and_what_could_never_be_lost() {
    let process = Process::start().await;
    let refused = async |election: redlock_runtime::election::Election| {
        let run = election.run(async |_term| unreachable!("it is refused"));
        scoped(&process, run).await.unwrap_err().to_string()
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
    let text = refused(office().max_term(Duration::ZERO)).await;
    assert!(text.contains("`max_term`"), "{text}");
    let text = refused(office().value("x".repeat(257))).await;
    assert!(text.contains("`value` of 257 bytes"), "{text}");
    let text = refused(office().pools(["nowhere"])).await;
    assert!(text.contains("nowhere"), "{text}");
    let text = refused(office().ttl(Duration::ZERO)).await;
    assert!(text.contains("ttl"), "{text}");

    let below = lock(OFFICE).run(refused(office()));
    let text = scoped(&process, below).await.unwrap();
    assert!(text.contains("below a holder of its own lock"), "{text}");
    assert!(process.candidates().is_empty());
    let outside = office().run(async |_term| {}).await.unwrap_err();
    assert!(outside.is_not_initialized(), "{outside}");
}
