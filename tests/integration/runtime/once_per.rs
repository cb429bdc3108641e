//! Jobs that run once a period, on real servers: two registries are two processes.

use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::parameters::{OnLost, Remember};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{FromLockError, LockError, lock, redlock};
use tokio::sync::oneshot;

use crate::runtime::fixture::{SOON, start};

const HOUR: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, PartialEq)]
enum Failed {
    Lock,
    Job,
}

impl From<LockError> for Failed {
    fn from(_: LockError) -> Self {
        Self::Lock
    }
}

#[redlock(resource = "r", once_per = "1h")]
async fn told() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", once_per = "1h", if_locked = "skip")]
async fn skips(runs: &AtomicU32) -> Option<u32> {
    // A value that says nothing of success: the run has ended.
    (runs.fetch_add(1, Ordering::Relaxed) > 1000).then_some(1)
}

/// A way out of a body.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WayOut {
    Returns,
    Fails,
    Panics,
    /// Its caller drops it.
    IsDropped,
    /// It is cancelled, as the ttl has passed.
    Expires,
    /// A shutdown cancels it.
    IsShutDown,
}

impl WayOut {
    const ALL: [Self; 6] = [
        Self::Returns,
        Self::Fails,
        Self::Panics,
        Self::IsDropped,
        Self::Expires,
        Self::IsShutDown,
    ];

    async fn take(self, begun: oneshot::Sender<()>) -> Result<(), Failed> {
        let _ = begun.send(());
        match self {
            Self::Returns => Ok(()),
            Self::Fails => Err(Failed::Job),
            Self::Panics => panic!("the body's own"),
            Self::IsDropped | Self::Expires | Self::IsShutDown => pending().await,
        }
    }
}

#[redlock(resource = "r", once_per = "1h", remember = "success")]
async fn success_counts(way: WayOut, begun: oneshot::Sender<()>) -> Result<(), Failed> {
    way.take(begun).await
}

#[redlock(resource = "r", once_per = "1h", remember = "every_run")]
async fn every_run_counts(way: WayOut, begun: oneshot::Sender<()>) -> Result<(), Failed> {
    way.take(begun).await
}

#[redlock(resource = "r", once_per = "1h", on_lost = "continue")]
async fn goes_on(locks: &TestLocks) -> Result<(), LockError> {
    locks.lose("r");
    Ok(())
}

enum Swept {
    Fully,
    InPart,
    Not(LockError),
}

impl FromLockError for Swept {
    fn from_lock_error(error: LockError) -> Self {
        Self::Not(error)
    }

    fn is_success(value: &Self) -> bool {
        matches!(value, Self::Fully)
    }
}

#[redlock(resource = "r", once_per = "1h", guard = lease)]
async fn sweeps(fully: bool) -> Swept {
    assert!(!lease.validity().is_zero());
    if fully { Swept::Fully } else { Swept::InPart }
}

fn is_remembered(locks: &TestLocks) -> bool {
    locks.node("a").get(b"redlock:once:{r}").is_some()
}

#[tokio::test]
async fn a_second_call_is_told_of_the_last_run_and_of_the_next() {
    let (nodes, redlock) = start(3).await;
    let _entered = redlock.registry().enter();
    told().await.unwrap();
    let error = told().await.unwrap_err();
    assert!(error.is_already_run() && !error.is_contended());
    let LockErrorKind::AlreadyRun(run) = error.kind() else {
        panic!("{error}");
    };
    let owner = run.owner.clone().expect("the record names who ran");
    assert!(owner.ends_with(&format!("/{}", std::process::id())));
    assert!(run.began.is_some());
    assert!(run.next_in <= HOUR / 10 * 9 && run.next_in > HOUR / 10 * 8);
    assert_eq!(error.retry_after(), Some(run.next_in));
    let text = error.to_string();
    assert!(
        text.starts_with(&format!(
            "`r` was run already in this period: {owner} began at 2"
        )) && text.contains("; it may run again in 5"),
        "{text}"
    );
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test(start_paused = true)]
async fn success_counts_or_every_way_out_of_a_run_that_began() {
    for way in WayOut::ALL {
        for remember in [Remember::Success, Remember::EveryRun] {
            let locks = TestLocks::new();
            let (begun, has_begun) = oneshot::channel();
            let call = match remember {
                Remember::EveryRun => tokio::spawn(every_run_counts(way, begun)),
                _ => tokio::spawn(success_counts(way, begun)),
            };
            has_begun.await.unwrap();
            match way {
                WayOut::IsDropped => call.abort(),
                WayOut::IsShutDown => drop(locks.shutdown().await),
                _ => {}
            }
            let _ = call.await;
            locks.assert_all_free();
            let expected = remember == Remember::EveryRun || way == WayOut::Returns;
            assert_eq!(is_remembered(&locks), expected, "{way:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_lease_was_lost_is_not_remembered() {
    let locks = TestLocks::new();
    goes_on(&locks).await.unwrap();
    assert!(!is_remembered(&locks));

    let body = lock("r").once_per(HOUR).on_lost(OnLost::Cancel);
    let body = body.run(async {
        locks.lose("r");
        std::future::pending::<()>().await;
    });
    assert!(body.await.unwrap_err().is_lost());
    assert!(!is_remembered(&locks));

    // Its ttl passed before it was released.
    let lease = lock("r").once_per(HOUR).acquire().await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(lease.lost().await, LeaseEnd::Expired);
    lease.release().await;
    assert!(!is_remembered(&locks));
}

#[tokio::test]
async fn a_type_of_ones_own_says_what_success_is() {
    let locks = TestLocks::new();
    assert!(matches!(sweeps(false).await, Swept::InPart));
    assert!(!is_remembered(&locks));
    assert!(matches!(sweeps(true).await, Swept::Fully));
    assert!(is_remembered(&locks));
    assert!(matches!(sweeps(true).await, Swept::Not(error) if error.is_already_run()));
}

#[tokio::test]
async fn a_skipped_call_has_the_value_of_a_held_lock() {
    let locks = TestLocks::new();
    let runs = AtomicU32::new(0);
    assert_eq!(skips(&runs).await, None);
    assert_eq!(skips(&runs).await, None);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(locks.acquisitions_of("r").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_object_style_remembers_a_release_and_an_ok() {
    let locks = TestLocks::new();
    let job = || lock("r").once_per(HOUR);
    drop(job().acquire().await.unwrap());
    assert!(!is_remembered(&locks));
    let failed: Result<(), Failed> = job().try_run(async { Err(Failed::Job) }).await;
    assert_eq!(failed, Err(Failed::Job));
    assert!(!is_remembered(&locks));

    let done: Result<u32, Failed> = job().try_run(async { Ok(7) }).await;
    assert_eq!(done, Ok(7));
    let refused: Result<u32, Failed> = job().try_run(async { Ok(7) }).await;
    assert_eq!(refused, Err(Failed::Lock));

    tokio::time::advance(HOUR / 10 * 9).await;
    job().acquire().await.unwrap().release().await;
    assert!(job().acquire().await.unwrap_err().is_already_run());

    tokio::time::advance(HOUR / 10 * 9).await;
    job().run(async {}).await.unwrap();
    assert!(job().run(async {}).await.unwrap_err().is_already_run());
    locks.assert_all_free();
}

#[tokio::test(start_paused = true)]
async fn a_call_below_a_holder_is_remembered_from_its_own_beginning() {
    let locks = TestLocks::new();
    let outer = lock("r").ttl(HOUR).run(async {
        tokio::time::advance(HOUR / 2).await;
        told().await.unwrap();
        assert!(told().await.unwrap_err().is_already_run());
    });
    outer.await.unwrap();
    assert_eq!(locks.acquisitions_of("r").len(), 3);
    let left = told().await.unwrap_err().retry_after();
    assert!(left > Some(HOUR / 10 * 8), "{left:?}");
}
