//! Tests with masters that come and go, at addresses without a server.

mod view;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::kinds::any_kind::peek;
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeErrorKind;
use crate::node::hash_slot::{SLOTS, slot_of};
use crate::redis::address;
use crate::redis::node::RedisNode;

/// Starts a Cluster and stops its topology refresh, so that only the test changes the map.
async fn cluster(seed: u16) -> Cluster {
    let io = IoThread::start().expect("a thread");
    let seeds = vec![server(seed)];
    let cluster = Cluster::start(&"a".into(), seeds, RedisOptions::default(), &io);
    cluster.refresh.abort();
    while !cluster.refresh.is_finished() {
        tokio::task::yield_now().await;
    }
    cluster
}

fn server(port: u16) -> Server {
    address::tests::server(&format!("redis://127.0.0.1:{port}"))
}

fn range(first: u16, last: u16, port: u16) -> Range {
    Range {
        first,
        last,
        master: server(port),
        id: port.to_string(),
    }
}

/// Returns the ranges of a Cluster with one master for all slots.
fn all(port: u16) -> Vec<Range> {
    vec![range(0, SLOTS - 1, port)]
}

fn ask(cluster: &Cluster) {
    drop(crate::testing::submit(cluster, peek(&Resource::from("r"))));
}

#[tokio::test]
async fn what_finds_no_master_is_counted_and_says_why() {
    let cluster = cluster(1).await;
    ask(&cluster);
    let health = cluster.health();
    assert_eq!(health.errors[&NodeErrorKind::NotConnected], 1);

    let io = IoThread::start().expect("a thread");
    let address = RedisAddress::parse("redis+cluster://127.0.0.1:1").unwrap();
    let node = RedisNode::start("a", address, RedisOptions::default(), &io);
    node.wait_until_settled().await;
    let last = node.health().last_error.expect("it cannot be learned");
    let why = last.error.to_string();
    assert!(why.contains("127.0.0.1:1"), "{why}");
}

/// Moves the release also after a time in which no master has the slot.
#[tokio::test]
async fn an_owed_release_goes_to_whichever_master_has_its_slot() {
    let cluster = cluster(1).await;
    let shared = &cluster.shared;
    shared.apply(all(1)).await;
    assert!(cluster.drained());
    let token = OwnerToken::draw("other/1", &*shared.io.environment().entropy);
    let (resource, ttl) = (Resource::from("r"), Duration::from_secs(60));
    let release = plain(&resource).release_call(&token, ttl, true);
    drop(crate::testing::submit(&cluster, release));
    let slot = slot_of(b"r");
    let owes = |shard: &Arc<Shard>| shard.node.inbox.owes(shared.io.time().now());
    let who = || shared.map().shards.values().map(owes).collect::<Vec<_>>();
    let before = || range(0, slot - 1, 1);
    shared
        .apply(vec![before(), range(slot, SLOTS - 1, 2)])
        .await;
    assert_eq!(who(), [false, true]);
    // The slot has lost its master.
    shared.apply(vec![before()]).await;
    assert_eq!(who(), [true]);
    assert!(!cluster.drained());
    shared.apply(all(3)).await;
    assert_eq!(who(), [true]);
    assert!(!cluster.drained());
}

/// Answers one client: all slots belong to a master at a dead port.
async fn name_a_dead_master(mut asker: TcpStream) {
    let mut question = [0; 1024];
    while let Ok(length @ 1..) = asker.read(&mut question).await {
        let is_greeting = question[..length].windows(5).any(|it| it == b"HELLO");
        let slots = "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:1\r\n$1\r\nm\r\n";
        let answer = if is_greeting {
            "%0\r\n"
        } else {
            &format!("_\r\n{slots}")
        };
        asker.write_all(answer.as_bytes()).await.expect("it reads");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_master_has_the_topology_asked_for_within_a_second() {
    let seed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let cluster = cluster(seed.local_addr().expect("an address").port()).await;
    let refresh = tokio::spawn(Arc::clone(&cluster.shared).refresh());
    let mut asked = Vec::new();
    for _ in 0..40 {
        let (stream, _) = seed.accept().await.expect("a question");
        asked.push(Instant::now());
        // The master's driver reports failures by another clock, so the test reports one in its place.
        cluster
            .shared
            .metrics
            .record_failed(&not_connected("dead"), 1);
        name_a_dead_master(stream).await;
    }
    refresh.abort();
    assert_eq!(cluster.shared.map().shards.len(), 1);
    let mut pauses = asked.windows(2).map(|it| it[1] - it[0]);
    assert!(pauses.all(|it| it <= LONGEST_CONNECT_PAUSE + Duration::from_millis(1)));
    // Pauses of constant length would be 100 ms at most.
    assert!(asked[39] - asked[0] > Duration::from_secs(9));
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
