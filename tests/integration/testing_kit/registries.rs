//! Which calls find a test's registry.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use redlock_runtime::parameters::LockOptions;
use redlock_runtime::registry::{Site, sites};
use redlock_runtime::testing::{TestLocks, check_config};
use redlock_runtime::{Config, LockError, lock, redlock};
use tokio::sync::Barrier;

#[redlock(resource = "r", retry_count = 0)]
async fn hold_until(barrier: Arc<Barrier>) -> Result<(), LockError> {
    barrier.wait().await;
    Ok(())
}

#[redlock(resource = "elsewhere", pools = ["kit-x", "kit-y", "kit-z"], retry_count = 0)]
async fn on_pools_of_its_own() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "order:{id}", retry_count = 0)]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

/// Two tests that hold the same resource at the same time, each on a runtime of its own.
#[test]
fn tests_that_run_in_parallel_do_not_see_each_other() {
    let inside = Arc::new(std::sync::Barrier::new(2));
    let test = |runtime: tokio::runtime::Runtime| {
        let inside = Arc::clone(&inside);
        std::thread::spawn(move || {
            runtime.block_on(async {
                let locks = TestLocks::new();
                let lease = lock("r").retry_count(0).acquire().await.unwrap();
                tokio::task::block_in_place(|| inside.wait());
                locks.assert_held("r");
                assert_eq!(locks.acquisitions().len(), 1);
                lease.release().await;
                locks.assert_all_free();
            });
        })
    };
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    for test in [runtime(), runtime()].map(test) {
        test.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spawned_tasks_find_the_registry() {
    let locks = TestLocks::new();
    let barrier = Arc::new(Barrier::new(2));
    let task = tokio::spawn(hold_until(Arc::clone(&barrier)));
    locks.until_held("r").await;
    assert!(
        hold_until(Arc::clone(&barrier))
            .await
            .unwrap_err()
            .is_contended()
    );
    barrier.wait().await;
    task.await.unwrap().unwrap();
    let nested = tokio::spawn(async { tokio::spawn(charge(7)).await.unwrap() });
    assert_eq!(nested.await.unwrap().unwrap(), 7);
    locks.assert_locked("order:7");
    locks.assert_all_free();
}

#[tokio::test]
async fn pools_that_functions_name_are_there_and_the_default_is_three_nodes() {
    let locks = TestLocks::new();
    on_pools_of_its_own().await.unwrap();
    charge(1).await.unwrap();
    let [own, default] = &locks.acquisitions()[..] else {
        panic!("{:?}", locks.acquisitions());
    };
    assert_eq!(own.pools, ["kit-x", "kit-y", "kit-z"]);
    assert_eq!(default.pools, ["a", "b", "c"]);
}

#[tokio::test]
async fn the_pools_of_a_test_are_those_that_it_names() {
    let names = ["one", "two", "three", "four", "five"];
    let config = Config::new();
    let config = names
        .iter()
        .fold(config, |it, name| it.pool(*name, "memory://x"));
    let locks = TestLocks::with_config(config);
    charge(1).await.unwrap();
    assert_eq!(locks.acquisitions()[0].pools.len(), 5);
    assert!(on_pools_of_its_own().await.unwrap_err().is_unknown_pool());
    let refused = locks.acquisitions_of("elsewhere")[0].to_string();
    assert!(
        refused.contains(": refused, as `elsewhere` names the pool"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_services_own_configuration_is_used_without_its_servers() {
    let config = Config::from_toml(
        "key_prefix = \"shop:\"\n\
         [defaults]\nttl = \"10s\"\n\
         [pools.main]\nurl = \"redis://:secret@10.255.255.1:6379/3\"\n",
    );
    let locks = TestLocks::with_config(config.unwrap());
    let lease = lock("order:1").acquire().await.unwrap();
    assert_eq!(locks.node("main").keys(), [b"shop:order:1"]);
    assert!(lease.validity() <= Duration::from_secs(10));
    locks.assert_held("order:1");
    lease.release().await;
    locks.assert_free("order:1");
    locks.assert_all_free();
}

#[tokio::test]
async fn overrides_of_functions_count_and_those_of_functions_elsewhere_do_not() {
    let config = Config::from_toml(&format!(
        "[pools.main]\nurl = \"rediss://10.255.255.1:6379\"\ntls_ca = \"/no/such/file\"\n\
         [sites.\"{}::charge\"]\nttl = \"7s\"\n\
         [sites.\"shop::orders::charge\"]\nttl = \"8s\"\n",
        module_path!(),
    ));
    let config = config
        .unwrap()
        .with_env([("REDLOCK_SITES_SHOP__REFUND_TTL", "9s")]);
    let locks = TestLocks::with_config(config.unwrap());
    charge(1).await.unwrap();
    let ttl = locks.acquisitions()[0].ttl;
    assert_eq!(ttl, Duration::from_secs(7));
}

#[tokio::test]
async fn a_call_before_the_registry_is_made_says_what_to_make() {
    let error = charge(1).await.unwrap_err().to_string();
    assert!(
        error.contains("make a `redlock_runtime::testing::TestLocks`"),
        "{error}"
    );
}

#[tokio::test]
async fn a_scope_that_is_dropped_drops_what_it_runs() {
    let locks = TestLocks::new();
    let inside = locks.scope(hold_until(Arc::new(Barrier::new(2))));
    assert!(redlock_tests::drop_after(1, inside).await.is_none());
    locks.assert_locked("r");
    locks.assert_all_free();
}

#[tokio::test]
async fn a_key_prefix_does_not_hide_a_leak_nor_take_a_counter_for_one() {
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
    assert!(
        error.contains("on_pools_of_its_own") && error.contains("`kit-x`"),
        "{error}"
    );
    // The pools that sites of this module name, and those that other sites of the program name.
    let named = sites().into_iter().filter_map(Site::pool_names);
    let named: BTreeSet<&str> = named.flatten().copied().collect();
    let config = named.iter().zip(1..).fold(config, |config, (name, n)| {
        config.pool(*name, format!("redis://127.0.0.{n}:6380"))
    });
    check_config(&config).unwrap();
}

#[tokio::test]
async fn the_last_registry_made_counts_and_the_one_before_it_when_that_is_gone() {
    let first = TestLocks::new();
    let second = TestLocks::new();
    charge(1).await.unwrap();
    first.assert_not_locked("order:1");
    second.assert_locked("order:1");
    drop(second);
    charge(2).await.unwrap();
    first.assert_locked("order:2");
    drop(first);
    assert!(charge(3).await.unwrap_err().is_not_initialized());
}

#[tokio::test]
async fn a_scope_comes_before_what_is_attached() {
    let attached = TestLocks::new();
    let scoped = TestLocks::new();
    let attached_again = attached.clone();
    attached_again.scope(charge(1)).await.unwrap();
    attached.assert_locked("order:1");
    scoped.assert_not_locked("order:1");
}

#[test]
fn another_runtime_finds_the_registry_once_it_is_attached() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    let (tests, other) = (runtime(), runtime());
    let locks = tests.block_on(async { TestLocks::new() });
    let outside = other.block_on(charge(1));
    assert!(outside.unwrap_err().is_not_initialized());
    other.block_on(async {
        locks.attach();
        tokio::spawn(charge(1)).await.unwrap().unwrap();
    });
    locks.assert_locked("order:1");
    // Without a runtime, and behind the test's own.
    drop(tests);
    locks.assert_all_free();
    drop(locks);
    assert!(other.block_on(charge(1)).unwrap_err().is_not_initialized());
}
