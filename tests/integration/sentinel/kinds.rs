//! Kinds of lock beside the plain one, on a master that sentinels manage.

use std::time::Duration;

use redlock_core::Request;
use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::node::Obstacle;
use redlock_core::request::Kind;
use redlock_tests::SentinelGroup;

use crate::core::kinds::each_kind_excludes_and_is_released;
use crate::sentinel::fixture::{calm, client, once, until_at, voting};

/// Longer than what is left of any lease here.
const LONG: Duration = Duration::from_secs(600);

fn with(kind: Kind, name: &str) -> Request {
    once(name).kind(kind)
}

#[tokio::test]
async fn each_kind_works_on_the_master_that_is_named_and_on_the_next_one() {
    let group = SentinelGroup::start().await;
    let set = voting(group.url(), calm()).await;
    each_kind_excludes_and_is_released(&set).await;
    group.fail_over().await;
    until_at(&set, group.master().await).await;
    each_kind_excludes_and_is_released(&set).await;
}

#[tokio::test]
async fn permits_and_readers_that_were_replicated_live_on_after_a_failover() {
    let group = SentinelGroup::start().await;
    let set = voting(group.url(), calm()).await;
    let one_of_two = || with(Kind::Permits(2), "p");
    let permits = [
        client().acquire(&set, &one_of_two()).await.unwrap(),
        client().acquire(&set, &one_of_two()).await.unwrap(),
    ];
    let reader = client()
        .acquire(&set, &with(Kind::Read, "r"))
        .await
        .unwrap();
    // The last text that was written.
    group.until_replicated("r").await;
    group.fail_over().await;
    let master = group.master().await;
    until_at(&set, master).await;

    for lease in permits.iter().chain([&reader]) {
        lease.extend(LONG).await.unwrap();
    }
    let full = client().acquire(&set, &one_of_two()).await.unwrap_err();
    assert!(
        full.to_string().starts_with("full: all 2 permits are held"),
        "{full}"
    );
    let refused = client().acquire(&set, &with(Kind::Write, "r")).await;
    let Err(AcquireError::Contended(contended)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(contended.holding.obstacle(), Obstacle::Readers);
    let beside = client()
        .acquire(&set, &with(Kind::Read, "r"))
        .await
        .unwrap();
    for lease in permits.into_iter().chain([reader, beside]) {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    let writer = client()
        .acquire(&set, &with(Kind::Write, "r"))
        .await
        .unwrap();
    assert_eq!(writer.release().await, Released::Confirmed);
    for key in ["p", "redlock:permit:1:{p}", "r", "redlock:readers:{r}"] {
        assert_eq!(master.get(key), None, "{key}");
    }
}
