//! A node of one server, by its URL or by a client of the user's own, behind a network with faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use redlock_conformance::{FEW, Rig, ServerFault, TTL, run};
use redlock_core::Node;
use redlock_core::redis::RedisAddress;
use redlock_tests::{Proxy, RedisNode};

use crate::{MANY, node};

struct OneServer {
    server: RedisNode,
    proxy: Proxy,
    address: RedisAddress,
    places: AtomicUsize,
}

impl OneServer {
    async fn start(address: impl FnOnce(String) -> RedisAddress) -> Arc<Self> {
        let server = RedisNode::start().await;
        let proxy = Proxy::start(&server).await;
        Arc::new(Self {
            address: address(proxy.url()),
            proxy,
            server,
            places: AtomicUsize::new(MANY),
        })
    }
}

impl Rig for OneServer {
    async fn node(&self) -> Arc<dyn Node> {
        node(&self.address, self.places.load(Ordering::Relaxed)).await
    }

    async fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.server.get(key)
    }

    async fn set(&self, key: &str, value: Option<&[u8]>) {
        match value {
            Some(value) => self.server.set(key, value, Some(TTL)),
            None => drop(self.server.del(key)),
        }
    }

    fn faults(&self) -> &[ServerFault] {
        &[
            ServerFault::Sever,
            ServerFault::Cut,
            ServerFault::Freeze,
            ServerFault::Kill,
            ServerFault::FlushScripts,
            ServerFault::HoldRequests,
            ServerFault::HoldAnswers,
            ServerFault::FewPlaces,
        ]
    }

    async fn inflict(&self, fault: ServerFault) {
        match fault {
            ServerFault::Sever => self.proxy.sever().await,
            ServerFault::Cut => self.proxy.cut().await,
            ServerFault::Freeze => self.server.freeze(),
            ServerFault::Kill => self.server.kill(),
            ServerFault::FlushScripts => self.server.script_flush(),
            ServerFault::HoldRequests => self.proxy.hold_present_to_server(),
            ServerFault::HoldAnswers => self.proxy.hold_to_client(),
            ServerFault::FewPlaces => self.places.store(FEW, Ordering::Relaxed),
            unlisted => panic!("{unlisted:?} is not among the faults of this rig"),
        }
    }

    async fn mend(&self) {
        self.places.store(MANY, Ordering::Relaxed);
        if self.server.is_running() {
            self.server.thaw();
        } else {
            self.server.restart().await;
        }
        self.proxy.restore().await;
    }
}

#[tokio::test]
async fn a_node_of_one_server_keeps_the_contract() {
    let rig = OneServer::start(|url| RedisAddress::parse(&url).expect("a URL"));
    let report = run(&rig.await).await;
    report.assert_passed();
    assert!(report.not_applicable.is_empty());
}

#[tokio::test]
async fn a_node_of_a_users_own_client_keeps_the_contract() {
    let rig = OneServer::start(|url| {
        let client = redis::Client::open(url).expect("a URL");
        RedisAddress::of_client(&client, None).expect("a client")
    });
    let report = run(&rig.await).await;
    report.assert_passed();
    assert!(report.not_applicable.is_empty());
}
