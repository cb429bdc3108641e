//! An order service on axum that charges an order once, whichever process of the fleet gets the requests.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! cargo run --example axum_service &            # listening on 127.0.0.1:3000
//! curl -i --json '{"cents": 995}' localhost:3000/orders/42/charge
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::Mutex;

#[derive(Deserialize)]
struct Charge {
    cents: u64,
}

#[derive(Serialize)]
struct Receipt {
    order_id: u64,
    cents: u64,
}

/// Runs the charge in its own task, because axum drops the handler when its client hangs up.
async fn charge_order(
    payments: State<Payments>,
    order_id: Path<u64>,
    body: Json<Charge>,
) -> Result<Json<Receipt>, AppError> {
    let charging = tokio::spawn(charge(payments, order_id, body));
    charging.await.expect("a charge that does not panic")
}

/// Charges an order once. The lock keeps other requests out between the check and the charge.
#[redlock(resource = "order:{order_id}", ttl = "30s")]
async fn charge(
    State(payments): State<Payments>,
    Path(order_id): Path<u64>,
    Json(Charge { cents }): Json<Charge>,
) -> Result<Json<Receipt>, AppError> {
    if payments.is_paid(order_id).await {
        return Err(AppError::AlreadyPaid);
    }
    payments.charge(order_id, cents).await;
    Ok(Json(Receipt { order_id, cents }))
}

/// Answers that the process runs. The nodes are left out, because a restart of this process would not mend them.
async fn healthz() -> &'static str {
    "ok"
}

/// The service's own errors. `#[redlock]` returns its errors as one of them, because of the `From`.
#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("this order is paid already")]
    AlreadyPaid,
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            // 423 or 503, with `Retry-After`. The text of the error is for logs, because it names hosts.
            Self::Lock(error) => error.into_response(),
            Self::AlreadyPaid => (StatusCode::CONFLICT, self.to_string()).into_response(),
        }
    }
}

/// Stands for a payment provider.
#[derive(Clone, Default)]
struct Payments(Arc<Mutex<HashMap<u64, u64>>>);

impl Payments {
    async fn is_paid(&self, order_id: u64) -> bool {
        self.0.lock().await.contains_key(&order_id)
    }

    async fn charge(&self, order_id: u64, cents: u64) {
        tokio::time::sleep(Duration::from_secs(3)).await;
        self.0.lock().await.insert(order_id, cents);
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let app = Router::new()
        .route("/healthz", get(healthz))
        .route("/orders/{order_id}/charge", post(charge_order))
        .with_state(Payments::default());
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    // SIGTERM or Ctrl-C stops new connections and new locks. Requests under way have the grace period to finish.
    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    if !report.stuck.is_empty() {
        // A handler that blocks its thread would hold up a return.
        std::process::exit(1);
    }
    // `None`: connections were still open at the deadline.
    Ok(ended.unwrap_or(Ok(()))?)
}
