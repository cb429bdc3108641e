//! What `start` accepts and refuses.

use std::time::Duration;

use redlock_runtime::config::RestartCheck;
use redlock_runtime::error::{NodeErrorKind, NotReadyKind, ProblemKind};
use redlock_runtime::health::NodeStatus;
use redlock_runtime::parameters::LockOptions;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

use crate::runtime::fixture::{SOON, config, registry, start_nodes};

async fn refusal(config: Config) -> String {
    Redlock::start(config)
        .await
        .map(|_| ())
        .unwrap_err()
        .to_string()
}

#[tokio::test]
async fn two_pools_with_the_same_server_in_their_urls_are_refused() {
    let node = RedisNode::start().await;
    let port = node.port();
    for other in ["", "/3"].map(|rest| format!("redis://127.0.0.1:{port}{rest}")) {
        let text = refusal(Config::new().pool("a", node.url()).pool("b", other)).await;
        assert!(
            text.contains("the pools `a` and `b` are one server"),
            "{text}"
        );
    }
    let text = refusal(
        Config::new()
            .pool("a", "memory://x")
            .pool("b", "memory://x"),
    )
    .await;
    assert!(text.contains("one server"), "{text}");
}

#[tokio::test]
async fn a_pool_in_memory_has_no_file_that_could_be_trusted() {
    let config = Config::new().pool("a", "memory://a").trust_aof("a", true);
    let text = refusal(config).await;
    assert!(
        text.contains("the pool `a` has `trust_aof`") && text.contains("`memory://` has no file"),
        "{text}"
    );
}

#[tokio::test]
async fn a_pool_in_memory_has_no_replicas_to_wait_for() {
    let text = refusal(Config::new().pool("a", "memory://a").replicas("a", 1)).await;
    assert!(text.contains("the pool `a` has `replicas`"), "{text}");
}

#[tokio::test]
async fn every_mistake_is_reported_at_once_and_without_secrets() {
    let config = Config::new()
        .pool("a", "http://user:s3cret@host")
        .pool("b c", "memory://b")
        .default_pools(["zz"])
        .defaults(LockOptions::new().ttl(std::time::Duration::from_secs(3600)))
        .contended_status(200);
    let error = Redlock::start(config.clone())
        .await
        .map(|_| ())
        .unwrap_err();
    let text = error.to_string();
    for hint in ["pool `a`", "`b c`", "`zz`", "max_ttl", "contended_status"] {
        assert!(text.contains(hint), "{hint}: {text}");
    }
    assert_eq!(error.problems().len(), 5, "{text}");
    assert!(!text.contains("s3cret") && !format!("{config:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_pool_without_a_url_is_refused_by_name() {
    for file in ["[pools.b]\n", "[pools.b]\ntrust_aof = true\n"] {
        let file = Config::from_toml(file).unwrap();
        let text = refusal(file.clone().pool("a", "memory://a")).await;
        let expected = "there is no `url` for the pool `b`;";
        assert!(text.contains(expected), "{text}");
        let text = refusal(file).await;
        assert!(text.contains(&format!("line 1: {expected}")), "{text}");
    }
    let file = Config::from_toml("[pools.b]\n").unwrap();
    let url = [("REDLOCK_POOLS_B_URL", "memory://b")];
    let redlock = Redlock::start(file.with_env(url).unwrap()).await.unwrap();
    let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
    lease.release().await;
}

#[tokio::test]
async fn a_key_prefix_behind_which_no_name_is_free_is_refused() {
    let config = |prefix: &str| Config::new().pool("a", "memory://a").key_prefix(prefix);
    let text = Redlock::start(config("shop:redlock:fence:")).await;
    let text = text.unwrap_err().to_string();
    assert!(
        text.contains(
            "`key_prefix`: it has `redlock:` + `fence:`, `once:`, `permit:`, `readers:`, `intent:` or `turn:` in it"
        ),
        "{text}"
    );
    let redlock = Redlock::start(config("redlock:")).await.unwrap();
    let refused = registry(&redlock).scope(lock("marker").acquire()).await;
    let refused = refused.unwrap_err();
    assert!(refused.is_invalid(), "{refused}");
    let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
    lease.release().await;
}

#[tokio::test]
async fn durations_that_are_no_bound_or_leave_no_time_are_refused() {
    let config = || Config::new().pool("a", "memory://a");
    let (second, forever) = (std::time::Duration::from_secs(1), std::time::Duration::MAX);
    for (config, hint) in [
        (
            config().node_timeout(forever),
            "`node_timeout`: it is not from 1 ms to a day",
        ),
        (
            config().connect_timeout(forever),
            "`connect_timeout`: it is not from 1 ms to a day",
        ),
        (
            config().shutdown_deadline(forever),
            "`deadline` in `[shutdown]`: it is above a day",
        ),
        (
            config().shutdown_grace(second).shutdown_deadline(second),
            "has to be at least 400 ms longer",
        ),
        (
            config().node_timeout(std::time::Duration::ZERO),
            "`node_timeout`: it is not from 1 ms to a day",
        ),
    ] {
        let text = refusal(config).await;
        assert!(text.contains(hint), "{text}");
    }
}

#[tokio::test]
async fn what_not_all_locks_can_have_is_no_default() {
    for (options, text) in [
        (
            LockOptions::new().permits(5),
            "one of 5 permits of every lock of the service",
        ),
        (
            LockOptions::new().once_per(SOON * 100),
            "every lock of the service run once",
        ),
    ] {
        let config = Config::new().pool("a", "memory://a").defaults(options);
        let refused = refusal(config).await;
        assert!(refused.contains(text), "{refused}");
    }
}

#[tokio::test]
async fn a_start_without_a_majority_that_lets_us_in_is_refused() {
    let options = || NodeOptions::default().password("s3cret");
    let nodes = Nodes::start_with(3, options()).await;
    let wrong = |url: &str| url.replace("s3cret", "wr0ng");
    let without = format!("redis://127.0.0.1:{}", nodes[2].port());
    let start = async |urls: [String; 3]| {
        let pools = urls.into_iter().zip('a'..);
        let config = pools.fold(Config::new(), |config, (url, name)| config.pool(name, url));
        // A pool that denies the login is never known to be new, and so the others would wait.
        let config = config.restart_check(RestartCheck::Off);
        Redlock::start(config.node_timeout(SOON).connect_timeout(SOON)).await
    };
    let urls = nodes.urls();
    let error = start([urls[0].clone(), wrong(&urls[1]), without.clone()]).await;
    let refused = error.unwrap_err();
    let error = refused.to_string();
    assert!(
        error.contains("2 of 3 default pools cannot be used as they are configured"),
        "{error}"
    );
    let wants = "c: NOAUTH: the server wants a password; write it into the URL";
    assert!(
        error.contains("b: WRONGPASS") && error.contains(wants),
        "{error}"
    );
    assert!(!error.contains("wr0ng"), "{error}");
    let [problem] = refused.problems() else {
        panic!("{refused}");
    };
    assert_eq!(problem.kind, ProblemKind::Denied);
    assert_eq!(problem.pools, ["b", "c"]);

    // Calls get their locks from the others: a warning.
    let redlock = start([urls[0].clone(), urls[1].clone(), wrong(&urls[2])]).await;
    let redlock = redlock.unwrap();
    let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
    lease.release().await;
    redlock.shutdown().await;

    // A node that is down may come back, and so is no reason.
    nodes[0].kill();
    nodes[1].kill();
    let redlock = start([urls[0].clone(), urls[1].clone(), wrong(&urls[2])]).await;
    let error = redlock.unwrap().ready(Duration::ZERO).await.unwrap_err();
    let NotReadyKind::TooFewVotes(abstaining) = error.kind() else {
        panic!("{error}");
    };
    let reasons = abstaining.iter().map(|pool| match &pool.status {
        NodeStatus::Abstaining(reason) => (&*pool.pool, reason.kind()),
        _ => panic!("{pool:?}"),
    });
    let expected = [
        ("a", NodeErrorKind::NotConnected),
        ("b", NodeErrorKind::NotConnected),
        ("c", NodeErrorKind::Denied),
    ];
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_server_that_evicts_keys_is_refused_with_its_pool() {
    let options = NodeOptions::default()
        .arg("maxmemory", "50mb")
        .arg("maxmemory-policy", "allkeys-lru");
    let node = RedisNode::start_with(options).await;
    let config = Config::new().pool("a", node.url());
    let refused = Redlock::start(config.connect_timeout(SOON)).await;
    let refused = refused.unwrap_err();
    let [problem] = refused.problems() else {
        panic!("{refused}");
    };
    assert_eq!(problem.kind, ProblemKind::RefusedServer);
    assert_eq!(problem.pools, ["a"]);
    let text = problem.to_string();
    assert!(text.contains("allkeys-lru"), "{text}");
}

#[tokio::test]
async fn a_start_with_too_few_replicas_says_what_to_do() {
    let node = RedisNode::start().await;
    let config = Config::new().pool("a", node.url()).replicas("a", 1);
    // A service has to start while a replica is down.
    let redlock = Redlock::start(config.connect_timeout(SOON)).await.unwrap();
    let refused = registry(&redlock).scope(lock("r").acquire()).await;
    let text = refused.unwrap_err().to_string();
    let fix = "0 of 1 replicas acknowledged a write within 40 ms; the server has 0 connected: add replicas, or lower \
               `replicas`";
    assert!(text.contains(fix), "{text}");
}

#[tokio::test]
async fn a_start_in_a_database_that_no_server_has_is_refused() {
    let node = RedisNode::start().await;
    let config = Config::new().pool("a", format!("{}/16", node.url()));
    let error = Redlock::start(config.connect_timeout(SOON)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("a: ERR DB index is out of range"), "{error}");
}

#[tokio::test]
async fn a_program_can_wait_until_a_majority_votes() {
    let nodes = start_nodes(3).await;
    nodes[0].freeze();
    nodes[1].freeze();
    let config = config(&nodes).connect_timeout(Duration::from_millis(100));
    let redlock = Redlock::start(config.restart_check(RestartCheck::Off)).await;
    let redlock = redlock.unwrap();
    // On a busy machine the third connection may take longer than the start waits for it.
    let error = redlock_tests::eventually("the third vote", SOON, async || {
        let error = redlock.ready(Duration::ZERO).await.unwrap_err().to_string();
        let has_voted = error.contains("1 of 3 default pools vote, 2 needed");
        has_voted.then(|| error.clone()).ok_or(error)
    })
    .await;
    assert!(
        error.contains("; a: ") && error.contains("; b: "),
        "{error}"
    );

    let (ready, ()) = tokio::join!(redlock.ready(SOON), async { nodes[0].thaw() });
    ready.unwrap();
    assert!(redlock.registry().is_ready());

    nodes[1].thaw();
    let registry = registry(&redlock);
    registry
        .scope(lock("r").acquire())
        .await
        .unwrap()
        .release()
        .await;
}
