//! Servers that answer as managed services do: commands are refused, or change nothing, and facts are left out.

use redlock_core::Request;
use redlock_core::lease::Released;
use redlock_core::node::NodeErrorKind;
use redlock_tests::{RedisNode, disguise};

use crate::core::fixture::{
    calm, client, connect, connect_with, lock_once, once, reason, stand_in_line, until_abstaining,
};

/// An answer of a stand-in: the first words of a command, and the script that answers it.
type Answer = (&'static str, &'static str);

const UNKNOWN: &str = "return redis.error_reply('ERR unknown command')";

const DONE: &str = "return redis.status_reply('OK')";

/// `INFO` without its `run_id`, as Dragonfly answers.
const NO_RUN_ID: Answer = (
    "INFO",
    "return (string.gsub(redis.call('INFO'), 'run_id:[^\\n]*\\n', ''))",
);

/// A refusal without a code, as proxies make it up.
const UNSUPPORTED: &str = "return {err = 'unsupported command'}";

const SERVICES: [(&str, &[Answer]); 8] = [
    (
        "ElastiCache Serverless",
        &[
            ("CLIENT TRACKING", UNKNOWN),
            ("CLIENT CACHING", UNKNOWN),
            ("CONFIG", UNKNOWN),
            ("SCRIPT FLUSH", DONE),
            ("WAIT", UNKNOWN),
        ],
    ),
    (
        "Memorystore for Redis",
        &[("CLIENT", UNKNOWN), ("CONFIG", UNKNOWN)],
    ),
    (
        "Memorystore for Valkey",
        &[(
            "CONFIG",
            "return redis.error_reply('NOPERM no permissions')",
        )],
    ),
    ("Redis Cloud", &[("ROLE", UNKNOWN), ("CONFIG", UNKNOWN)]),
    (
        "Upstash",
        &[
            ("INFO", "return 'redis_version:7.2.0\\r\\n'"),
            ("CLIENT TRACKING", UNKNOWN),
            ("CLIENT CACHING", UNKNOWN),
        ],
    ),
    ("Dragonfly", &[NO_RUN_ID, ("SCRIPT FLUSH", UNKNOWN)]),
    (
        "a proxy",
        &[
            ("HELLO", UNKNOWN),
            ("CLIENT", UNKNOWN),
            ("INFO", UNKNOWN),
            ("CONFIG", UNKNOWN),
        ],
    ),
    (
        "a proxy with words of its own",
        &[
            ("HELLO", UNSUPPORTED),
            ("CLIENT", UNSUPPORTED),
            ("INFO", UNSUPPORTED),
        ],
    ),
];

/// A waiting caller comes next after the release, also without a message about it.
#[tokio::test]
async fn a_service_that_hides_commands_still_gives_locks_in_turn() {
    for (service, answers) in SERVICES {
        let node = RedisNode::start().await;
        let set = connect([disguise(&node, answers.iter().copied()).await]).await;
        let held = client().acquire(&set, &once("r")).await;
        let held = held.unwrap_or_else(|error| panic!("{service}: {error}"));
        let other = client().acquire(&set, &once("r")).await;
        assert!(other.is_err(), "{service}: two holders");
        let request = Request::new("r").retry_limit(10_000);
        let waiting = tokio::spawn(stand_in_line(&client(), &set, &request));
        assert_eq!(held.release().await, Released::Confirmed, "{service}");
        let next = waiting.await.unwrap();
        let next = next.unwrap_or_else(|error| panic!("{service}: {error}"));
        assert_eq!(next.release().await, Released::Confirmed, "{service}");
    }
}

#[tokio::test]
async fn a_server_without_nx_and_get_is_refused_if_it_hides_its_version() {
    let node = RedisNode::start().await;
    let syntax = "return redis.error_reply('ERR syntax error')";
    let hides = [("HELLO", UNKNOWN), ("INFO", UNKNOWN)];
    let old = [("SET redlock:permissions  NX", syntax)];
    let set = connect([disguise(&node, hides.into_iter().chain(old)).await]).await;
    let reason = reason(&set[0]).expect("a server without NX and GET votes");
    assert_eq!(reason.kind(), NodeErrorKind::Refused, "{reason}");
    let need =
        "version is hidden; locks need Redis 7.0 or later, or Valkey, for SET with NX and GET";
    assert!(reason.to_string().contains(need), "{reason}");
}

#[tokio::test]
async fn a_server_without_a_run_id_is_refused_once_it_evicts() {
    let node = RedisNode::start().await;
    let often = calm().heartbeat(std::time::Duration::from_millis(10));
    let set = connect_with([disguise(&node, [NO_RUN_ID]).await], &often).await;
    lock_once(&set).await;
    node.command(["CONFIG", "SET", "maxmemory", "50mb"]);
    node.command(["CONFIG", "SET", "maxmemory-policy", "volatile-lru"]);
    let text = until_abstaining(&set[0], "volatile-lru").await;
    for part in ["set maxmemory-policy noeviction", "page operate/managed"] {
        assert!(text.contains(part), "{text}");
    }
}

/// For each server that `REDIS_SERVER` names: the harness starts that one.
#[tokio::test]
async fn a_server_votes_or_is_refused_with_its_version() {
    let node = RedisNode::start().await;
    let version = node.info("redis_version").expect("a version");
    let set = connect([node.url()]).await;
    let major = version.split('.').next().unwrap().parse::<u32>();
    if major.unwrap() >= 7 {
        return lock_once(&set).await;
    }
    let reason = reason(&set[0]).expect("an old server votes").to_string();
    assert!(
        reason.contains(&format!("version is {version}; locks need Redis 7.0")),
        "{reason}"
    );
}
