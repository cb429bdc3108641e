//! A candidate between its terms. The clock jumps to the next event.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::time::Duration;

use redlock_runtime::election::{Election, Term};
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, election};
use tokio::time::{Instant, sleep};

use super::fixture::{OFFICE, ends, ms_later, stand_alone};

const DELAY: Duration = Duration::from_secs(3);

fn candidate() -> Election {
    election(OFFICE).options(LockOptions::new().retry_delay(DELAY))
}

/// The time from the end of a first term, whose body is `body`, to the beginning of the second one.
pub(super) async fn pause_after(election: Election, body: impl AsyncFn(Term)) -> Duration {
    /// Its drop is the body's end.
    struct End<'a>(&'a Cell<Option<Instant>>);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.set(Some(Instant::now()));
        }
    }
    let (ended, pause) = (Cell::new(None), Cell::default());
    let run = election.run(async |term| {
        if let Some(ended) = ended.get() {
            pause.set(Instant::elapsed(&ended));
            election.resign();
        } else {
            let _end = End(&ended);
            body(term).await;
        }
    });
    ends(run).await.unwrap();
    pause.get()
}

#[tokio::test(start_paused = true)]
async fn l8_a_candidate_stands_aside_after_a_term_that_it_ended() {
    let _locks = TestLocks::new();
    let is_aside = |pause| assert!(ms_later(DELAY * 2).contains(&pause), "{pause:?}");
    is_aside(pause_after(candidate(), async |_term| {}).await);
    let resigned = pause_after(candidate(), async |term| {
        term.resign();
        term.ending().await;
    });
    is_aside(resigned.await);
    let cut_off = pause_after(candidate(), async |term| {
        term.resign();
        pending::<()>().await;
    });
    is_aside(cut_off.await);
}

#[tokio::test(start_paused = true)]
async fn l3_a_candidate_that_lost_its_office_does_not_stand_aside() {
    let locks = TestLocks::new();
    let lost = pause_after(candidate(), async |_term| {
        locks.lose(OFFICE);
        pending::<()>().await;
    });
    let lost = lost.await;
    assert!(ms_later(Duration::ZERO).contains(&lost), "{lost:?}");
    // Nor does it if it has stood aside before.
    let (standing, mut terms) = stand_alone(candidate());
    ends(terms.recv()).await.unwrap().resign();
    ends(terms.recv()).await.unwrap();
    locks.lose(OFFICE);
    let lost = Instant::now();
    ends(terms.recv()).await.unwrap();
    assert!(
        ms_later(Duration::ZERO).contains(&lost.elapsed()),
        "{:?}",
        lost.elapsed()
    );
    standing.abort();
}

#[tokio::test(start_paused = true)]
async fn l3_a_candidate_goes_on_for_as_long_as_no_majority_answers() {
    let locks = TestLocks::new();
    locks.cut_all();
    let (standing, mut terms) = stand_alone(candidate());
    sleep(DELAY * 10_000).await;
    assert!(!standing.is_finished(), "{:?}", standing.await);
    assert!(terms.is_empty());
    locks.restore_all();
    let restored = Instant::now();
    ends(terms.recv()).await.unwrap();
    assert!(restored.elapsed() <= DELAY, "{:?}", restored.elapsed());
    standing.abort();
}

#[tokio::test(start_paused = true)]
async fn l6_a_candidate_that_stands_aside_leaves_at_once() {
    let _locks = TestLocks::new();
    let election = candidate();
    let (standing, mut terms) = stand_alone(election.clone());
    let term = ends(terms.recv()).await.unwrap();
    term.resign();
    term.lease().lost().await;
    sleep(DELAY).await;
    election.resign();
    let resigned = Instant::now();
    ends(standing).await.unwrap().unwrap();
    assert!(
        ms_later(Duration::ZERO).contains(&resigned.elapsed()),
        "{:?}",
        resigned.elapsed()
    );
    assert!(ends(terms.recv()).await.is_none(), "it was elected again");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_returns_an_error_ends_the_run() {
    let locks = TestLocks::new();
    let (election, terms) = (candidate(), RefCell::new(0));
    let run = election.try_run(async |_term| {
        *terms.borrow_mut() += 1;
        if *terms.borrow() < 3 {
            Ok(())
        } else {
            Err(Failed)
        }
    });
    assert!(ends(run).await.is_err());
    assert_eq!(terms.into_inner(), 3);
    locks.assert_all_free();
}

#[derive(Debug)]
struct Failed;

impl From<LockError> for Failed {
    fn from(_: LockError) -> Self {
        Self
    }
}
