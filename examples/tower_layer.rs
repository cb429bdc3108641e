//! A lock around any handler, by a key of the request. Payments with one idempotency key are made one at a time.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! cargo run --example tower_layer &             # listening on 127.0.0.1:3000
//! curl -i -X POST -H 'Idempotency-Key: k1' localhost:3000/payments &
//! curl -i -X POST -H 'Idempotency-Key: k1' localhost:3000/payments   # 423 Locked
//! curl -i -X POST -H 'Idempotency-Key: k2' localhost:3000/payments   # 200 OK
//! ```
//!
//! The lock keeps the two from running at once. A client that repeats its request *after* the first one is the
//! handler's task, which has to keep the keys that it has seen.

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::routing::post;
use redlock_runtime::tower::LockLayer;
use redlock_runtime::{Config, LockBuilder, Resource, lock, shutdown_signal};
use tokio::net::TcpListener;

/// Returns the lock of a request, if it has a key.
fn by_idempotency_key(request: &Request) -> Option<LockBuilder> {
    let key = request.headers().get("idempotency-key")?;
    // The key may be long, because clients choose it. `part` puts a hash of such a key into the resource.
    let key = Resource::part(String::from_utf8_lossy(key.as_bytes()));
    let lock = lock(format!("idempotency:{key}")).name("payments");
    Some(lock.ttl(Duration::from_secs(30)).retry_count(0))
}

/// Makes a payment. The handler is the same with the lock and without it.
async fn pay() -> &'static str {
    tokio::time::sleep(Duration::from_secs(5)).await;
    "paid\n"
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let app = Router::new().route("/payments", post(pay));
    let app = app.layer(LockLayer::new(by_idempotency_key));
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    // `None`: connections were still open at the deadline.
    Ok(ended.unwrap_or(Ok(()))?)
}
