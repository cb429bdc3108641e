//! Masters that come and go, at addresses without a server.

mod view;

use std::time::Duration;

use super::*;
use crate::kinds::looks::peek;
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeErrorKind;
use crate::node::hash_slot::{SLOTS, slot_of};
use crate::redis::address::Target;
use crate::redis::node::RedisNode;

/// A Cluster that learns nothing by itself.
async fn cluster() -> Cluster {
    let io = IoThread::start().expect("a thread");
    let cluster = Cluster::start(&"a".into(), vec![server(1)], RedisOptions::default(), &io);
    cluster.refresh.abort();
    while !cluster.refresh.is_finished() {
        tokio::task::yield_now().await;
    }
    cluster
}

fn server(port: u16) -> Server {
    let address = RedisAddress::parse(&format!("redis://127.0.0.1:{port}")).unwrap();
    let Target::Server(server) = address.0 else {
        unreachable!("one server");
    };
    server
}

fn range(first: u16, last: u16, port: u16) -> Range {
    Range {
        first,
        last,
        master: server(port),
        id: port.to_string(),
    }
}

/// One master for all slots.
fn all(port: u16) -> Vec<Range> {
    vec![range(0, SLOTS - 1, port)]
}

fn ask(cluster: &Cluster) {
    let call = peek(&Resource::from("r"));
    cluster.submit(Arc::new(call), Reply::to_nobody());
}

#[tokio::test]
async fn what_finds_no_master_is_counted_and_says_why() {
    let cluster = cluster().await;
    ask(&cluster);
    let health = cluster.health();
    assert_eq!(health.errors[&NodeErrorKind::NotConnected], 1);

    let io = IoThread::start().expect("a thread");
    let address = RedisAddress::parse("redis+cluster://127.0.0.1:1").unwrap();
    let node = RedisNode::start("a", address, RedisOptions::default(), &io);
    node.settled().await;
    let last = node.health().last_error.expect("it cannot be learned");
    let why = last.error.to_string();
    assert!(why.contains("127.0.0.1:1"), "{why}");
}

/// Also if no master has the slot in between.
#[tokio::test]
async fn an_owed_release_goes_to_whichever_master_has_its_slot() {
    let cluster = cluster().await;
    let shared = &cluster.shared;
    shared.apply(all(1)).await;
    assert!(cluster.drained());
    let token = OwnerToken::draw("other/1", &*shared.io.environment().entropy);
    let (resource, ttl) = (Resource::from("r"), Duration::from_secs(60));
    let release = plain(&resource).release(&token, ttl, true);
    cluster.submit(Arc::new(release), Reply::to_nobody());
    let slot = slot_of(b"r");
    let owes = |shard: &Arc<Shard>| shard.node.inbox.owes(shared.io.time().now());
    let who = || shared.map().shards.values().map(owes).collect::<Vec<_>>();
    let before = || range(0, slot - 1, 1);
    shared
        .apply(vec![before(), range(slot, SLOTS - 1, 2)])
        .await;
    assert_eq!(who(), [false, true]);
    // No master has the slot.
    shared.apply(vec![before()]).await;
    assert_eq!(who(), [true]);
    assert!(!cluster.drained());
    shared.apply(all(3)).await;
    assert_eq!(who(), [true]);
    assert!(!cluster.drained());
}

#[tokio::test]
async fn nothing_of_a_cluster_outlives_its_handle() {
    let io = IoThread::start().expect("a thread");
    let cluster = Cluster::start(&"a".into(), vec![server(1)], RedisOptions::default(), &io);
    cluster.shared.apply(all(1)).await;
    ask(&cluster);
    let shared = Arc::downgrade(&cluster.shared);
    drop(cluster);
    let gone = async {
        while shared.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    gone.expect("the topology refresh and the masters end");
}
