//! An order service on axum that runs as several processes.
//!
//! Start three independent Redis servers, and several copies of the service. Each copy takes a free port
//! and prints it:
//!
//! ```sh
//! for port in 7001 7002 7003; do redis-server --port $port --save '' --daemonize yes; done
//!
//! export REDLOCK_POOLS_A_URL=redis://127.0.0.1:7001
//! export REDLOCK_POOLS_B_URL=redis://127.0.0.1:7002
//! export REDLOCK_POOLS_C_URL=redis://127.0.0.1:7003
//! export ORDERS_LOG=/tmp/orders.log
//! cargo run -p redlock-examples --example axum_orders &   # listening on 127.0.0.1:40001
//! cargo run -p redlock-examples --example axum_orders &   # listening on 127.0.0.1:40002
//! ```
//!
//! Then send requests for one order to all of them:
//!
//! ```sh
//! curl -i -X POST http://127.0.0.1:40001/orders/42/charge
//! curl -i -X POST http://127.0.0.1:40002/orders/42/slow &
//! curl -i -X POST http://127.0.0.1:40001/orders/42/charge   # 423 Locked, with Retry-After
//! ```
//!
//! In the journal, `ORDERS_LOG`, each `enter` of an order is followed by its own `leave`, whichever
//! process wrote it. Hang up on `slow`, and the order is free at once. Stop its process with SIGTERM
//! or Ctrl-C: `slow` has the grace period to finish, `batch` ends at once by itself, and a second
//! signal ends the process even if bodies still run. `ORDERS_ADDR`, `ORDERS_WORK_MS` and
//! `ORDERS_SLOW_MS` change the address and the lengths of the work. The library logs to stderr.

use std::error::Error;
use std::io;

use axum::Json;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use redlock_examples::{Orders, Receipt, Summary};
use redlock_runtime::{Config, LockError, redlock};
use tokio::net::TcpListener;

#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 10, retry_delay = 50, guard = lease)]
async fn charge(
    State(orders): State<Orders>,
    Path(id): Path<u64>,
) -> Result<Json<Receipt>, AppError> {
    Ok(Json(orders.charge(lease).await?))
}

#[redlock(resource = "order:{id}", ttl = "2m", retry_count = 0, guard = lease)]
async fn slow(
    State(orders): State<Orders>,
    Path(id): Path<u64>,
) -> Result<Json<Receipt>, AppError> {
    Ok(Json(orders.slow(lease).await?))
}

#[redlock(resource = "order:{id}", ttl = "2m", retry_count = 0, guard = lease)]
async fn batch(
    State(orders): State<Orders>,
    Path(id): Path<u64>,
) -> Result<Json<Receipt>, AppError> {
    Ok(Json(orders.batch(lease).await?))
}

/// Whether the process answers. It does not ask the nodes: without them requests get a 503, and a
/// restart of this process would not help.
async fn healthz() -> &'static str {
    "ok"
}

/// The service's own errors. Because a `LockError` can become one, `#[redlock]` may return it.
enum AppError {
    Lock(LockError),
    Journal(io::Error),
}

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<io::Error> for AppError {
    fn from(error: io::Error) -> Self {
        Self::Journal(error)
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            // 423 or 503 as problem+json; the details go to the log.
            Self::Lock(error) => error.into_response(),
            Self::Journal(error) => {
                eprintln!("the journal cannot be written: {error}");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let app = Router::new()
        .route("/healthz", get(healthz))
        .route("/orders/{id}/charge", post(charge))
        .route("/orders/{id}/slow", post(slow))
        .route("/orders/{id}/batch", post(batch))
        .with_state(Orders::from_env()?);
    let listener = TcpListener::bind(redlock_examples::address()?).await?;
    println!("listening on {}", listener.local_addr()?);

    // At the signal the server takes no more connections and the library no more locks; requests
    // under way get the grace period.
    let server =
        axum::serve(listener, app).with_graceful_shutdown(redlock_runtime::shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{}", Summary(&report));
    if !report.stuck.is_empty() {
        // The end of tokio's runtime would wait for a handler that never yields.
        std::process::exit(1);
    }
    // Connections that were still open at the deadline are no failure of the service.
    Ok(ended.unwrap_or(Ok(()))?)
}
