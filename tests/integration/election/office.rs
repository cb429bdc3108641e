//! The body and its lock: which of the two ends first, and what a body may know.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redlock_runtime::election::Election;
use redlock_runtime::parameters::{Kind, LockOptions};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, lock};
use redlock_tests::drop_after;

use super::fixture::{LONG, OFFICE, Process, SOON, ends, office, scoped};

/// Its drop is the body's end, at which the key has to be there still.
struct End<'a>(&'a TestLocks, &'a AtomicU32);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let nodes = ["a", "b", "c"].map(|pool| self.0.node(pool));
        let is_held = nodes
            .iter()
            .all(|node| node.get(OFFICE.as_bytes()).is_some());
        self.1.fetch_add(u32::from(is_held), Ordering::SeqCst);
    }
}

#[tokio::test]
async fn l1_the_body_has_ended_before_the_release_is_sent() {
    let config = Config::new().shutdown_grace(Duration::ZERO);
    let locks = TestLocks::with_config(config);
    let ended = Arc::<AtomicU32>::default();
    let stand = |panics: bool| {
        let (locks, ended) = (locks.clone(), Arc::clone(&ended));
        tokio::spawn(async move {
            let body = async |_term| {
                let _end = End(&locks, &ended);
                assert!(!panics, "on purpose");
                pending::<()>().await;
            };
            office().run(body).await
        })
    };
    assert!(stand(true).await.unwrap_err().is_panic());
    locks.assert_all_free();
    // A run that its caller drops.
    let dropped = stand(false);
    locks.until_held(OFFICE).await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    locks.assert_all_free();
    // A body that a shutdown cuts off.
    let cut_off = stand(false);
    locks.until_held(OFFICE).await;
    locks.shutdown().await;
    cut_off.await.unwrap().unwrap();
    locks.assert_all_free();
    assert_eq!(ended.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_run_that_is_dropped_at_any_await_leaves_nothing() {
    for polls in 0..12 {
        let process = Process::start().await;
        let election = office();
        // The body wakes itself, so that each number of polls is reached.
        let run = election.run(async |_term| {
            loop {
                tokio::task::yield_now().await;
            }
        });
        let ended = scoped(&process, drop_after(polls, run)).await;
        assert!(ended.is_none(), "{ended:?}");
        assert!(process.redlock.registry().elections().is_empty());
        process.nodes.assert_no_lock_keys(SOON).await;
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
        (LockOptions::new().kind(Kind::Read), "`kind`"),
        (LockOptions::new().kind(Kind::Write), "`kind`"),
    ] {
        let text = refused(office().options(options)).await;
        assert!(text.contains(name) && text.contains("leave"), "{text}");
    }
    let long = "`value` has 258 bytes, more than the 256 allowed; shorten it";
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
    let unknown = office().pools(["nowhere"]).watch().unwrap_err();
    assert!(unknown.to_string().contains("nowhere"), "{unknown}");
    drop(locks);
    let outside = office().run(async |_term| {}).await.unwrap_err();
    assert!(outside.is_not_initialized(), "{outside}");
    let outside = office().watch().unwrap_err();
    assert!(outside.is_not_initialized(), "{outside}");
}
