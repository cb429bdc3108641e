//! A lock whose holder leaves while its keys are put back.

use parking_lot::Mutex;

use super::*;
use crate::node::{Call, Effect, NodeStatus, Reply};

/// Has the holder leave right before the keys are put back at this node.
struct Leaves {
    node: MemoryNode,
    lease: Arc<Mutex<Option<Lease>>>,
}

impl Node for Leaves {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn submit(&self, call: Arc<Call>, reply: Reply) {
        if call.effect() == Effect::PutsBack {
            let lease = self.lease.lock().take();
            drop(lease);
        }
        self.node.submit(call, reply);
    }

    fn drained(&self) -> bool {
        self.node.drained()
    }

    fn status(&self) -> NodeStatus {
        self.node.status()
    }
}

#[test]
fn keys_that_are_put_back_behind_the_release_are_released_again() {
    let scene = Scene::new();
    let lease: Arc<Mutex<Option<Lease>>> = Arc::default();
    let mut set = scene.set.to_vec();
    set[0] = Arc::new(Leaves {
        node: scene.nodes[0].clone(),
        lease: Arc::clone(&lease),
    });
    let held = acquired(&mut scene.acquire_on(&set.into(), &once()));
    let handle = held.handle();
    *lease.lock() = Some(held);
    scene.nodes[0].delete(b"r");
    assert!(poll(&mut Box::pin(handle.extend(TTL))).is_ready());
    assert!(lease.lock().is_none(), "the holder has left");
    assert!(scene.is_free(), "{:?}", scene.values());
}
