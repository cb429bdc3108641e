//! A name with the addresses of several servers, and with several addresses of one.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use redlock_runtime::Redlock;
use redlock_runtime::config::Vetting;
use redlock_runtime::health::NodeStatus;
use redlock_tests::{NodeOptions, RedisNode, lines, with_names};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::{HIGH, LOW, NAME, acquire, config, ip, low_and_high, status, until_locked};

/// A share of it passes for each address that does not answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(6);

/// A connection that is not made by then finds a full queue.
const QUEUED: Duration = Duration::from_millis(500);

#[test]
fn a_name_of_several_servers_is_refused_and_one_of_one_is_not() {
    with_names(async |names| {
        let (low, high) = low_and_high(NodeOptions::default()).await;
        names.point(NAME, [ip(&low), ip(&high)]);
        let refused = Redlock::start(config(&low)).await.map(|_| ());
        let refused = refused.unwrap_err().to_string();
        let named = format!("{}, {}", low.addr(), high.addr());
        assert!(
            refused.contains("several servers") && refused.contains(&named),
            "{refused}"
        );

        let both = RedisNode::start_with(NodeOptions::default().addresses([HIGH, LOW])).await;
        let redlock = Redlock::start(config(&both)).await.unwrap();
        acquire(&redlock).await.unwrap().release().await;
    });
}

#[test]
fn a_name_of_servers_that_hide_who_they_are_is_logged() {
    with_names(async |names| {
        let lines = lines();
        let (low, high) = low_and_high(NodeOptions::default()).await;
        for node in [&low, &high] {
            node.command("ACL SETUSER locker on >s3cret ~* +@all -info".split(' '));
        }
        names.point(NAME, [ip(&low), ip(&high)]);
        let url = format!("redis://locker:s3cret@{NAME}:{}", low.port());
        let redlock = Redlock::start(config(&low).pool("a", url)).await.unwrap();
        acquire(&redlock).await.unwrap().release().await;
        let addresses = [low.addr(), high.addr()].map(|it| it.to_string());
        let told = lines.with(&["WARN", "pool=a", &addresses[0], &addresses[1]]);
        assert_eq!(told.len(), 1, "{}", lines.text());
    });
}

#[test]
fn every_connection_goes_to_the_lowest_address_in_any_order() {
    with_names(async |names| {
        let (low, high) = low_and_high(NodeOptions::default()).await;
        names.point(NAME, [ip(&high), ip(&low)]);
        let config = config(&low).vetting("a", Vetting::Warn);
        let redlock = Redlock::start(config).await.unwrap();
        for connection in 0..20 {
            if connection == 10 {
                names.point(NAME, [ip(&low), ip(&high)]);
            }
            let lease = until_locked(&redlock).await;
            assert!(low.get("r").is_some(), "connection {connection}");
            lease.release().await;
            for node in [&low, &high] {
                node.command(["CLIENT", "KILL", "TYPE", "normal"]);
            }
        }
    });
}

/// The one attempt to connect that `start` waits for finds the other server.
async fn assert_started_on(redlock: &Redlock, node: &RedisNode) {
    let status = status(redlock);
    assert!(matches!(status, NodeStatus::Voting), "{status:?}");
    let _lease = acquire(redlock).await.unwrap();
    assert!(node.get("r").is_some());
}

#[test]
fn an_address_that_refuses_connections_gives_way_to_the_next() {
    with_names(async |names| {
        let options = NodeOptions::default().addresses([HIGH]);
        let high = RedisNode::start_with(options).await;
        names.point(NAME, [Ipv6Addr::LOCALHOST.into(), LOW.into(), ip(&high)]);
        let redlock = Redlock::start(config(&high)).await.unwrap();
        assert_started_on(&redlock, &high).await;
    });
}

#[test]
fn an_address_that_does_not_answer_gives_way_to_the_next() {
    with_names(async |names| {
        let (low, high) = low_and_high(NodeOptions::default()).await;
        low.freeze();
        names.point(NAME, [ip(&low), ip(&high)]);
        let config = config(&low).connect_timeout(CONNECT_TIMEOUT);
        let redlock = Redlock::start(config).await.unwrap();
        assert_started_on(&redlock, &high).await;
    });
}

/// As the address of a host that is gone, or is not reached by IPv6.
#[test]
fn an_address_that_takes_no_connections_gives_way_to_the_next() {
    with_names(async |names| {
        let options = NodeOptions::default().addresses([HIGH]);
        let high = RedisNode::start_with(options).await;
        let deaf = SocketAddr::from((LOW, high.port()));
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(deaf).unwrap();
        let _full = socket.listen(0).unwrap();
        let mut queued = Vec::new();
        while let Ok(connected) = timeout(QUEUED, TcpStream::connect(deaf)).await {
            queued.push(connected.unwrap());
        }
        names.point(NAME, [LOW.into(), ip(&high)]);
        let config = config(&high).connect_timeout(CONNECT_TIMEOUT);
        let redlock = Redlock::start(config).await.unwrap();
        assert_started_on(&redlock, &high).await;
    });
}

#[test]
fn the_address_of_a_replica_gives_way_to_the_next() {
    with_names(async |names| {
        let (low, high) = low_and_high(NodeOptions::default()).await;
        let (host, port) = (ip(&high).to_string(), high.port().to_string());
        low.command(["REPLICAOF", &host, &port]);
        names.point(NAME, [ip(&low), ip(&high)]);
        let config = config(&low).vetting("a", Vetting::Warn);
        let redlock = Redlock::start(config).await.unwrap();
        assert_started_on(&redlock, &high).await;
    });
}
