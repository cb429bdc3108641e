//! Elections on a server that sentinels name, and on a Redis Cluster.

use std::time::Duration;

use redlock_runtime::election::{LeaderObserver, Term};
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{Config, Redlock, election};
use redlock_tests::{RedisCluster, SentinelGroup};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::election::fixture::{OFFICE, SOON, end_of};
use crate::runtime::fixture::{registry, spawn_on};

async fn process(url: &str) -> Redlock {
    let config = Config::new().node_timeout(SOON).connect_timeout(SOON);
    let redlock = Redlock::start(config.pool("a", url)).await;
    redlock.expect("a good configuration")
}

/// A candidate that is called `value`, tells of its terms and ends them when it is asked to.
fn stand(redlock: &Redlock, value: &'static str, told: &UnboundedSender<(&'static str, Term)>) {
    let options = LockOptions::new().retry_delay(Duration::from_millis(200));
    let candidate = election(OFFICE).value(value).options(options);
    let told = told.clone();
    let standing = spawn_on(redlock, async move {
        let body = async |term: Term| {
            // The test may be over.
            let _ = told.send((value, term.clone()));
            term.ending().await;
        };
        candidate.run(body).await
    });
    drop(standing);
}

async fn next(terms: &mut UnboundedReceiver<(&'static str, Term)>) -> (&'static str, Term) {
    let term = tokio::time::timeout(SOON, terms.recv()).await;
    term.expect("nobody is elected").expect("candidates stand")
}

async fn until_seen(observer: &mut LeaderObserver, value: Option<&str>) {
    let seen = async {
        loop {
            let leader = observer.sighting().leader;
            if leader.and_then(|leader| leader.value).as_deref() == value {
                return;
            }
            assert!(observer.changed().await, "the observation ended");
        }
    };
    let seen = tokio::time::timeout(SOON, seen).await;
    seen.unwrap_or_else(|_| panic!("{value:?} is not seen"));
}

async fn the_office_passes_on_and_is_seen(url: &str) {
    let (one, other) = (process(url).await, process(url).await);
    let (told, mut terms) = unbounded_channel();
    let watching = process(url).await;
    let watched = registry(&watching).scope(async { election(OFFICE).observe() });
    let mut observer = watched.await.unwrap();

    stand(&one, "one", &told);
    let (who, first) = next(&mut terms).await;
    assert_eq!(who, "one");
    until_seen(&mut observer, Some("one")).await;
    stand(&other, "other", &told);
    // The other one may not be waiting yet: then the same one is elected again, and resigns again.
    let mut before = first;
    loop {
        before.resign();
        let (who, term) = next(&mut terms).await;
        assert!(term.fencing_token() > before.fencing_token());
        before = term;
        if who == "other" {
            break;
        }
    }
    until_seen(&mut observer, Some("other")).await;
    one.shutdown().await;
    let ended = tokio::spawn(other.shutdown());
    end_of(ended).await;
    until_seen(&mut observer, None).await;
}

#[tokio::test]
async fn an_office_passes_on_and_is_seen_on_a_server_that_sentinels_name() {
    let group = SentinelGroup::start().await;
    the_office_passes_on_and_is_seen(&group.url()).await;
}

#[tokio::test]
async fn an_office_passes_on_and_is_seen_on_a_cluster() {
    let cluster = RedisCluster::start(0).await;
    the_office_passes_on_and_is_seen(&cluster.url()).await;
}
