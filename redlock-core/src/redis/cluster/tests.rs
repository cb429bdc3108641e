//! Masters that come and go, at addresses without a server.

use std::time::Duration;

use super::*;
use crate::Node as _;
use crate::kinds::looks::inspect;
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeErrorKind;
use crate::redis::address::Target;
use crate::redis::node::RedisNode;
use layout::Layout;

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
    Submission::new(Arc::new(call), Reply::to_nobody())
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
}

/// Also if no master has the slot in between.
#[tokio::test]
async fn an_owed_release_goes_to_whichever_master_has_its_slot() {
    let shared = shared();
    shared.apply(layout(1));
    let cluster = Cluster {
        refresh: tokio::spawn(std::future::pending::<()>()).abort_handle(),
        shared,
    };
    let shared = &cluster.shared;
    let owes = |shard: &Shard| shard.link.inbox.owes(shared.io.time().now());
    assert!(cluster.drained());
    let token = OwnerToken::draw("other/1", &*shared.io.environment().entropy);
    let (resource, ttl) = (Resource::from("r"), Duration::from_secs(60));
    shared.deliver(submission(plain(&resource).release(&token, ttl, true)));
    let slot = slot_of(b"r");
    let except = |port, other| {
        let mut parts = layout(port);
        parts.ranges[0].last = slot - 1;
        let last = crate::node::hash_slot::SLOTS - 1;
        let (first, master) = (slot, server(other));
        let id = None;
        parts.ranges.push(Range {
            first,
            last,
            master,
            id,
        });
        parts
    };
    shared.apply(except(1, 2));
    let who: Vec<_> = shared.map().shards.iter().map(|it| owes(it)).collect();
    assert_eq!(who, [false, true]);
    let mut without = except(1, 2);
    without.ranges.pop();
    shared.apply(without);
    assert_eq!(shared.state.lock().parked.len(), 1);
    assert!(!cluster.drained());
    shared.apply(layout(3));
    shared.unpark();
    assert!(owes(&shared.map().shards[0]));
    assert!(!cluster.drained());
}

#[tokio::test]
async fn nothing_of_a_cluster_outlives_its_handle() {
    let io = IoThread::start().expect("a thread");
    let cluster = Cluster::start(&"a".into(), vec![server(1)], RedisOptions::default(), &io);
    cluster.shared.apply(layout(1));
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
