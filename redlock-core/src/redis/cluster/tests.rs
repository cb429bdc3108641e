//! Masters that come and go, at addresses without a server.

use super::*;
use crate::Node as _;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::NodeErrorKind;
use crate::quorum::round::{Goal, Round};
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

fn operation(shared: &ClusterShared, want: Want) -> SharedOperation {
    let token = OwnerToken::draw("other/1", &*shared.io.environment().entropy);
    Arc::new(Operation::new(Resource::from("r"), token, want))
}

fn submission(shared: &ClusterShared, want: Want) -> Submission {
    let operation = operation(shared, want);
    Submission::new(operation, Reply::to_nobody(), Route::default())
}

fn ask(shared: &ClusterShared) {
    shared.deliver(submission(shared, Want::Inspect));
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
async fn a_barrier_is_also_behind_what_went_to_a_master_that_is_not_on_the_map() {
    let io = IoThread::start().expect("a thread");
    let cluster = Cluster::start(&"a".into(), vec![server(1)], RedisOptions::default(), &io);
    let shared = &cluster.shared;
    shared.apply(layout(1));
    let guest = shared.shard_at(&server(3)).expect("there is room");
    assert_eq!(cluster.lanes(), 2);
    let ttl = Duration::from_secs(60);
    let release = Want::Release { ttl };
    let barrier = async || {
        let round = Round::new(1, Goal::All);
        let reply = Reply::new(Arc::clone(&round), 0);
        cluster.submit_on(1, operation(shared, release), reply);
        round.decided().await;
        round.answers().remove(0).expect("it is decided")
    };
    assert_eq!(
        barrier().await,
        Answer::Absent,
        "nothing is to be waited for"
    );
    assert!(
        guest
            .link
            .inbox
            .deliver(submission(shared, release))
            .is_ok()
    );
    let Answer::Failed(error) = barrier().await else {
        panic!("the release was not sent");
    };
    assert_eq!(error.kind(), NodeErrorKind::NotConnected);
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
