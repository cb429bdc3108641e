//! The same over TLS, to the sentinels and to the master.

use redlock_core::NodeSet;
use redlock_core::redis::{RedisAddress, TlsOptions};
use redlock_tests::{Authority, SentinelGroup, SentinelOptions};

use crate::core::fixture::connect_to;
use crate::core::kinds::each_kind_excludes_and_is_released;
use crate::sentinel::fixture::{calm, lock_soon, until_abstaining, until_voting};

async fn single(url: &str, trusted: &Authority) -> NodeSet {
    let tls = TlsOptions::default().ca(trusted.ca().to_owned());
    let address = RedisAddress::parse(url).unwrap().with_tls(tls).unwrap();
    connect_to([(address, calm())]).await
}

#[tokio::test]
async fn sentinels_and_masters_are_verified_alike() {
    let authority = Authority::new();
    let options = SentinelOptions::default().tls(&authority);
    let group = SentinelGroup::start_with(options.password("pw")).await;
    let url = group.url();
    assert!(url.starts_with("rediss+sentinel://:pw@"), "{url}");
    let set = single(&url, &authority).await;
    until_voting(&set[0]).await;
    each_kind_excludes_and_is_released(&set, "kinds").await;
    group.fail_over().await;
    lock_soon(&set, "r").await.release().await;

    let other = Authority::new();
    let set = single(&url, &other).await;
    let reason = until_abstaining(&set[0], "certificate").await;
    assert!(
        reason.starts_with("no sentinel names a master: 127.0.0.1:"),
        "{reason}"
    );
}
