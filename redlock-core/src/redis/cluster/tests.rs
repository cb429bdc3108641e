//! Masters that come and go, at addresses without a server.

use super::*;
use crate::Node as _;
use crate::kinds::looks::inspect;
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeErrorKind;
use crate::redis::address::Target;
use crate::redis::node::RedisNode;
use layout::{Layout, Range};

fn shared() -> Arc<ClusterShared> {
    let io = IoThread::start().expect("a thread");
    let (name, options) = ("a".into(), RedisOptions::default());
    ClusterShared::new(&name, vec![server(1)], options, &io)
}

fn server(port: u16) -> Server {
    match RedisAddress::parse(&format!("redis://127.0.0.1:{port}"))
        .unwrap()
        .target
    {
        Target::Server(server) => server,
        _ => unreachable!("one server"),
    }
}

/// One master for all slots.
fn layout(port: u16) -> Layout {
    let (first, last, master) = (0, crate::node::hash_slot::SLOTS - 1, server(port));
    let ranges = vec![Range {
        first,
        last,
        master,
        id: None,
    }];
    Layout {
        ranges,
        ..Layout::default()
    }
}

fn submission(call: Call) -> Submission {
    Submission::new(Arc::new(call), Reply::to_nobody(), Route::default())
}

fn ask(shared: &ClusterShared) {
    shared.deliver(submission(inspect(&Resource::from("r"))));
}

#[tokio::test]
async fn what_finds_no_master_is_counted_and_says_why() {
    let shared = shared();
    ask(&shared);
    let health = shared.health();
    assert_eq!(health.errors.of(NodeErrorKind::NotConnected), 1);

    let io = IoThread::start().expect("a thread");
    let address = RedisAddress::parse("redis+cluster://127.0.0.1:1").unwrap();
    let node = RedisNode::start("a", address, RedisOptions::default(), &io);
    node.settled().await;
    let last = node.health().last_error.expect("it cannot be learned");
    let why = last.error.to_string();
    assert!(why.contains("127.0.0.1:1"), "{why}");
}

#[tokio::test]
async fn no_counter_goes_down_when_a_master_goes() {
    let shared = shared();
    let sums = |shared: &ClusterShared| {
        let health = shared.health();
        (health.errors.total(), health.last_error.is_some())
    };
    shared.apply(layout(1));
    for _ in 0..3 {
        ask(&shared);
    }
    assert_eq!(sums(&shared).0, 3);
    for port in [2, 1, 2] {
        let before = sums(&shared);
        shared.apply(layout(port));
        assert!(sums(&shared) >= before, "{before:?} {:?}", sums(&shared));
        ask(&shared);
    }
    assert_eq!(sums(&shared).0, 6);
    // A master that gets an operation before it is in the map.
    let guest = shared.shard_at(&server(3)).expect("there is room");
    guest.link.inbox.metrics.failed(NodeErrorKind::Server, 1);
    assert_eq!(sums(&shared).0, 7);
    shared.apply(layout(3));
    assert_eq!(sums(&shared).0, 7);
}

#[tokio::test]
async fn a_cluster_is_drained_once_masters_that_are_not_on_the_map_are_too() {
    let io = IoThread::start().expect("a thread");
    let cluster = Cluster::start(&"a".into(), vec![server(1)], RedisOptions::default(), &io);
    let shared = &cluster.shared;
    shared.apply(layout(1));
    let guest = shared.shard_at(&server(3)).expect("there is room");
    assert!(cluster.drained());
    let token = OwnerToken::draw("other/1", &*io.environment().entropy);
    let ttl = Duration::from_secs(60);
    let release = plain(&Resource::from("r")).release(&token, ttl, true);
    assert!(guest.link.inbox.deliver(submission(release)).is_ok());
    assert!(!cluster.drained(), "the release was not sent");
}

#[tokio::test]
async fn nothing_of_a_cluster_outlives_its_handle() {
    let io = IoThread::start().expect("a thread");
    let cluster = Cluster::start(&"a".into(), vec![server(1)], RedisOptions::default(), &io);
    cluster.shared.apply(layout(1));
    let guest = cluster.shared.shard_at(&server(3));
    drop(guest.expect("there is room"));
    ask(&cluster.shared);
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
