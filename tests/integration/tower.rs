//! A lock around the requests of a service.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use redlock_runtime::tower::LockLayer;
use redlock_runtime::{LockBuilder, LockError, assert_held, lock};
use tokio::sync::Semaphore;
use tower::{Layer as _, Service, ServiceExt as _, service_fn};

use crate::runtime::fixture::{SOON, spawn_on, start, until_held_everywhere};

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "a layer has a reference of a request"
)]
fn lock_of(order: &u64) -> Option<LockBuilder> {
    let lock = lock(format!("order:{order}")).retry_count(0);
    (*order > 0).then_some(lock)
}

/// Serves one request each time that it said to be ready, as services with a limit do. It answers with a permit of
/// `end`.
struct Strict {
    is_ready: bool,
    end: Arc<Semaphore>,
}

impl Clone for Strict {
    fn clone(&self) -> Self {
        let end = Arc::clone(&self.end);
        Self {
            is_ready: false,
            end,
        }
    }
}

impl Service<u64> for Strict {
    type Response = u64;
    type Error = LockError;
    type Future = Pin<Box<dyn Future<Output = Result<u64, LockError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), LockError>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, order: u64) -> Self::Future {
        assert!(
            self.is_ready,
            "it is called as the service that said to be ready"
        );
        if order > 0 {
            assert_held(format!("order:{order}"));
        }
        let end = Arc::clone(&self.end);
        Box::pin(async move {
            end.acquire().await.expect("it is not closed").forget();
            Ok(order)
        })
    }
}

#[tokio::test]
async fn requests_of_one_key_exclude_each_other_and_others_do_not() {
    let (nodes, redlock) = start(3).await;
    let end = Arc::new(Semaphore::new(0));
    let inner = Strict {
        is_ready: false,
        end: Arc::clone(&end),
    };
    let service = LockLayer::new(lock_of).layer(inner);
    let call = |order: u64| spawn_on(&redlock, service.clone().oneshot(order));
    let first = call(42);
    until_held_everywhere(&nodes, "order:42").await;
    let refused = call(42).await.unwrap().unwrap_err();
    assert!(refused.is_contended(), "{refused}");
    end.add_permits(3);
    let served = [call(7).await.unwrap(), call(0).await.unwrap()];
    assert_eq!(served.map(Result::unwrap), [7, 0]);
    assert_eq!(first.await.unwrap().unwrap(), 42);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_dropped_request_leaves_no_key() {
    let (nodes, redlock) = start(3).await;
    let inner = service_fn(async |_: u64| pending::<Result<(), LockError>>().await);
    let call = LockLayer::new(lock_of).layer(inner).oneshot(42);
    let call = spawn_on(&redlock, call);
    until_held_everywhere(&nodes, "order:42").await;
    call.abort();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_request_is_cancelled_when_its_lease_is_over() {
    let (nodes, redlock) = start(3).await;
    let alive = Arc::new(());
    let of_request = Arc::clone(&alive);
    let inner = service_fn(move |_: u64| {
        let alive = Arc::clone(&of_request);
        async move {
            let never = pending::<Result<(), LockError>>().await;
            drop(alive);
            never
        }
    });
    let short = |order: &u64| lock_of(order).map(|lock| lock.ttl(Duration::from_millis(300)));
    let call = LockLayer::new(short).layer(inner).oneshot(42);
    let lost = spawn_on(&redlock, call).await.unwrap().unwrap_err();
    assert!(lost.to_string().contains("was lost"), "{lost}");
    assert_eq!(Arc::strong_count(&alive), 1, "the request is dropped");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_route_of_axum_answers_with_a_response() {
    let (nodes, redlock) = start(3).await;
    let layer = LockLayer::new(|request: &Request| lock(request.uri().path()).retry_count(0));
    let app = Router::new()
        .route("/{order}", get(async || "paid"))
        .layer(layer);
    let get = |path: &str| {
        let request = Request::get(path).body(Body::empty());
        spawn_on(&redlock, app.clone().oneshot(request.unwrap()))
    };
    let lease = redlock
        .registry()
        .clone()
        .scope(lock("/42").acquire())
        .await;
    let refused = get("/42").await.unwrap().unwrap();
    assert_eq!(refused.status(), 423);
    assert_eq!(
        refused.headers()["content-type"],
        "application/problem+json"
    );
    assert_eq!(get("/7").await.unwrap().unwrap().status(), 200);
    lease.unwrap().release().await;
    assert_eq!(get("/42").await.unwrap().unwrap().status(), 200);
    nodes.assert_no_lock_keys(SOON).await;
}
