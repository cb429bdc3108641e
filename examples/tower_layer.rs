//! A lock as a tower layer, around any service: here, requests of one idempotency key are served one
//! at a time in the whole fleet, for any handler. A client that sends a payment again,
//! because it got no answer, is told 423 for as long as the first one is at work.
//!
//! With the nodes of `compose.yaml` (one process alone can do with
//! `REDLOCK_POOLS_A_URL=memory://a`):
//!
//! ```sh
//! docker compose up -d --wait
//! export REDLOCK_POOLS_A_URL=redis://127.0.0.1:7001
//! export REDLOCK_POOLS_B_URL=redis://127.0.0.1:7002
//! export REDLOCK_POOLS_C_URL=redis://127.0.0.1:7003
//! cargo run -p redlock-examples --example tower_layer &   # listening on 127.0.0.1:40001
//! cargo run -p redlock-examples --example tower_layer &   # listening on 127.0.0.1:40002
//!
//! curl -i -X POST -H 'Idempotency-Key: k1' http://127.0.0.1:40001/payments &
//! curl -i -X POST -H 'Idempotency-Key: k1' http://127.0.0.1:40002/payments   # 423 Locked
//! curl -i -X POST -H 'Idempotency-Key: k2' http://127.0.0.1:40002/payments   # 200
//! ```
//!
//! The lock keeps the two from running at once, no more: that a payment which was made is not made
//! again, when the first one is done, is for the store to say, which keeps the keys it has seen.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use redlock_runtime::{Config, Resource, lock, shutdown_signal};
use tower::{Layer, Service};

/// What a request has to lock, if anything; or why it is no request to be served.
type Key = fn(&Request) -> Result<Option<Resource>, StatusCode>;

#[derive(Clone)]
struct LockLayer(Key);

impl<S> Layer<S> for LockLayer {
    type Service = Locked<S>;

    fn layer(&self, inner: S) -> Locked<S> {
        let key = self.0;
        Locked { key, inner }
    }
}

/// The inner service, with each request under the lock of its key.
#[derive(Clone)]
struct Locked<S> {
    key: Key,
    inner: S,
}

impl<S> Service<Request> for Locked<S>
where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        // The service that reported to be ready serves this request. The clone is for the next
        // request.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let key = (self.key)(&request);
        Box::pin(async move {
            match key {
                Ok(None) => inner.call(request).await,
                // Until the handler has returned: a body that it streams is sent without the lock.
                Ok(Some(key)) => lock(key)
                    .ttl(Duration::from_secs(30))
                    .retry_count(0)
                    .run(async move { inner.call(request).await })
                    .await
                    .unwrap_or_else(|refused| Ok(refused.into_response())),
                Err(status) => Ok(status.into_response()),
            }
        })
    }
}

/// It comes from outside: a resource has at most 1024 bytes.
fn idempotency_key(request: &Request) -> Result<Option<Resource>, StatusCode> {
    match request.headers().get("idempotency-key") {
        None => Ok(None),
        Some(key) if key.len() > 64 => Err(StatusCode::BAD_REQUEST),
        Some(key) => Ok(Some([b"idempotency:", key.as_bytes()].concat().into())),
    }
}

/// What takes its time, and must not be done twice at once. It knows nothing of the lock.
async fn pay() -> &'static str {
    tokio::time::sleep(Duration::from_secs(5)).await;
    "paid\n"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let redlock = redlock_runtime::init(Config::load()?).await?;
    let app = Router::new().route("/payments", post(pay));
    let app = app.layer(LockLayer(idempotency_key));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on {}", listener.local_addr()?);
    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    if !report.stuck.is_empty() {
        // The end of tokio's runtime would wait for a handler that never yields.
        std::process::exit(1);
    }
    Ok(ended.unwrap_or(Ok(()))?)
}
