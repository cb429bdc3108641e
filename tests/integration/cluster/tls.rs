//! A Cluster over TLS, with connections to all masters.

use redlock_core::NodeSet;
use redlock_core::redis::{RedisAddress, TlsOptions};
use redlock_tests::{Authority, RedisCluster};

use crate::cluster::fixture::{SOON, client, once, reason};
use crate::core::fixture::{calm, connect_to};

async fn connect(cluster: &RedisCluster, trusted: &Authority) -> NodeSet {
    let tls = TlsOptions::default().ca(trusted.ca().to_owned());
    let address = RedisAddress::parse(&cluster.url()).unwrap();
    connect_to([(address.with_tls(tls).unwrap(), calm())]).await
}

#[tokio::test]
async fn every_master_is_verified_also_where_a_slot_moved_to() {
    let authority = Authority::new();
    let cluster = RedisCluster::start_over_tls(&authority).await;
    assert!(cluster.url().starts_with("rediss+cluster://"));
    let set = connect(&cluster, &authority).await;
    assert_eq!(reason(&set), None);
    for master in 0..3 {
        let lease = client()
            .acquire(&set, &once(cluster.name_at(master, "order")))
            .await;
        lease.unwrap().release().await;
    }
    let name = cluster.name_at(0, "order");
    let slot = cluster.slot_of(&name);
    let lease = client().acquire(&set, &once(&name)).await.unwrap();
    cluster.open_slot(slot, 0, 1);
    cluster.move_keys(slot, 0, 1);
    cluster.close_slot(slot, 0, 1).await;
    lease.release().await;
    cluster.assert_no_lock_keys(SOON).await;

    let other = Authority::new();
    let distrusted = connect(&cluster, &other).await;
    let reason = reason(&distrusted).expect("a reason");
    assert!(reason.contains("certificate"), "{reason}");
}
