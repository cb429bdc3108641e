//! Presets. In a binary of its own: `init` checks every annotated function that is linked in.

use std::time::Duration;

use redlock_runtime::config::SiteConfig;
use redlock_runtime::parameters::{LockOptions, Wait};
use redlock_runtime::registry::SiteReport;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, LockError, Redlock, init, lock, locked, redlock};

const PAYMENT: &str = "payment";

#[redlock(resource = "charge", preset = "payment", ttl = "20s", guard = lease)]
async fn charge() -> Result<bool, LockError> {
    Ok(lease.fencing_token().is_some())
}

#[redlock(resource = "refund", preset = PAYMENT, pools = ["a"], retry_count = tries)]
async fn refund(tries: u32) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "sweep", preset = "payment", if_locked = "skip")]
async fn sweep() {}

#[redlock(resource = "plain", guard = lease)]
async fn plain() -> Result<bool, LockError> {
    Ok(lease.fencing_token().is_some())
}

#[rustfmt::skip]
async fn two_blocks() -> Result<(), LockError> {
    locked!(resource = "one", async {}).await?; locked!(resource = "two", async {}).await
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn config() -> Config {
    let defaults = LockOptions::new().ttl(seconds(40)).retry_delay(seconds(1));
    let config = ["a", "b", "c"]
        .into_iter()
        .fold(Config::new(), |config, name| {
            config.pool(name, format!("memory://{name}"))
        });
    config.default_pools(["c"]).defaults(defaults)
}

fn payment() -> SiteConfig {
    let payment = SiteConfig::new().ttl(seconds(10)).wait(seconds(5));
    payment.fencing(true).pools(["a", "b"])
}

fn report(redlock: &Redlock, name: &str) -> SiteReport {
    let reports = redlock.registry().sites().into_iter();
    let name = format!("presets::{name}");
    let mut found = reports.filter(|it| it.site.site_name() == name);
    found.next().expect("it is linked in")
}

#[tokio::test]
async fn a_preset_is_below_the_attribute_and_above_the_defaults() {
    let redlock = init(config().preset("payment", payment())).await.unwrap();

    let charged = report(&redlock, "charge");
    let parameters = charged.parameters;
    assert_eq!(parameters.ttl, seconds(20), "the attribute's");
    assert_eq!(parameters.wait, Some(Wait::For(seconds(5))), "the preset's");
    assert_eq!((parameters.retry_count, parameters.fencing), (None, true));
    assert_eq!(parameters.retry_delay, seconds(1), "the defaults'");
    assert_eq!(charged.pools, ["a", "b"]);
    assert_eq!(charged.site.preset_name(), Some("payment"));
    assert_eq!(charged.from_preset, ["wait", "fencing", "pools"]);
    assert!(charged.overridden.is_empty());

    let refunded = report(&redlock, "refund");
    assert_eq!(refunded.from_preset, ["ttl", "fencing"]);
    assert_eq!(
        (&*refunded.pools, refunded.parameters.ttl),
        (&["a".to_owned()][..], seconds(10))
    );

    let swept = report(&redlock, "sweep").parameters;
    let tries = (swept.retry_count, swept.wait);
    assert_eq!(
        tries,
        (Some(0), None),
        "a call that may be skipped does not wait"
    );

    let unset = report(&redlock, "plain");
    assert_eq!(
        (unset.parameters.ttl, &*unset.pools),
        (seconds(40), &["c".to_owned()][..])
    );
    assert!(unset.from_preset.is_empty() && unset.site.preset_name().is_none());

    let registry = redlock.registry().clone();
    assert!(registry.clone().scope(charge()).await.unwrap());
    assert!(!registry.clone().scope(plain()).await.unwrap());
    registry.clone().scope(refund(3)).await.unwrap();
    registry.scope(sweep()).await;
    redlock.shutdown().await;
}

#[tokio::test]
async fn an_override_is_above_the_preset() {
    let over = SiteConfig::new()
        .ttl(seconds(7))
        .retry_count(4)
        .pools(["c"]);
    let config = config()
        .preset("payment", payment())
        .site("presets::charge", over);
    let redlock = Redlock::start(config).await.unwrap();
    let charged = report(&redlock, "charge");
    let parameters = charged.parameters;
    assert_eq!(
        (parameters.ttl, parameters.retry_count),
        (seconds(7), Some(4))
    );
    assert_eq!(
        (parameters.wait, &*charged.pools),
        (None, &["c".to_owned()][..])
    );
    assert_eq!(charged.from_preset, ["fencing"]);
    assert_eq!(charged.overridden, ["ttl", "retry_count", "pools"]);
    assert!(redlock.registry().clone().scope(charge()).await.unwrap());
    redlock.shutdown().await;
}

#[tokio::test]
async fn an_unknown_preset_is_refused_with_what_was_meant() {
    let config = config().preset("paymnet", payment());
    let refused = init(config.clone()).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.problems().len(), 3, "{refused}");
    let expected = "`presets::charge` (tests/own_process/presets.rs:13:1): the preset `payment` is \
                    not configured; did you mean `paymnet`?";
    assert_eq!(refused.problems()[0], expected);

    // A registry of its own checks no functions, and says so at the call.
    let redlock = Redlock::start(config).await.unwrap();
    let refused = redlock
        .registry()
        .clone()
        .scope(charge())
        .await
        .unwrap_err();
    assert!(refused.is_invalid(), "{refused}");
    assert!(
        refused
            .to_string()
            .contains("the preset `payment` is not configured"),
        "{refused}"
    );
    redlock.shutdown().await;
}

#[tokio::test]
async fn an_override_of_two_blocks_on_one_line_is_refused_with_the_fix() {
    let sites = redlock_runtime::registry::sites();
    let names = sites.iter().map(|it| it.site_name());
    let blocks: Vec<&str> = names.filter(|name| name.contains("::line_")).collect();
    let [one, other] = *blocks else {
        panic!("{blocks:?}");
    };
    assert_eq!(one, other);

    let over = SiteConfig::new().ttl(seconds(7));
    let config = config().preset("payment", payment()).site(one, over);
    let refused = init(config).await.map(|_| ()).unwrap_err().to_string();
    let told = [
        "fits several functions",
        "`presets::two_blocks` (tests/own_process/presets.rs:",
        "give them names of their own, with `name = \"…\"`",
    ];
    for told in told {
        assert!(refused.contains(told), "{refused}");
    }
    assert!(!refused.contains("__SITE"), "{refused}");

    let locks = TestLocks::new();
    two_blocks().await.unwrap();
    locks.assert_locked("two");
}

#[tokio::test]
async fn a_preset_that_no_lock_could_have_is_refused_at_start() {
    for (preset, expected) in [
        (
            SiteConfig::new().ttl(seconds(301)),
            "the ttl of 5 min 1 s is above `max_ttl`",
        ),
        (
            SiteConfig::new().min_hold(seconds(41)),
            "`min_hold` of 41 s",
        ),
        (
            SiteConfig::new().pools(["d"]),
            "names the pool `d`, which is not configured",
        ),
        (
            SiteConfig::new().pools(["a", "a"]),
            "names the pool `a` twice",
        ),
        (SiteConfig::new().pools::<&str>([]), "names no pool"),
    ] {
        let started = Redlock::start(config().preset("slow", preset)).await;
        let refused = started.map(|_| ()).unwrap_err().to_string();
        let is_told = refused.contains("the preset `slow`: ") && refused.contains(expected);
        assert!(is_told, "{expected}\nis not in\n{refused}");
    }
}

#[tokio::test]
async fn the_object_style_takes_a_preset_below_what_it_says() {
    let redlock = Redlock::start(config().preset("payment", payment()))
        .await
        .unwrap();
    let _entered = redlock.registry().enter();
    for lock in [
        lock("order").preset("payment").ttl(seconds(3)),
        lock("order").ttl(seconds(3)).preset("payment".to_owned()),
    ] {
        let lease = lock.acquire().await.unwrap();
        assert!(lease.fencing_token().is_some());
        assert!(lease.validity() < seconds(3));
        let held = redlock.registry().held();
        assert_eq!(held[0].pools, ["a", "b"]);
        lease.release().await;
    }
    let refused = lock("order").preset("paymet").acquire().await.unwrap_err();
    let expected = "the preset `paymet` is not configured; did you mean `payment`?";
    assert!(
        refused.is_invalid() && refused.to_string().contains(expected),
        "{refused}"
    );
    redlock.shutdown().await;
}

#[tokio::test]
async fn a_variable_is_above_the_file() {
    let file = "[pools.a]\nurl = 'memory://a'\n[presets.Card-Payment]\nttl = '30s'\nfencing = true";
    let config = Config::from_toml(file).unwrap();
    let variables = [
        ("REDLOCK_PRESETS_CARD_PAYMENT_TTL", "5s"),
        ("REDLOCK_PRESETS_OTHER_POOLS", "a"),
    ];
    let redlock = Redlock::start(config.with_env(variables).unwrap())
        .await
        .unwrap();
    let _entered = redlock.registry().enter();
    let lease = lock("card").preset("Card-Payment").acquire().await.unwrap();
    assert!(lease.validity() < seconds(5) && lease.fencing_token().is_some());
    lease.release().await;
    lock("other")
        .preset("other")
        .acquire()
        .await
        .unwrap()
        .release()
        .await;
    redlock.shutdown().await;

    for (text, expected) in [
        (
            "[presets.x]\nttk = 1",
            "unknown key `ttk` in `[presets.x]`; did you mean `ttl`?",
        ),
        ("[presets.x]\nname = 'y'", "only the attribute can say it"),
        ("[sites.x]\npreset = 'y'", "only the attribute can say it"),
        (
            "[presets.x]\nwait = 1\nretry_count = 1",
            "`[presets.x]` has both",
        ),
    ] {
        let refused = Config::from_toml(text).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    let two = "[presets.a-b]\n[presets.A_b]";
    let two = Config::from_toml(two).unwrap();
    let refused = two
        .with_env([("REDLOCK_PRESETS_A_B_TTL", "1s")])
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("fits the presets `A_b` and `a-b`"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_test_without_a_configuration_runs_functions_with_presets() {
    let locks = TestLocks::new();
    assert!(!charge().await.unwrap());
    locks.assert_locked("charge");
}
