//! How an observer reads the answers of the nodes. The clock jumps to the next event.

use std::time::Duration;

use redlock_runtime::election;
use redlock_runtime::election::LeaderObserver;
use redlock_runtime::testing::TestLocks;
use redlock_tests::drop_after;
use tokio::time::{Instant, sleep, sleep_until};

use super::fixture::{OFFICE, ends, ms_later};

/// An observer looks each half of it.
const TTL: Duration = Duration::from_secs(10);

/// Longer than any pause between two looks.
const SOME_LOOKS: Duration = Duration::from_secs(33);

async fn is_told(observer: &mut LeaderObserver) -> bool {
    drop_after(1, observer.changed()).await.is_some()
}

/// The leader that it is told of within a moment.
async fn told(observer: &mut LeaderObserver) -> Option<String> {
    sleep(Duration::from_millis(1)).await;
    assert!(is_told(observer).await, "not told: {observer:?}");
    leader(observer)
}

fn leader(observer: &LeaderObserver) -> Option<String> {
    observer
        .sighting()
        .leader
        .map(|leader| leader.owner.unwrap())
}

/// It looks, several times, and tells of nothing.
async fn assert_silent(observer: &mut LeaderObserver) {
    sleep(SOME_LOOKS).await;
    assert!(!is_told(observer).await, "told: {observer:?}");
    let age = observer.sighting().age.unwrap();
    assert!(age <= TTL / 2, "it has looked {age:?} ago");
}

#[tokio::test(start_paused = true)]
async fn l5_a_change_is_told_once_and_a_look_is_not() {
    let locks = TestLocks::new();
    let mut observer = election(OFFICE).ttl(TTL).observe().unwrap();
    assert_eq!(told(&mut observer).await, None);
    assert_silent(&mut observer).await;
    let someone = |name: &str| locks.someone_else().named(name).ttl(TTL * 60);
    let first = someone("web-1/1").hold(OFFICE);
    assert_eq!(told(&mut observer).await.as_deref(), Some("web-1/1"));
    assert_silent(&mut observer).await;
    let second = someone("web-2/1").steal(OFFICE);
    assert_eq!(told(&mut observer).await.as_deref(), Some("web-2/1"));
    // The same process leads in another term.
    let third = someone("web-2/1").steal(OFFICE);
    assert_eq!(told(&mut observer).await.as_deref(), Some("web-2/1"));
    drop((first, second));
    assert_silent(&mut observer).await;
    third.release();
    assert_eq!(told(&mut observer).await, None);
}

#[tokio::test(start_paused = true)]
async fn l5_a_look_without_an_answer_is_not_told() {
    let locks = TestLocks::new();
    locks.cut_all();
    let mut observer = election(OFFICE).ttl(TTL).observe().unwrap();
    sleep(SOME_LOOKS).await;
    assert!(!is_told(&mut observer).await, "told: {observer:?}");
    assert_eq!(observer.sighting().age, None);
    locks.restore_all();
    let restored = Instant::now();
    assert!(ends(observer.changed()).await);
    assert!(
        restored.elapsed() <= Duration::from_secs(1),
        "{:?}",
        restored.elapsed()
    );
    assert_eq!(leader(&observer), None);
}

/// No node tells that the keys have expired.
#[tokio::test(start_paused = true)]
async fn l5_a_look_that_was_undecided_is_repeated_within_a_second() {
    let locks = TestLocks::new();
    let began = Instant::now();
    for (pool, owner) in [("a", "web-1/1"), ("b", "web-2/1")] {
        let someone = locks.someone_else().named(owner).ttl(TTL).on([pool]);
        std::mem::forget(someone.hold(OFFICE));
    }
    let mut observer = election(OFFICE).ttl(TTL * 60).observe().unwrap();
    assert!(ends(observer.changed()).await);
    assert_eq!(leader(&observer), None);
    let seen = began.elapsed();
    assert!(
        (TTL..TTL + Duration::from_millis(1100)).contains(&seen),
        "{seen:?}"
    );
}

/// No majority answers, or none agrees.
#[tokio::test(start_paused = true)]
async fn l5_a_leader_is_seen_until_its_keys_expire() {
    for is_cut in [true, false] {
        let locks = TestLocks::new();
        let began = Instant::now();
        let hold = locks.someone_else().ttl(TTL * 3).hold(OFFICE);
        let mut observer = election(OFFICE).ttl(TTL).observe().unwrap();
        assert!(told(&mut observer).await.is_some());
        if is_cut {
            locks.cut_all();
        } else {
            for (pool, owner) in [("a", "web-1/1"), ("b", "web-2/1")] {
                locks.node(pool).delete(OFFICE.as_bytes());
                std::mem::forget(locks.someone_else().named(owner).on([pool]).hold(OFFICE));
            }
        }
        let nearly = (TTL * 3).saturating_sub(Duration::from_millis(2));
        sleep_until(began + nearly).await;
        assert!(leader(&observer).is_some(), "it is forgotten at once");
        assert!(!is_told(&mut observer).await, "told: {observer:?}");
        let age = observer.sighting().age.unwrap();
        assert!(
            age > TTL * 2,
            "a look that was undecided {age:?} ago counts"
        );
        assert!(ends(observer.changed()).await);
        assert!(
            ms_later(TTL * 3).contains(&began.elapsed()),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(leader(&observer), None);
        sleep(TTL).await;
        assert!(!is_told(&mut observer).await, "told again: {observer:?}");
        drop(hold);
    }
}

/// Its keys were to expire long before the next look.
#[tokio::test(start_paused = true)]
async fn l5_a_killed_leader_is_forgotten_before_the_next_look() {
    let locks = TestLocks::new();
    let began = Instant::now();
    std::mem::forget(locks.someone_else().ttl(TTL).hold(OFFICE));
    let mut observer = election(OFFICE).ttl(TTL * 60).observe().unwrap();
    assert!(told(&mut observer).await.is_some());
    assert!(ends(observer.changed()).await);
    assert_eq!(leader(&observer), None);
    assert!(
        ms_later(TTL).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
}
