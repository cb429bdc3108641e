//! Arguments that an expression or a field of the attribute mentions: they go with the body, and are stored once.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use redlock_runtime::{LockError, redlock};

use crate::macro_behaviour::fixture::{Seen, with_nodes};

/// An argument that an expression of the attribute mentions, or takes a part of.
struct Order {
    key: String,
    ttl: Duration,
    #[allow(dead_code, reason = "only its drop counts")]
    seen: Seen,
}

impl Order {
    fn new(seen: Seen) -> Self {
        let (key, ttl) = ("order".to_owned(), Duration::from_secs(60));
        Self { key, ttl, seen }
    }

    fn key(&self) -> String {
        self.key.clone()
    }

    #[redlock(resource = self.key(), ttl = self.ttl)]
    async fn borrowed_self(self, _unused: Seen) -> Result<(), LockError> {
        Ok(())
    }

    #[redlock(resource = self.key)]
    async fn taken_apart_self(self, _unused: Seen) -> Result<(), LockError> {
        Ok(())
    }

    #[redlock(resource = self.key(), note = &self.key)]
    async fn shared_self(self: Arc<Self>, _unused: Seen) -> Result<(), LockError> {
        Ok(())
    }
}

#[redlock(resource = order.key(), ttl = order.ttl, note = &order.key)]
async fn borrowed(order: Order, _unused: Seen) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = order.key)]
async fn taken_apart(order: Order, _unused: Seen) -> Result<Duration, LockError> {
    Ok(order.ttl)
}

#[redlock(resource = "order", ttl = { let Order { ttl, .. } = order; ttl })]
async fn read_by_a_pattern(order: Order, _unused: Seen) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = order.key())]
fn of_a_block(order: Order, unused: Seen) -> impl Future<Output = Result<Duration, LockError>> {
    let _moved = &unused;
    async move {
        let _unused = unused;
        Ok(order.ttl)
    }
}

#[redlock(resource = key, ttl = if order.ttl.is_zero() { return Ok(()) } else { order.ttl })]
async fn moved(order: Order, key: String, _unused: Seen) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn what_an_expression_leaves_is_dropped_under_the_lock() {
    with_nodes(|nodes, log| async move {
        let seen = |name| nodes.seen(name, &log);
        let order = || Order::new(seen("order"));
        let unused = || seen("unused");
        order().borrowed_self(unused()).await.unwrap();
        order().taken_apart_self(unused()).await.unwrap();
        Arc::new(order()).shared_self(unused()).await.unwrap();
        borrowed(order(), unused()).await.unwrap();
        taken_apart(order(), unused()).await.unwrap();
        read_by_a_pattern(order(), unused()).await.unwrap();
        of_a_block(order(), unused()).await.unwrap();
        moved(order(), "order".into(), unused()).await.unwrap();
        let of_call = ["unused dropped locked", "order dropped locked"];
        assert_eq!(log.lines(), of_call.repeat(8));
    })
    .await;
}

#[tokio::test]
async fn a_return_in_an_expression_takes_no_lock() {
    with_nodes(|nodes, log| async move {
        let mut order = Order::new(nodes.seen("order", &log));
        order.ttl = Duration::ZERO;
        let returned = moved(order, "order".into(), nodes.seen("unused", &log)).await;
        returned.unwrap();
        let names = ["unused", "order"];
        assert_eq!(
            log.lines(),
            names.map(|name| format!("{name} dropped unlocked"))
        );
    })
    .await;
}

/// A future of the test's size, whose argument is large.
struct Large([u8; 4000]);

#[redlock(resource = "large:{large.0:?}", ttl = Duration::from_millis(large.0[0].into()), note = large.0[0])]
async fn mentioned(large: Large) -> Result<u8, LockError> {
    std::future::ready(()).await;
    Ok(large.0[0])
}

async fn plain(large: Large) -> Result<u8, LockError> {
    std::future::ready(()).await;
    Ok(large.0[0])
}

#[test]
fn a_future_stores_no_copy_of_an_argument_for_the_attribute() {
    let locked = size_of_val(&mentioned(Large([0; 4000])));
    let plain = size_of_val(&plain(Large([0; 4000])));
    assert!(locked < plain + 1000, "{locked} and {plain} bytes");
}
