//! Which parameters count, on nodes in the process and on a clock that jumps to the next event.

use std::cell::Cell;
use std::future::pending;
use std::time::Duration;

use redlock_runtime::election::{Election, Term};
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::parameters::{LockOptions, OnLost};
use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{Config, election};
use tokio::time::sleep;

use super::fixture::{OFFICE, ends, ms_later, stand_alone};
use super::standing::pause_after;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The ttl of the first term, and the time from its end to the beginning of the second one.
async fn ttl_and_pause(locks: &TestLocks, election: Election) -> (Duration, Duration) {
    let ttl = Cell::default();
    let look = async |_term| ttl.set(locks.node("a").remaining(OFFICE.as_bytes()).unwrap());
    let pause = pause_after(election, look).await;
    (ttl.get(), pause)
}

#[tokio::test(start_paused = true)]
async fn an_office_and_its_observer_are_on_the_named_pools() {
    let locks = TestLocks::with_config(Config::new().default_pools(["a", "b"]));
    let candidate = election(OFFICE).pools(["b"]).name("office");
    let (standing, mut terms) = stand_alone(candidate.clone());
    ends(terms.recv()).await.unwrap();
    assert!(locks.node("a").keys().is_empty());
    assert!(locks.node("b").get(OFFICE.as_bytes()).is_some());
    let candidates = locks.registry().elections();
    assert_eq!(candidates[0].site.name(), "office");
    for (observed, is_seen) in [(candidate, true), (election(OFFICE).pools(["a"]), false)] {
        let mut watch = observed.watch().unwrap();
        assert!(ends(watch.changed()).await);
        assert_eq!(watch.status().leader.is_some(), is_seen);
    }
    standing.abort();
}

#[tokio::test(start_paused = true)]
async fn the_last_value_of_a_parameter_counts_and_else_the_default() {
    let defaults = LockOptions::new().ttl(seconds(20)).retry_delay(seconds(5));
    let config = Config::new().max_ttl(seconds(600)).defaults(defaults);
    let locks = TestLocks::with_config(config);
    let (delay, ttl) = (
        LockOptions::new().retry_delay(seconds(3)),
        LockOptions::new().ttl(seconds(10)),
    );
    let office = || election(OFFICE);
    for (election, expected) in [
        (office(), (20, 10)),
        (office().ttl(seconds(10)), (10, 10)),
        (office().options(delay), (20, 6)),
        (office().options(delay).options(ttl), (10, 6)),
        (
            office().ttl(seconds(7)).options(ttl).options(delay),
            (10, 6),
        ),
        (
            office()
                .options(ttl.ttl(seconds(7)))
                .options(delay)
                .ttl(seconds(10)),
            (10, 6),
        ),
    ] {
        let (ttl, pause) = ttl_and_pause(&locks, election).await;
        assert_eq!(ttl, seconds(expected.0));
        assert!(ms_later(seconds(expected.1)).contains(&pause), "{pause:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_defaults_do_not_change_what_an_election_decides() {
    let defaults = LockOptions::new()
        .wait(seconds(1))
        .max_hold(seconds(90))
        .fencing(false)
        .on_lost(OnLost::Continue);
    let config = Config::new().max_ttl(seconds(600)).defaults(defaults);
    let locks = TestLocks::with_config(config);
    let other = locks.other_client().ttl(seconds(600)).hold(OFFICE);
    let (begun, mut terms) = tokio::sync::mpsc::unbounded_channel();
    let standing = tokio::spawn(async move {
        let ignores = async |term: Term| {
            begun.send(term).unwrap();
            pending::<()>().await;
        };
        election(OFFICE).ttl(seconds(10)).run(ignores).await
    });
    sleep(seconds(300)).await;
    let acquisitions = locks.acquisitions_of(OFFICE);
    assert!(
        matches!(&acquisitions[..], [one] if matches!(one.outcome, Outcome::Waiting)),
        "it waits once, and for ever: {acquisitions:?}"
    );
    other.release();
    let first = ends(terms.recv()).await.unwrap();
    sleep(seconds(300)).await;
    assert!(
        first.proceed().await,
        "its lease is renewed without a limit"
    );
    locks.lose(OFFICE);
    let second = ends(terms.recv()).await.unwrap();
    assert!(second.fencing_token() > first.fencing_token());
    standing.abort();
    assert!(standing.await.unwrap_err().is_cancelled());
    assert_eq!(second.lease().lost().await, LeaseEnd::Released);
    locks.assert_all_free();
}
