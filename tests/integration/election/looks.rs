//! A watch's reading of the nodes' answers. The clock jumps to the next event.

use std::time::Duration;

use redlock_runtime::election;
use redlock_runtime::election::LeaderWatch;
use redlock_runtime::testing::TestLocks;
use redlock_tests::drop_after;
use tokio::time::{Instant, sleep, sleep_until};

use super::fixture::{OFFICE, ends, ms_later};

/// A watch looks at the nodes each half of it.
const TTL: Duration = Duration::from_secs(10);

/// Longer than any pause between two looks.
const SOME_LOOKS: Duration = Duration::from_secs(33);

async fn is_told(watch: &mut LeaderWatch) -> bool {
    drop_after(1, watch.changed()).await.is_some()
}

/// The leader that it is told of within a moment.
async fn told(watch: &mut LeaderWatch) -> Option<String> {
    sleep(Duration::from_millis(1)).await;
    assert!(is_told(watch).await, "not told: {watch:?}");
    leader(watch)
}

fn leader(watch: &LeaderWatch) -> Option<String> {
    watch.status().leader.map(|leader| leader.owner.unwrap())
}

/// It looks, several times, and tells of nothing.
async fn assert_silent(watch: &mut LeaderWatch) {
    sleep(SOME_LOOKS).await;
    assert!(!is_told(watch).await, "told: {watch:?}");
    let age = watch.status().age.unwrap();
    assert!(age <= TTL / 2, "it has looked {age:?} ago");
}

#[tokio::test(start_paused = true)]
async fn l5_a_change_is_told_once_and_a_look_is_not() {
    let locks = TestLocks::new();
    let mut watch = election(OFFICE).ttl(TTL).watch().unwrap();
    assert_eq!(told(&mut watch).await, None);
    assert_silent(&mut watch).await;
    let someone = |name: &str| locks.other_client().named(name).ttl(TTL * 60);
    let first = someone("web-1/1").hold(OFFICE);
    assert_eq!(told(&mut watch).await.as_deref(), Some("web-1/1"));
    assert_silent(&mut watch).await;
    let second = someone("web-2/1").steal(OFFICE);
    assert_eq!(told(&mut watch).await.as_deref(), Some("web-2/1"));
    // The same process leads in another term.
    let third = someone("web-2/1").steal(OFFICE);
    assert_eq!(told(&mut watch).await.as_deref(), Some("web-2/1"));
    drop((first, second));
    assert_silent(&mut watch).await;
    third.release();
    assert_eq!(told(&mut watch).await, None);
}

#[tokio::test(start_paused = true)]
async fn l5_a_look_without_an_answer_is_not_told() {
    let locks = TestLocks::new();
    locks.cut_all();
    let mut watch = election(OFFICE).ttl(TTL).watch().unwrap();
    sleep(SOME_LOOKS).await;
    assert!(!is_told(&mut watch).await, "told: {watch:?}");
    assert_eq!(watch.status().age, None);
    locks.restore_all();
    let restored = Instant::now();
    assert!(ends(watch.changed()).await);
    assert!(
        restored.elapsed() <= Duration::from_secs(1),
        "{:?}",
        restored.elapsed()
    );
    assert_eq!(leader(&watch), None);
}

/// No node tells that the keys have expired.
#[tokio::test(start_paused = true)]
async fn l5_a_look_that_was_undecided_is_repeated_within_a_second() {
    let locks = TestLocks::new();
    let began = Instant::now();
    for (pool, owner) in [("a", "web-1/1"), ("b", "web-2/1")] {
        let someone = locks.other_client().named(owner).ttl(TTL).on([pool]);
        std::mem::forget(someone.hold(OFFICE));
    }
    let mut watch = election(OFFICE).ttl(TTL * 60).watch().unwrap();
    assert!(ends(watch.changed()).await);
    assert_eq!(leader(&watch), None);
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
        let hold = locks.other_client().ttl(TTL * 3).hold(OFFICE);
        let mut watch = election(OFFICE).ttl(TTL).watch().unwrap();
        assert!(told(&mut watch).await.is_some());
        if is_cut {
            locks.cut_all();
        } else {
            for (pool, owner) in [("a", "web-1/1"), ("b", "web-2/1")] {
                locks.node(pool).delete(OFFICE.as_bytes());
                std::mem::forget(locks.other_client().named(owner).on([pool]).hold(OFFICE));
            }
        }
        let nearly = (TTL * 3).saturating_sub(Duration::from_millis(2));
        sleep_until(began + nearly).await;
        assert!(leader(&watch).is_some(), "it is forgotten at once");
        assert!(!is_told(&mut watch).await, "told: {watch:?}");
        let age = watch.status().age.unwrap();
        assert!(
            age > TTL * 2,
            "a look that was undecided {age:?} ago counts"
        );
        assert!(ends(watch.changed()).await);
        assert!(
            ms_later(TTL * 3).contains(&began.elapsed()),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(leader(&watch), None);
        sleep(TTL).await;
        assert!(!is_told(&mut watch).await, "told again: {watch:?}");
        drop(hold);
    }
}

/// Its keys were to expire long before the next look.
#[tokio::test(start_paused = true)]
async fn l5_a_killed_leader_is_forgotten_before_the_next_look() {
    let locks = TestLocks::new();
    let began = Instant::now();
    std::mem::forget(locks.other_client().ttl(TTL).hold(OFFICE));
    let mut watch = election(OFFICE).ttl(TTL * 60).watch().unwrap();
    assert!(told(&mut watch).await.is_some());
    assert!(ends(watch.changed()).await);
    assert_eq!(leader(&watch), None);
    assert!(
        ms_later(TTL).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
}
