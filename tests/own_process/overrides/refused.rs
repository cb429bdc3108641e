//! Overrides that fit nothing, several functions, or make no sense.

use redlock_runtime::config::SiteConfig;
use redlock_runtime::error::InitError;
use redlock_runtime::parameters::{Kind, LockOptions};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, Redlock, init};

use crate::{overridden, seconds, shop};

fn config() -> Config {
    Config::new()
        .pool("a", "memory://a")
        .pool("b", "memory://b")
}

/// What `Redlock::start` says, which `init` has to say too.
async fn refusal(config: Config) -> InitError {
    let refused = Redlock::start(config.clone())
        .await
        .map(|_| ())
        .unwrap_err();
    let by_init = init(config).await.map(|_| ()).unwrap_err();
    for problem in refused.problems() {
        assert!(
            by_init.problems().contains(problem),
            "{problem}\nis not in\n{by_init}"
        );
    }
    refused
}

async fn problem(config: Config) -> String {
    let refused = refusal(config).await;
    assert_eq!(refused.problems().len(), 1, "{refused}");
    refused.problems()[0].to_string()
}

fn of(name: &str, site: SiteConfig) -> Config {
    config().site(name, site)
}

#[tokio::test]
async fn a_name_that_fits_no_function_is_refused_with_what_was_meant() {
    let text = problem(of("overrides::shop::chrage", SiteConfig::new())).await;
    assert_eq!(
        text,
        "`[sites.\"overrides::shop::chrage\"]` fits no function under `#[redlock]` in this program; \
         did you mean `overrides::shop::charge`?"
    );
    let text = problem(of("xyz", SiteConfig::new().ttl(seconds(1)))).await;
    assert!(
        text.contains("; there are `empty basket`, `empty cart`, `of a trait`, "),
        "{text}"
    );
}

#[tokio::test]
async fn values_that_make_no_sense_together_are_refused_at_start() {
    let site = SiteConfig::new;
    for (name, site, expected) in [
        (
            "charge",
            site().ttl(seconds(301)),
            "the ttl of 5 min 1 s is above `max_ttl`",
        ),
        (
            "charge",
            site().max_hold(seconds(59)),
            "`max_hold` of 59 s is below the ttl of 1 min",
        ),
        (
            "charge",
            site().pools(["a", "d"]),
            "names the pool `d`, which is not configured; configured: a, b",
        ),
        (
            "charge_for",
            site().clock_drift_factor(-1.0),
            "`clock_drift_factor` of -1",
        ),
        (
            "kind",
            site().permits(4).fencing(true),
            "`fencing` with `permits`",
        ),
        (
            "writes",
            site().permits(4),
            "`permits` and `kind` ask for two locks, one of 4 permits and a write lock",
        ),
    ] {
        let text = problem(of(&format!("overrides::shop::{name}"), site)).await;
        assert!(
            text.starts_with(&format!(
                "`overrides::shop::{name}` (tests/own_process/overrides/shop.rs:"
            )) && text.contains("), overridden by `[sites.\"")
                && text.contains(expected),
            "{expected}\nis not in\n{text}"
        );
    }
}

#[tokio::test]
async fn an_override_that_takes_a_literal_token_is_refused() {
    let reason = "`fencing = false` takes the token on which the body relies, as its attribute has the literal \
                  `fencing = true`; leave `fencing` out here, or write a constant there";
    let name = "overrides::shop::withdraw";
    let site = "`overrides::shop::withdraw` (tests/own_process/overrides/shop.rs:";
    let text = problem(of(name, SiteConfig::new().fencing(false))).await;
    assert!(text.starts_with(site), "{text}");
    let end = format!("), overridden by `[sites.\"{name}\"]`: {reason}");
    assert!(text.ends_with(&end), "{text}");
    // From the file, with its place.
    let file = format!("[pools.a]\nurl = 'memory://a'\n\n[sites.\"{name}\"]\nfencing = false");
    let text = problem(Config::from_toml(&file).unwrap()).await;
    assert!(
        text.starts_with("line 4: ") && text.ends_with(&end),
        "{text}"
    );
}

#[tokio::test]
async fn a_literal_token_is_there_under_other_overrides() {
    // `[defaults]` are below the attribute.
    let name = "overrides::shop::withdraw";
    let config = Config::new().site(name, SiteConfig::new().ttl(seconds(5)).fencing(true));
    let defaults = LockOptions::new().fencing(false);
    let _locks = TestLocks::with_config(config.defaults(defaults));
    let first = shop::withdraw().await.unwrap();
    assert!(shop::withdraw().await.unwrap() > first);
}

#[tokio::test]
async fn a_token_by_a_constant_is_taken_by_an_override() {
    let _locks = overridden("overrides::shop::charge", SiteConfig::new());
    assert!(shop::deposit().await.unwrap());
    let site = SiteConfig::new().fencing(false);
    let _locks = overridden("overrides::shop::deposit", site);
    assert!(!shop::deposit().await.unwrap());
}

#[tokio::test]
async fn permits_and_kinds_of_several_names_are_refused_at_start() {
    for (site, expected) in [
        (
            SiteConfig::new().permits(4),
            "`permits` with several resources, `from:{from} + to:{to}`: all or none of several sets of \
             permits cannot be taken at once; lock one of them, or leave `permits` out",
        ),
        (
            SiteConfig::new().kind(Kind::Write),
            "the resource `from:{from} + to:{to}` has several names, and readers and writers share one \
             name only; leave `kind` out, or lock what the names have in common",
        ),
    ] {
        let text = problem(of("overrides::shop::both", site)).await;
        assert!(
            text.starts_with("`overrides::shop::both` (tests/own_process/overrides/shop.rs:")
                && text.ends_with(&format!("`: {expected}")),
            "{expected}\nis not in\n{text}"
        );
    }
    let site = SiteConfig::new().ttl(seconds(5));
    let _locks = overridden("overrides::shop::both", site);
    shop::both(1, 2).await.unwrap();
}
