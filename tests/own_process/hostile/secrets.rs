//! Passwords and owner tokens, on real servers, in everything that can be shown.

use redlock_runtime::config::RestartCheck;
use redlock_runtime::registry::sites;
use redlock_runtime::{Config, LockError, Redlock, lock, redlock};
use redlock_tests::{NodeOptions, RedisNode, eventually};

use crate::captured::{self, SECRET};
use crate::{SOON, assert_is_clear};

/// A password with every character that has a meaning in a URL, and its form in a URL.
const PASSWORD: (&str, &str) = (
    "hunter2Xq@:/?#[]%&=+ \"'<>{}|\\^`é",
    "hunter2Xq%40%3A%2F%3F%23%5B%5D%25%26%3D%2B%20%22%27%3C%3E%7B%7D%7C%5C%5E%60%C3%A9",
);

#[redlock(resource = "refused", pools = ["a"], retry_count = 0)]
async fn refused() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_password_of_every_character_logs_in_and_never_shows() {
    captured::begin();
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
        let mut shown = vec![format!("{config:?}")];
        let redlock = Redlock::start(config).await.unwrap();
        let registry = redlock.registry().clone();
        let outcome = registry.clone().scope(async {
            let lease = lock("refused")
                .pools(["a"])
                .retry_count(0)
                .acquire()
                .await?;
            // `refused` is not called under `lease`, so to that call another client has the lock.
            let error = refused().await.unwrap_err();
            Ok::<_, LockError>((lease, error))
        });
        match outcome.await {
            Ok((lease, error)) => {
                assert!(is_right, "{shown:?}");
                let token: Vec<u8> = node
                    .try_command_within(
                        SOON,
                        [
                            "EVAL",
                            "redis.call('SELECT', 2); return redis.call('GET', 'refused')",
                            "0",
                        ],
                    )
                    .unwrap();
                let token = String::from_utf8(token).unwrap();
                shown.push(format!(
                    "{lease:?} {error} {error:?} {:?} {:?}",
                    error.kind(),
                    registry.held()
                ));
                let random = token.rsplit('/').next().unwrap();
                let is_shown = shown.iter().any(|text| text.contains(random));
                assert!(random.len() == 32 && !is_shown, "{shown:?}");
                assert!(
                    !captured::text().contains(random),
                    "an owner token was logged"
                );
                lease.release().await;
            }
            Err(error) => {
                assert!(!is_right && error.is_unavailable(), "{error}");
                assert_is_clear(&error.to_string());
                assert!(error.to_string().contains("WRONGPASS"), "{error}");
                shown.push(format!("{error} {error:?} {:?}", error.kind()));
            }
        }
        shown.push(format!("{redlock:?} {:?} {:?}", registry.health(), sites()));
        let report = redlock.shutdown().await;
        shown.push(format!("{report} {report:?}"));
        let shown = shown.join("\n");
        assert!(!shown.contains(SECRET), "{shown}");
    }
    // The same for the errors after the server was killed.
    let url = format!("redis://locks:{encoded}@127.0.0.1:{port}");
    let config = Config::new().pool("a", url).connect_timeout(SOON);
    let redlock = Redlock::start(config).await.unwrap();
    node.kill();
    eventually("the loss to be noticed", SOON, async || {
        let health = format!("{:?}", redlock.registry().health());
        assert!(!health.contains(SECRET), "{health}");
        if health.contains("Voting") {
            Err(health)
        } else {
            Ok(())
        }
    })
    .await;
    redlock.shutdown().await;
    captured::assert_without_secret();
}

#[tokio::test]
async fn a_url_in_the_place_of_a_name_is_not_shown() {
    captured::begin();
    let url = format!("redis://u:{SECRET}@h");
    let config = Config::new().pool("a", "memory://a");
    for config in [
        config.clone().pool(&*url, "memory://b"),
        config.clone().default_pools([&*url]),
        config.clone().default_pools([&*url, &*url]),
        config.clone().trust_aof(&*url, true),
        config.clone().site(
            &*url,
            redlock_runtime::config::SiteConfig::new().pools([&*url]),
        ),
        config
            .clone()
            .pool("b", "memory://x")
            .pool(&*url, "memory://x"),
    ] {
        let shown = format!("{config:?} {config:#?}");
        let error = Redlock::start(config).await.map(|_| ()).unwrap_err();
        let shown = format!("{shown} {error} {error:?}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
    let redlock = Redlock::start(config).await.unwrap();
    for pools in [vec![&*url], vec![&*url, &*url]] {
        let call = lock("r").pools(pools).acquire();
        let error = redlock.registry().clone().scope(call).await.unwrap_err();
        let shown = format!("{error} {error:?} {:?}", error.kind());
        assert!(!shown.contains(SECRET), "{shown}");
    }
    redlock.shutdown().await;
    captured::assert_without_secret();
}
