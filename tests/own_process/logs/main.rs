//! What is logged, and what is not. In a binary of its own: it takes every log line of the process.

mod managed;
mod nodes;

use std::sync::Arc;
use std::time::{Duration, Instant};

use redlock_runtime::config::RestartCheck;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::registry::MemoryNode;
use redlock_runtime::{Config, LockError, Redlock, init, lock, redlock};
use redlock_tests::{NodeOptions, Nodes, RedisNode, lines};

const SOON: Duration = Duration::from_secs(20);

/// Loses its lock, and would go on for ever.
#[redlock(resource = "lost:{id}", guard = lease)]
async fn waits_forever(id: u64, node: &RedisNode) -> Result<u64, LockError> {
    node.del(format!("lost:{id}"));
    // This is how the holder hears of it.
    let _ = lease.extend(Duration::from_secs(60)).await;
    std::future::pending::<()>().await;
    Ok(id)
}

#[tokio::test]
async fn a_pool_in_memory_is_logged_as_a_warning() {
    let lines = lines();
    let redlock = Redlock::start(Config::new().pool("in-memory", "memory://m"))
        .await
        .unwrap();
    let told = lines.with(&["pool=\"in-memory\"", "WARN", "excludes no other process"]);
    assert_eq!(told.len(), 1, "{}", lines.text());
    redlock.shutdown().await;
}

#[tokio::test]
async fn an_even_number_of_pools_is_logged_as_a_warning() {
    let lines = lines();
    for (n, times) in [(5, 0), (6, 1)] {
        // Whether a server is there does not matter.
        let url = |port: u16| format!("redis://127.0.0.1:{port}");
        let config = (1..n).fold(Config::new(), |it, port| {
            it.pool(port.to_string(), url(port))
        });
        let config = config.pool_node("own", |environment| {
            Ok(Arc::new(MemoryNode::new("own", environment.clock)))
        });
        Redlock::start(config).await.unwrap().shutdown().await;
        let warned = "an even number of pools survives no more failures than one less";
        let about = lines.with(&["WARN", warned, &format!("pools={n}")]);
        assert_eq!(about.len(), times, "{about:?}");
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// Seconds were meant.
#[redlock(resource = "short", ttl = 30, wait = 5)]
async fn bare_numbers() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "short", ttl = MINUTE, wait = 100, max_hold = 60)]
async fn bare_max_hold() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn times_too_short_to_be_meant_are_logged_with_their_unit() {
    let lines = lines();
    let _ = (bare_numbers(), bare_max_hold());
    let defaults = LockOptions::new().ttl(Duration::from_millis(200));
    let defaults = defaults.wait(Duration::from_millis(99));
    let config = Config::new().pool("a", "memory://a").defaults(defaults);
    init(config).await.unwrap().shutdown().await;
    for told in [
        "`logs::bare_numbers` (tests/own_process/logs/main.rs:",
        "`ttl` is 30 ms, below 4 times `node_timeout`; a number without a unit is milliseconds: write \"30s\" if",
        "`wait` is 5 ms, below 2 times",
        "`max_hold` is 60 ms, below 4 times",
        "defaults: `wait` is 99 ms, below 2 times",
    ] {
        assert!(!lines.with(&["WARN", told]).is_empty(), "{told}");
    }
    // A ttl of 200 ms and a wait of 100 ms are long enough for nodes that take their 50 ms.
    assert_eq!(lines.with(&["a number without a unit"]).len(), 4);
}

#[tokio::test]
async fn a_start_without_a_majority_is_one_line_that_says_why() {
    let lines = lines();
    let (gone, there) = (Nodes::start(2).await, RedisNode::start().await);
    gone.iter().for_each(RedisNode::kill);
    let urls = gone.urls().into_iter().chain([there.url()]);
    let pools = urls.zip(["gone-1", "gone-2", "there"]);
    let config = Config::new()
        .connect_timeout(SOON)
        .restart_check(RestartCheck::Off);
    let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
    let redlock = Redlock::start(config).await.unwrap();
    let told = lines.with(&["calls fail", "gone-1"]);
    let parts = [
        "WARN",
        "1 of 3 default pools vote, 2 needed",
        "; gone-1: ",
        "; gone-2: ",
    ];
    let is_whole = |line: &String| parts.iter().all(|part| line.contains(part));
    assert!(told.len() == 1 && is_whole(&told[0]), "{told:#?}");
    redlock.shutdown().await;
}

#[redlock(resource = "told:{id}", retry_count = 0, name = "tests::told_once")]
async fn is_refused(id: u64) -> Result<(), LockError> {
    Ok(())
}

/// With the subscriber that README installs.
#[tokio::test]
async fn a_refusal_is_one_line_in_which_each_fact_stands_once() {
    let lines = lines();
    let node = RedisNode::start().await;
    let token = format!("web-7/3121/{}", "0f".repeat(16));
    node.set("told:7", token, Some(SOON));
    let config = Config::new().pool("a", node.url()).node_timeout(SOON);
    let redlock = Redlock::start(config).await.unwrap();
    let refused = redlock.registry().clone().scope(is_refused(7)).await;
    assert!(refused.unwrap_err().is_contended());
    let told = lines.with(&["not locked", "told:7"]);
    let parts = ["tests::told_once", "told:7", "web-7/3121", "INFO"];
    let stands_once = |line: &String| parts.iter().all(|part| line.matches(part).count() == 1);
    let is_good = told.len() == 1 && stands_once(&told[0]) && told[0].len() < 250;
    assert!(is_good, "{told:#?}");
    redlock.shutdown().await;
}

#[tokio::test]
async fn locks_held_without_a_shutdown_are_logged_by_name() {
    let lines = lines();
    let start = async || {
        let config = Config::new().pool("a", "memory://a");
        Redlock::start(config).await.unwrap()
    };
    let redlock = start().await;
    let registry = redlock.registry().clone();
    let lease = registry.scope(lock("forgotten:1").acquire()).await.unwrap();
    drop(redlock);
    let told = lines.with(&["forgotten:1", "WARN", "dropped without `shutdown`"]);
    assert_eq!(told.len(), 1, "{}", lines.text());
    lease.release().await;

    // With nothing held, or with a shutdown, there is nothing to warn of.
    let warnings = || lines.text().matches("dropped without `shutdown`").count();
    let before = warnings();
    drop(start().await);
    start().await.shutdown().await;
    assert_eq!(warnings(), before);
}

#[tokio::test]
async fn no_line_has_a_password_or_a_whole_token() {
    let lines = lines();
    let node = RedisNode::start_with(NodeOptions::default().password("s3cret")).await;
    let wrong = node
        .url()
        .replace("s3cret", "wr0ng")
        .replace("127.0.0.1", "localhost");
    // One of the two is never reached, so whether they are a new set would not be known.
    let config = Config::new()
        .pool("right", node.url())
        .pool("wrong", wrong)
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .restart_check(RestartCheck::Off);
    let redlock = Redlock::start(config.default_pools(["right"]))
        .await
        .unwrap();
    let registry = redlock.registry().clone();
    lines.until("WRONGPASS").await;

    registry
        .clone()
        .scope(async {
            let lease = lock("shown").acquire().await.unwrap();
            let token = String::from_utf8(node.get("shown").unwrap()).unwrap();
            let refused = lock("shown")
                .retry_count(0)
                .acquire()
                .await
                .map(|_| ())
                .unwrap_err();
            lease.release().await;
            let lost = waits_forever(1, &node).await.unwrap_err();
            let random = token.rsplit('/').next().unwrap().to_owned();
            for text in [
                format!("{refused:?} {refused}"),
                format!("{lost:?}"),
                lines.text(),
            ] {
                assert!(!text.contains(&random) && !text.contains(&token), "{text}");
            }
            assert!(
                lines
                    .text()
                    .contains(&format!("token=\"{}\"", &random[..6]))
            );
        })
        .await;
    node.kill();
    lines.until("node not connected").await;
    redlock.shutdown().await;

    let text = lines.text();
    for secret in ["s3cret", "wr0ng"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(
        text.contains("lost: the lock ended before its body"),
        "{text}"
    );
}

const LEASES: usize = 100;

const NODE_TIMEOUT: Duration = Duration::from_millis(200);

/// True if the text accuses the healthy node of an answer for which it had less than its time.
fn is_unheard(text: &str) -> bool {
    let told = text.split_once("healthy: no answer in ");
    let ms = told.and_then(|(_, after)| after.split_once(" ms"));
    let ms = ms.and_then(|(ms, _)| ms.parse::<u128>().ok());
    ms.is_some_and(|ms| ms < NODE_TIMEOUT.as_millis())
}

/// With the majority frozen, every lease of the process has the same trouble at the same time.
#[tokio::test]
async fn a_hundred_leases_not_renewed_write_few_lines_a_second() {
    let lines = lines();
    let nodes = Nodes::start(3).await;
    let pools = nodes
        .urls()
        .into_iter()
        .zip(["healthy", "frozen-1", "frozen-2"]);
    // With this, a node that does not answer is suspect after 800 ms, and then refuses at once.
    let config = Config::new()
        .node_timeout(NODE_TIMEOUT)
        .connect_timeout(SOON)
        .restart_check(RestartCheck::Off);
    let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
    let redlock = Redlock::start(config).await.unwrap();
    let holding = Arc::new(tokio::sync::Semaphore::new(0));
    let calls: Vec<_> = (0..LEASES)
        .map(|number| {
            let holding = Arc::clone(&holding);
            let call = lock(format!("hundred:{number}"))
                .ttl(Duration::from_secs(8))
                .max_hold(Duration::from_secs(3600))
                .wait(SOON)
                .run(async move {
                    holding.add_permits(1);
                    std::future::pending::<()>().await;
                });
            tokio::spawn(redlock.registry().clone().scope(call))
        })
        .collect();
    let all = u32::try_from(LEASES).unwrap();
    let _all_held = tokio::time::timeout(SOON, holding.acquire_many(all))
        .await
        .unwrap();
    let began = Instant::now();
    nodes[1].freeze();
    nodes[2].freeze();
    for call in calls {
        let error = call.await.unwrap().unwrap_err().to_string();
        let parts = ["was lost: not renewed: frozen-1: ", "; frozen-2: "];
        let has_all = parts.iter().all(|part| error.contains(part));
        assert!(has_all && !is_unheard(&error), "{error}");
    }
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap() + 2;
    let of_leases = lines.with(&["hundred:"]);
    let warnings = lines.with(&["hundred:", " WARN "]);
    // A node that was not waited for is not at fault.
    assert!(!of_leases.iter().any(|line| is_unheard(line)));
    // A body that is cancelled ends the renewal, which need not find the lease over.
    for (cause, least) in [
        ("lease not renewed; it is still valid", 1),
        ("lease not renewed; it is over", 0),
        ("lost: the lock ended before its body", 1),
    ] {
        let count = warnings.iter().filter(|line| line.contains(cause)).count();
        assert!(
            (least..=seconds).contains(&count),
            "{cause}: {count} in {seconds} s"
        );
    }
    let count = warnings.len();
    assert!(count <= 3 * seconds, "{count} in {seconds} s");
    let is_counted = warnings.iter().any(|line| line.contains("held_back="));
    assert!(is_counted, "{warnings:#?}");
}
