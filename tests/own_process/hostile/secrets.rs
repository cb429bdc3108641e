//! Passwords, on real servers, in everything that can be shown.

use redlock_runtime::config::{RestartCheck, SiteConfig};
use redlock_runtime::registry::sites;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{NodeOptions, RedisNode, lines};

use crate::{SECRET, SOON, assert_is_clear, assert_log_without_secret, assert_without_secret};

/// A password with every character that has a meaning in a URL, and its form in a URL.
const PASSWORD: (&str, &str) = (
    "hunter2Xq@:/?#[]%&=+ \"'<>{}|\\^`é",
    "hunter2Xq%40%3A%2F%3F%23%5B%5D%25%26%3D%2B%20%22%27%3C%3E%7B%7D%7C%5C%5E%60%C3%A9",
);

#[tokio::test]
async fn a_password_of_every_character_logs_in_and_never_shows() {
    lines();
    let node = RedisNode::start_with(NodeOptions::default().unix_socket()).await;
    let (plain, encoded) = PASSWORD;
    let password = format!(">{plain}");
    let rules = [
        "ACL", "SETUSER", "locks", "reset", "on", &*password, "~*", "&*", "+@all",
    ];
    node.command(rules);
    let socket = node.unix_url();
    let port = node.port();
    for (url, is_right) in [
        (format!("redis://locks:{encoded}@127.0.0.1:{port}/2"), true),
        (format!("{socket}?user=locks&pass={encoded}&db=2"), true),
        (format!("redis://locks:x{encoded}@127.0.0.1:{port}"), false),
        (format!("{socket}?user=locks&pass=x{encoded}"), false),
    ] {
        let config = Config::new()
            .pool("a", &*url)
            // A start is refused if the default pools deny the login.
            .pool("b", "memory://b")
            .default_pools(["b"])
            .node_timeout(SOON)
            .connect_timeout(SOON)
            .restart_check(RestartCheck::Off);
        assert_without_secret(&format!("{config:?}"));
        let redlock = Redlock::start(config).await.unwrap();
        let registry = redlock.registry().clone();
        let call = lock("r").pools(["a"]).retry_count(0).acquire();
        match registry.clone().scope(call).await {
            Ok(lease) => {
                assert!(is_right, "{url}");
                assert_without_secret(&format!("{lease:?} {:?}", registry.held()));
                lease.release().await;
            }
            Err(error) => {
                assert!(!is_right && error.is_unavailable(), "{error}");
                assert!(error.to_string().contains("WRONGPASS"), "{error}");
                assert_is_clear(&error);
                assert_without_secret(&format!("{:?}", error.kind()));
            }
        }
        let shown = format!("{redlock:?} {:?} {:?}", registry.health(), sites());
        let report = redlock.shutdown().await;
        assert_without_secret(&format!("{shown} {report} {report:?}"));
    }
    assert_log_without_secret();
}

#[tokio::test]
async fn a_url_in_the_place_of_a_name_is_not_shown() {
    lines();
    let url = format!("redis://u:{SECRET}@h");
    let config = || Config::new().pool("a", "memory://a");
    for config in [
        config().pool(&*url, "memory://b"),
        config().default_pools([&*url]),
        config().default_pools([&*url, &*url]),
        config().trust_aof(&*url, true),
        config().site(&*url, SiteConfig::new().pools([&*url])),
    ] {
        assert_without_secret(&format!("{config:?} {config:#?}"));
        let error = Redlock::start(config).await.map(|_| ()).unwrap_err();
        assert_without_secret(&format!("{error} {error:?}"));
    }
    let redlock = Redlock::start(config()).await.unwrap();
    let call = lock("r").pools([&*url, &*url]).acquire();
    let error = redlock.registry().clone().scope(call).await.unwrap_err();
    assert_without_secret(&format!("{error} {error:?} {:?}", error.kind()));
    redlock.shutdown().await;
    assert_log_without_secret();
}
