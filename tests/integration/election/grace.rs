//! The time that a body has after it is asked to end, on a clock that jumps to the next event.

use std::cell::Cell;
use std::future::pending;
use std::time::Duration;

use redlock_runtime::election::{Election, Term};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, election};
use tokio::time::{Instant, sleep};

use super::fixture::{OFFICE, ends, ms_later};

const TTL: Duration = Duration::from_secs(10);

/// More than the accuracy of the clock's timers.
const NEAR: Duration = Duration::from_millis(20);

/// A moment that is no multiple of the times between extensions.
const LATER: Duration = Duration::from_secs(5);

/// Its drop is the body's end.
struct End<'a>(Instant, &'a Cell<Option<Duration>>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.1.set(Some(self.0.elapsed()));
    }
}

/// Runs one term. Its body is asked to end after `LATER`, and goes on for `rest`, of the validity that it has
/// then. Returns for how long it went on, that validity, and if it was cut off.
async fn goes_on(
    election: Election,
    ask: impl Fn(&Term),
    rest: impl Fn(Duration) -> Option<Duration>,
) -> (Duration, Duration, bool) {
    let (lasted, validity, returned) = (Cell::new(None), Cell::default(), Cell::new(false));
    let run = election.run(async |term| {
        if lasted.get().is_some() {
            election.resign();
            return;
        }
        sleep(LATER).await;
        ask(&term);
        ends(term.ending()).await;
        assert!(!term.proceed().await);
        validity.set(term.lease().validity());
        let _end = End(Instant::now(), &lasted);
        match rest(validity.get()) {
            Some(rest) => sleep(rest).await,
            None => pending().await,
        }
        returned.set(true);
    });
    ends(run).await.unwrap();
    (lasted.get().unwrap(), validity.get(), !returned.get())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_was_asked_to_end_has_the_validity_left() {
    let locks = TestLocks::new();
    let candidate = || election(OFFICE).ttl(TTL);
    let (resign, wait) = (Term::resign as fn(&Term), (|_| ()) as fn(&Term));
    for (candidate, ask) in [
        (candidate(), resign),
        (candidate().max_term(LATER), wait),
        (candidate().max_term(LATER * 2), resign),
    ] {
        let (lasted, validity, is_cut_off) = goes_on(candidate.clone(), ask, |_| None).await;
        assert!(validity > TTL / 2 && is_cut_off, "{validity:?}");
        assert!(
            ms_later(validity).contains(&lasted),
            "{lasted:?} of {validity:?}"
        );
    }
    let nearly = |validity: Duration| Some(validity.saturating_sub(NEAR));
    let (_, _, is_cut_off) = goes_on(candidate(), resign, nearly).await;
    assert!(!is_cut_off, "it had time left");
    locks.assert_all_free();
}

#[tokio::test(start_paused = true)]
async fn a_term_says_no_before_the_end_of_a_lease_not_renewed() {
    let locks = TestLocks::new();
    let (election, said_no) = (election(OFFICE).ttl(TTL), Cell::new(false));
    let run = election.run(async |term| {
        locks.cut_all();
        let (began, validity) = (Instant::now(), term.lease().validity());
        sleep(validity / 2).await;
        assert!(term.proceed().await, "more than a third of it is left");
        ends(term.ending()).await;
        assert!(
            ms_later(validity / 3 * 2).contains(&began.elapsed()),
            "{:?}",
            began.elapsed()
        );
        assert!(!term.proceed().await);
        assert!(term.lease().validity() > validity / 4);
        said_no.set(true);
        election.resign();
    });
    ends(run).await.unwrap();
    assert!(said_no.get(), "it was cut off");
}

#[tokio::test(start_paused = true)]
async fn l4_a_shutdown_asks_a_body_to_end_and_then_cuts_it_off() {
    for rest in [None, Some(TTL.saturating_sub(NEAR))] {
        let config = Config::new().max_ttl(TTL * 60).shutdown_grace(TTL);
        let locks = TestLocks::with_config(config);
        let shut_down = |_: &Term| {
            let locks = locks.clone();
            tokio::spawn(async move { locks.shutdown().await });
        };
        let election = election(OFFICE).ttl(TTL * 60);
        let (lasted, _, is_cut_off) = goes_on(election, shut_down, |_| rest).await;
        assert_eq!(is_cut_off, rest.is_none());
        let expected = ms_later(rest.unwrap_or(TTL));
        assert!(expected.contains(&lasted), "{lasted:?}");
        locks.assert_all_free();
    }
}
