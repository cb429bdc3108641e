//! A program whose functions do not fit its configuration. In a binary of its own: `init` checks
//! every annotated function that is linked in.

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::registry::sites;
use redlock_runtime::{Config, LockError, Redlock, init, redlock};

#[redlock(resource = "order:{id}", pools = ["a", "typo"])]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

struct Shop;

impl Shop {
    #[redlock(resource = "report", ttl = "10m")]
    async fn report(&self) -> Result<(), LockError> {
        Ok(())
    }
}

struct Shelf;

impl Shelf {
    #[redlock(resource = "stock", pools = ["nowhere"])]
    async fn stock(&self) -> Result<(), LockError> {
        Ok(())
    }
}

struct Cellar;

impl Cellar {
    #[redlock(resource = "stock", pools = ["a"])]
    async fn stock(&self) -> Result<(), LockError> {
        Ok(())
    }
}

const TWICE: [&str; 3] = ["a", "b", "a"];
const NONE: &[&str] = &[];

#[redlock(resource = "twice", pools = TWICE)]
async fn twice() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "none", pools = NONE, name = concat!("of ", "no pool"))]
async fn none() -> Result<(), LockError> {
    Ok(())
}

const EMPTY: &str = "";

#[redlock(resource = "no name", name = EMPTY)]
async fn no_name() -> Result<(), LockError> {
    Ok(())
}

/// It needs no call: `init` knows the value.
#[redlock(resource = "leader", wait = "forever", pools = ["a"])]
async fn leader() -> Result<(), LockError> {
    Ok(())
}

/// Makes a function twice, as `#[cached]` does below itself: with the attribute on both.
macro_rules! twice {
    ($(#[$attribute:meta])* $first:ident and $second:ident) => {
        $(#[$attribute])* async fn $first() -> Result<(), LockError> { Ok(()) }
        $(#[$attribute])* async fn $second() -> Result<(), LockError> { Ok(()) }
    };
}

twice! {
    #[redlock(resource = "cached", name = "cached")]
    cached and prime_cache
}

#[tokio::test]
async fn a_constant_without_pools_or_with_one_twice_locks_nothing() {
    let config = Config::new()
        .pool("a", "memory://a")
        .pool("b", "memory://b");
    // It checks no functions.
    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry().clone();
    let refused = registry.clone().scope(twice()).await.unwrap_err();
    let text = "`twice` cannot be locked: the pool `a` is named twice; one pool has one vote";
    assert_eq!(refused.to_string(), text);
    let refused = registry.clone().scope(none()).await.unwrap_err();
    assert!(
        refused.to_string().contains("no pools are named"),
        "{refused}"
    );
    registry.clone().scope(leader()).await.unwrap();
    let reports = registry.sites();
    let report = reports
        .iter()
        .find(|it| it.site.name() == "unknown_pool::leader");
    let report = report.unwrap();
    assert_eq!(report.parameters["wait"].value.as_deref(), Some("forever"));
    redlock.shutdown().await;
}

#[tokio::test]
async fn an_override_of_a_name_that_two_functions_have_is_refused() {
    let config = Config::new()
        .pool("a", "memory://a")
        .site("unknown_pool::stock", LockOptions::new().fencing(true));
    let refused = Redlock::start(config).await.map(|_| ()).unwrap_err();
    let text = "`[sites.\"unknown_pool::stock\"]` fits several functions: `unknown_pool::stock` (";
    assert!(refused.to_string().contains(text), "{refused}");
}

#[tokio::test]
async fn init_names_the_pool_the_function_and_its_place() {
    let config = Config::new()
        .pool("a", "memory://a")
        .pool("b", "memory://b");
    let error = init(config).await.map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert_eq!(error.problems().len(), 8, "{text}");
    for hint in [
        "`unknown_pool::charge` (tests/own_process/unknown_pool.rs:8:1) names the pool `typo`",
        "configured: a, b",
        "`unknown_pool::twice` (tests/own_process/unknown_pool.rs:43:1) names the pool `a` twice; one pool has one vote",
        "`of no pool` (tests/own_process/unknown_pool.rs:48:1) names no pool",
        "`tests/own_process/unknown_pool.rs:55:1`: `name` is empty",
        "several functions have the name `unknown_pool::stock`: `unknown_pool::stock` (tests/own_process/unknown_pool.rs:25:5), \
         `unknown_pool::stock` (tests/own_process/unknown_pool.rs:34:5); give them names of their own, with \
         `name = \"…\"` in the attribute",
        "several functions have the name `cached`: `cached` (tests/own_process/unknown_pool.rs:74:1); one attribute is \
         on several functions: in a `macro_rules!` macro, give each its own `name = $name`; if another attribute makes \
         several functions of one, write `#[redlock]` above that attribute",
        "`unknown_pool::stock` (tests/own_process/unknown_pool.rs:25:5) names the pool `nowhere`",
        "`unknown_pool::report` (tests/own_process/unknown_pool.rs:16:5): the ttl of 10 min is above `max_ttl`",
    ] {
        assert!(text.contains(hint), "{hint}\nis not in\n{text}");
    }
    // Nothing was started by it.
    assert!(charge(1).await.unwrap_err().is_not_initialized());
    assert!(no_name().await.unwrap_err().is_not_initialized());
    assert!(Shop.report().await.unwrap_err().is_not_initialized());
    assert!(Shelf.stock().await.is_err() && Cellar.stock().await.is_err());
    assert!(cached().await.is_err() && prime_cache().await.is_err());
    assert_eq!(sites().len(), 10);
}
