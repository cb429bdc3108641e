//! Configurations of Cluster pools that `start` accepts or refuses.

use redlock_runtime::config::RestartCheck;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{RedisCluster, RedisNode, wait_until};

use crate::cluster::fixture::SOON;

/// On a busy machine no server is late. The start of a registry waits for what they say.
fn patient(config: Config) -> Config {
    config.node_timeout(SOON).connect_timeout(SOON)
}

async fn refusal(config: Config) -> String {
    let started = Redlock::start(patient(config)).await;
    started.map(drop).unwrap_err().to_string()
}

#[tokio::test]
async fn a_cluster_is_a_pool_beside_others_and_no_two() {
    let cluster = RedisCluster::start(0).await;
    let [b, c] = [RedisNode::start().await, RedisNode::start().await];
    let config = Config::new()
        .pool("a", cluster.url())
        .pool("b", b.url())
        .pool("c", c.url());
    let redlock = Redlock::start(patient(config.clone())).await.unwrap();
    let registry = redlock.registry().clone();
    for master in 0..3 {
        let name = cluster.name_at(master, "order");
        let locked = registry.clone().scope(lock(name.as_str()).acquire());
        let lease = locked.await.unwrap();
        // The lock is there at a majority: a third node may still be on its way.
        let keys = || [cluster[master].get(&name), b.get(&name), c.get(&name)];
        let are_all = |keys: &[Option<_>; 3]| keys.iter().all(Option::is_some);
        wait_until("the keys", keys, are_all).await;
        lease.release().await;
    }
    let lists = lock(["order:1", "order:2"]).acquire();
    let error = registry.scope(lists).await.unwrap_err();
    assert!(error.is_invalid(), "{error}");
    let report = redlock.shutdown().await;
    assert!(report.unconfirmed.is_empty(), "{report}");

    // Told apart by its seeds, it could vote twice.
    let [one, other] = [0, 1].map(|seed| cluster.url_of(&cluster[seed].addr().to_string()));
    let text = refusal(Config::new().pool("a", one).pool("b", other)).await;
    assert!(
        text.contains("the pools `a` and `b` are one server"),
        "{text}"
    );

    let text = refusal(config.restart_check(RestartCheck::Strict)).await;
    assert!(
        text.contains("`a` is a Redis Cluster, which has no restart check"),
        "{text}"
    );
    let trusting = Config::new().pool("a", cluster.url()).trust_aof("a", true);
    let text = refusal(trusting).await;
    assert!(text.contains("leave `trust_aof` out"), "{text}");

    let text = refusal(Config::new().pool("a", cluster[0].url())).await;
    assert!(text.contains("write redis+cluster://"), "{text}");
    let text = refusal(Config::new().pool("a", format!("redis+cluster://{}", b.addr()))).await;
    assert!(text.contains("not part of a Redis Cluster"), "{text}");
}

#[tokio::test]
async fn masters_that_evict_keys_are_refused() {
    let evicting = [("maxmemory", "64mb"), ("maxmemory-policy", "allkeys-lru")];
    let cluster = RedisCluster::start_with(0, None, &evicting).await;
    let text = refusal(Config::new().pool("a", cluster.url())).await;
    assert!(text.contains("`a` evicts keys"), "{text}");
    assert!(
        text.contains(&cluster[0].addr().to_string()),
        "which: {text}"
    );
}

#[tokio::test]
async fn the_user_of_the_masters_needs_no_key_beyond_the_prefix() {
    let cluster = RedisCluster::start(0).await;
    for server in cluster.servers() {
        server.command([
            "ACL", "SETUSER", "app", "on", ">pw", "~app:*", "&*", "+@all",
        ]);
    }
    let url = cluster.url().replace("://", "://app:pw@");
    let config = patient(Config::new().pool("a", url)).key_prefix("app:");
    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry().clone();
    let lease = registry.scope(lock("order").acquire()).await.unwrap();
    lease.release().await;
}
