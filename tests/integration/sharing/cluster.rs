//! Readers and writers on a Redis Cluster, which has one vote.

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_core::request::Kind;
use redlock_tests::RedisCluster;

use crate::core::fixture::{client, connect, once, until_voting};
use crate::core::kinds::each_kind_excludes_and_is_released;
use crate::sharing::fixture::TTL;

#[tokio::test]
async fn all_keys_of_a_lock_are_in_one_slot() {
    let cluster = RedisCluster::start(0).await;
    let set = connect([cluster.url()]).await;
    until_voting(&set[0], true).await;
    for name in ["report:7", "{shop}:report:7", "a{b}c"] {
        for fencing in [false, true] {
            let request = |kind| {
                let mut request = once(name).kind(kind).ttl(TTL);
                request.fencing = fencing;
                request
            };
            let reader = client().acquire(&set, &request(Kind::Read)).await.unwrap();
            let refused = client().acquire(&set, &request(Kind::Write)).await;
            let Err(AcquireError::Contended(contended)) = refused else {
                panic!("{refused:?}");
            };
            assert_eq!(contended.holding.obstacle, Obstacle::Readers);
            reader.extend(TTL * 2).await.unwrap();
            assert_eq!(reader.release().await, Released::Confirmed);
            let writer = client().acquire(&set, &request(Kind::Write)).await.unwrap();
            writer.extend(TTL * 2).await.unwrap();
            assert_eq!(writer.release().await, Released::Confirmed);
        }
    }
}

#[tokio::test]
async fn each_kind_of_lock_excludes_is_waited_for_and_released() {
    let cluster = RedisCluster::start(0).await;
    let set = connect([cluster.url()]).await;
    until_voting(&set[0], true).await;
    each_kind_excludes_and_is_released(&set).await;
}

#[tokio::test]
async fn a_name_whose_braces_keep_its_readers_out_is_refused() {
    let cluster = RedisCluster::start(0).await;
    let set = connect([cluster.url()]).await;
    let refused = client().acquire(&set, &once("a}b").kind(Kind::Read)).await;
    let text = refused.unwrap_err().to_string();
    assert!(
        text.contains("`mode`") && text.contains("list of its readers"),
        "{text}"
    );
}
