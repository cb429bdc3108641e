//! A lock around the requests of a service, by the layer of the feature `tower`. The service handles requests with one
//! idempotency key one at a time in the whole fleet, whatever the handler. A client that repeats a payment
//! before its first request is done gets the status 423.
//!
//! With the nodes of `compose.yaml` (one process alone can do with `REDLOCK_POOLS_A_URL=memory://a`):
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

use std::error::Error;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use redlock_runtime::tower::LockLayer;
use redlock_runtime::{Config, LockBuilder, Resource, lock, shutdown_signal};

/// What a request has to lock, if it has a key.
fn by_idempotency_key(request: &Request) -> Option<LockBuilder> {
    let key = request.headers().get("idempotency-key")?;
    // It comes from outside: of a long one a hash is in the resource.
    let key = Resource::part(String::from_utf8_lossy(key.as_bytes()));
    let lock = lock(format!("idempotency:{key}")).name("payments");
    Some(lock.ttl(Duration::from_secs(30)).retry_count(0))
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
    let app = app.layer(LockLayer::new(by_idempotency_key));
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
