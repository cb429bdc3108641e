//! Which calls find a test's registry, and which configuration it has.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::registry::{Site, sites};
use redlock_runtime::testing::{TestLocks, check_config};
use redlock_runtime::{Config, LockError, lock, redlock};
use tokio::runtime::Builder;

use super::elsewhere::charge;

#[redlock(resource = "elsewhere", pools = ["kit-x", "kit-y", "kit-z"], retry_count = 0)]
async fn on_pools_of_its_own() -> Result<(), LockError> {
    Ok(())
}

/// Two tests hold the same resource at the same time, each on a runtime of its own.
#[test]
fn tests_that_run_in_parallel_do_not_see_each_other() {
    let inside = Arc::new(Barrier::new(2));
    let test = || {
        let inside = Arc::clone(&inside);
        std::thread::spawn(move || {
            let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let locks = TestLocks::new();
                // Other threads of the runtime are no other test.
                let task = tokio::spawn(lock("r").retry_count(0).acquire());
                let lease = task.await.unwrap().unwrap();
                tokio::task::block_in_place(|| inside.wait());
                locks.assert_held("r");
                lease.release().await;
                locks.assert_all_free();
            });
        })
    };
    for test in [test(), test()] {
        test.join().unwrap();
    }
}

#[tokio::test]
async fn pools_that_functions_name_are_there_unless_the_test_has_some() {
    let locks = TestLocks::new();
    on_pools_of_its_own().await.unwrap();
    charge(1).await.unwrap();
    let pools: Vec<_> = locks
        .acquisitions()
        .into_iter()
        .map(|it| it.pools)
        .collect();
    assert_eq!(pools, [["kit-x", "kit-y", "kit-z"], ["a", "b", "c"]]);

    let config = Config::new().pool("one", "memory://x");
    let locks = TestLocks::with_config(config);
    charge(1).await.unwrap();
    assert_eq!(locks.acquisitions()[0].pools, ["one"]);
    assert!(on_pools_of_its_own().await.unwrap_err().is_unknown_pool());
    let refused = locks.acquisitions()[1].to_string();
    let text = ": refused, as `elsewhere` names the pool";
    assert!(refused.contains(text), "{refused}");
}

#[tokio::test]
async fn the_configuration_of_a_service_counts_but_for_its_servers() {
    let config = Config::from_toml(&format!(
        "key_prefix = \"shop:\"\n[defaults]\nttl = \"10s\"\n\
         [pools.main]\nurl = \"rediss://:secret@10.255.255.1:6379/3\"\ntls_ca = \"/no/such/file\"\n\
         [sites.\"{}\"]\nttl = \"7s\"\n[sites.\"shop::orders::charge\"]\nttl = \"8s\"\n",
        "integration::testing_kit::elsewhere::charge",
    ));
    // The program lacks the function of `shop`.
    let locks = TestLocks::with_config(config.unwrap());
    let lease = lock("order:1").acquire().await.unwrap();
    assert_eq!(locks.node("main").keys(), [b"shop:order:1"]);
    lease.release().await;
    charge(1).await.unwrap();
    let ttls: Vec<_> = locks.acquisitions().iter().map(|it| it.ttl).collect();
    assert_eq!(ttls, [10, 7].map(Duration::from_secs));
    locks.assert_all_free();
}

#[tokio::test]
async fn a_key_prefix_hides_no_leak_and_a_counter_is_none() {
    let config = Config::new().key_prefix("shop:");
    let locks = TestLocks::with_config(config.defaults(LockOptions::new().fencing(true)));
    charge(1).await.unwrap();
    assert!(!locks.node("a").keys().is_empty(), "the fencing counter");
    locks.assert_all_free();
    let _hold = locks.hold("order:1");
    assert!(charge(1).await.unwrap_err().is_contended());
    assert!(locks.node("a").get(b"shop:order:1").is_some());
}

#[test]
fn a_configuration_is_checked_against_all_functions() {
    let config = Config::new().pool("a", "redis://127.0.0.1:6379");
    let error = check_config(&config).unwrap_err().to_string();
    let is_named = error.contains("on_pools_of_its_own") && error.contains("`kit-x`");
    assert!(is_named, "{error}");
    // The pools that sites of this module name, and those that other sites of the program name.
    let named = sites().into_iter().filter_map(Site::pools);
    let named: BTreeSet<&str> = named.flatten().copied().collect();
    let config = named.iter().zip(1..).fold(config, |config, (name, n)| {
        config.pool(*name, format!("redis://127.0.0.{n}:6380"))
    });
    check_config(&config).unwrap();
}

#[tokio::test]
async fn the_last_registry_made_counts_unless_a_scope_has_another() {
    let first = TestLocks::new();
    let second = TestLocks::new();
    charge(1).await.unwrap();
    first.clone().scope(charge(2)).await.unwrap();
    first.assert_not_locked("order:1");
    second.assert_locked("order:1");
    second.assert_not_locked("order:2");
    drop(second);
    charge(3).await.unwrap();
    first.assert_locked("order:3");
    drop(first);
    let error = charge(4).await.unwrap_err().to_string();
    let advice = "make a `redlock_runtime::testing::TestLocks`";
    assert!(error.contains(advice), "{error}");
}

#[test]
fn a_registry_that_is_dropped_leaves_each_runtime() {
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let (tests, other) = (runtime(), runtime());
    let locks = tests.block_on(async { TestLocks::new() });
    other.block_on(async { locks.attach() });
    other.block_on(charge(1)).unwrap();
    // Without a runtime, and behind the test's own.
    drop(tests);
    locks.assert_all_free();
    drop(locks);
    assert!(other.block_on(charge(1)).unwrap_err().is_not_initialized());
}

#[tokio::test]
async fn each_run_makes_the_same_tokens() {
    let token = async || {
        let _locks = TestLocks::new();
        let lease = lock("r").acquire().await.unwrap();
        lease.token_id().to_owned()
    };
    assert_eq!(token().await, token().await);
}
