//! What the configuration says of single functions. In a binary of its own: an override is matched
//! with every annotated function of the program.

mod copied;
mod refused;
mod shop;

use std::time::Duration;

use redlock_runtime::config::SiteConfig;
use redlock_runtime::parameters::{Kind, LockOptions, OnLost, Wait};
use redlock_runtime::registry::Layer;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, init};

use shop::Shop as _;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A registry whose configuration has `site` for the function `name`, on the pools `a`, `b` and `c`.
fn overridden(name: &str, site: SiteConfig) -> TestLocks {
    TestLocks::with_config(Config::new().site(name, site))
}

#[tokio::test]
async fn a_ttl_is_above_those_of_attribute_call_and_defaults() {
    let defaults = LockOptions::new().ttl(seconds(20));
    let names = ["overrides::shop::charge", "overrides::shop::charge_for"];
    for (name, ttls) in names.into_iter().zip([[10, 60], [60, 10]]) {
        let config = Config::new().defaults(defaults);
        let config = config.site(name, SiteConfig::new().ttl(seconds(10)));
        let locks = TestLocks::with_config(config);
        shop::charge().await.unwrap();
        shop::charge_for(seconds(60)).await.unwrap();
        let found: Vec<_> = locks.acquisitions().iter().map(|it| it.ttl).collect();
        assert_eq!(found, ttls.map(seconds), "{name}");
    }
}

#[tokio::test]
async fn every_instance_of_a_generic_function_has_the_override() {
    let fencing = || SiteConfig::new().fencing(true);
    let _locks = overridden("overrides::shop::generic", fencing());
    assert!(shop::generic(1_u8).await.unwrap());
    assert!(shop::generic("text").await.unwrap());
    // An override also applies to the default method of a trait, in each type.
    let _locks = overridden("of a trait", fencing());
    assert!(shop::North.in_a_trait().await.unwrap());
    assert!(shop::South.in_a_trait().await.unwrap());
}

#[tokio::test]
async fn of_methods_on_one_line_the_named_one_is_overridden() {
    let locks = overridden("empty basket", SiteConfig::new().fencing(true));
    assert!(!shop::Cart::empty().await.unwrap());
    assert!(shop::Basket::empty().await.unwrap());
    let reports = locks.registry().sites();
    let of = |name: &str| reports.iter().find(|it| it.site.name() == name);
    let [cart, basket] = ["empty cart", "empty basket"].map(|name| of(name).unwrap());
    let layers = [cart, basket].map(|report| report.parameters["fencing"].layer);
    assert_eq!(layers, [Layer::BuiltIn, Layer::Override]);
    assert_eq!(cart.site.line(), basket.site.line());
}

#[tokio::test(start_paused = true)]
async fn retries_clear_the_wait_of_the_attribute_and_the_reverse() {
    // It would wait for ever.
    let site = SiteConfig::new().retry_count(1).retry_delay(Duration::ZERO);
    let locks = overridden("overrides::shop::patient", site);
    let hold = locks.hold("queue");
    assert!(shop::patient().await.unwrap_err().is_contended());
    hold.release();
    // It would be refused at once, and gets the lock when the other's ttl ends.
    let site = SiteConfig::new().wait(Wait::Forever);
    let locks = overridden("overrides::shop::hasty", site);
    let _hold = locks.hold("queue");
    shop::hasty().await.unwrap();
}

#[tokio::test]
async fn an_override_gives_a_function_another_kind() {
    let site = SiteConfig::new;
    for (site, kind, has_permit) in [
        (site(), Kind::Plain, false),
        (site().permits(3), Kind::Permits(3), true),
        (site().kind(Kind::Read), Kind::Read, false),
        (site().kind(Kind::Write), Kind::Write, false),
    ] {
        let _locks = overridden("overrides::shop::kind", site);
        let (found, permit) = shop::kind().await.unwrap();
        assert_eq!((found, permit.is_some()), (kind, has_permit));
    }
    // Above what the attribute says.
    let _locks = overridden("overrides::shop::writes", site().kind(Kind::Read));
    assert_eq!(shop::writes().await.unwrap(), Kind::Read);
}

#[tokio::test]
async fn the_other_parameters_arrive_too() {
    let site = SiteConfig::new;
    let locks = overridden(
        "overrides::shop::beyond_its_lock",
        site().on_lost(OnLost::Continue),
    );
    shop::beyond_its_lock(&locks).await.unwrap();

    let _locks = overridden("overrides::shop::charge", site().once_per(seconds(3600)));
    shop::charge().await.unwrap();
    assert!(shop::charge().await.unwrap_err().is_already_run());
}

#[tokio::test]
async fn code_is_above_the_file_and_both_above_the_attribute() {
    let file = "[sites.\"overrides::shop::charge\"]\nttl = '30s'\nclock_drift_factor = 0.5";
    let in_code = LockOptions::new().ttl(seconds(10));
    let config = Config::from_toml(file).unwrap();
    let locks = TestLocks::with_config(config.site("overrides::shop::charge", in_code));
    let validity = shop::charge().await.unwrap();
    assert_eq!(locks.acquisitions()[0].ttl, seconds(10));
    let is_of_file = validity <= seconds(5);
    assert!(
        is_of_file,
        "what the code does not say is the file's: {validity:?}"
    );
}

#[tokio::test]
async fn init_takes_an_override_where_it_would_refuse_the_attribute() {
    // The attribute names a pool that there is not.
    let config = || Config::new().pool("a", "memory://a");
    let refused = init(config()).await.map(|_| ()).unwrap_err();
    assert_eq!(refused.problems().len(), 1, "{refused}");
    let text = refused.to_string();
    assert!(text.contains("names the pool `nowhere`"), "{text}");
    let site = || SiteConfig::new().pools(["a"]);
    let config = config().site("overrides::shop::elsewhere", site());
    init(config).await.unwrap().shutdown().await;

    let locks = overridden("overrides::shop::elsewhere", site());
    shop::elsewhere().await.unwrap();
    assert_eq!(locks.acquisitions()[0].pools, ["a"]);
}
