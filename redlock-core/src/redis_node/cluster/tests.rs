//! Masters that come and go, where nothing listens.

use super::*;
use crate::Node as _;
use crate::redis_node::RedisNode;
use crate::redis_node::address::Place;
use crate::resource::Resource;
use crate::token::OwnerToken;
use layout::{Layout, Range};

fn shared() -> Arc<Shared> {
    let io = IoThread::start().expect("a thread");
    let (name, options) = ("a".into(), RedisOptions::default());
    Shared::new(&name, vec![server(1)], options, &io)
}

fn server(port: u16) -> Server {
    match RedisAddress::parse(&format!("redis://127.0.0.1:{port}"))
        .unwrap()
        .place
    {
        Place::Server(server) => server,
        _ => unreachable!("one server"),
    }
}

/// One master for all slots.
fn layout(port: u16) -> Layout {
    let (first, last, master) = (0, crate::slot::SLOTS - 1, server(port));
    let ranges = vec![Range {
        first,
        last,
        master,
    }];
    Layout {
        ranges,
        ..Layout::default()
    }
}

fn ask(shared: &Shared) {
    let token = OwnerToken::draw(&*shared.io.environment().entropy);
    let operation = Operation::new(Resource::from("r"), token, Want::Inspect);
    shared.deliver(Submission::new(
        Arc::new(operation),
        Reply::to_nobody(),
        Route::default(),
    ));
}

#[tokio::test]
async fn what_finds_no_master_is_counted_and_says_why() {
    let shared = shared();
    ask(&shared);
    let vitals = shared.vitals();
    assert_eq!(vitals.errors.of(NodeErrorKind::NotConnected), 1);

    let io = IoThread::start().expect("a thread");
    let address = RedisAddress::parse("redis+cluster://127.0.0.1:1").unwrap();
    let node = RedisNode::start("a", address, RedisOptions::default(), &io);
    node.settled().await;
    let last = node.vitals().last_error.expect("it cannot be learned");
    let why = last.error.to_string();
    assert!(why.contains("127.0.0.1:1"), "{why}");
}

#[tokio::test]
async fn no_counter_goes_down_when_a_master_goes() {
    let shared = shared();
    let sums = |shared: &Shared| {
        let vitals = shared.vitals();
        (vitals.errors.total(), vitals.last_error.is_some())
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
    // One that is sent to before it is on the map.
    let guest = shared.shard_at(&server(3)).expect("there is room");
    guest.link.inbox.pulse.failed(NodeErrorKind::Server, 1);
    assert_eq!(sums(&shared).0, 7);
    shared.apply(layout(3));
    assert_eq!(sums(&shared).0, 7);
}
