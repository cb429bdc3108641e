//! An order service on actix-web that charges an order once, whichever process of the fleet gets the requests.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! cargo run --example actix_service &           # listening on 127.0.0.1:3000
//! curl -i --json '{"cents": 995}' localhost:3000/orders/42/charge
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, HttpServer, ResponseError, get, post, web};
use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use serde::{Deserialize, Serialize};
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

/// Charges an order once. The lock keeps other requests out between the check and the charge.
#[post("/orders/{order_id}/charge")]
#[redlock(resource = "order:{order_id}", ttl = "30s")]
async fn charge(
    payments: web::Data<Payments>,
    order_id: web::Path<u64>,
    charge: web::Json<Charge>,
) -> Result<web::Json<Receipt>, AppError> {
    let (order_id, cents) = (*order_id, charge.cents);
    if payments.is_paid(order_id).await {
        return Err(AppError::AlreadyPaid);
    }
    payments.charge(order_id, cents).await;
    Ok(web::Json(Receipt { order_id, cents }))
}

/// Answers that the process runs. The nodes are left out, because a restart of this process would not mend them.
#[get("/healthz")]
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

impl ResponseError for AppError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Lock(error) => error.status_code(),
            Self::AlreadyPaid => StatusCode::CONFLICT,
        }
    }

    fn error_response(&self) -> HttpResponse {
        match self {
            // 423 or 503, with `Retry-After`. The text of the error is for logs, because it names hosts.
            Self::Lock(error) => error.error_response(),
            Self::AlreadyPaid => HttpResponse::build(self.status_code()).body(self.to_string()),
        }
    }
}

/// Stands for a payment provider.
#[derive(Default)]
struct Payments(Mutex<HashMap<u64, u64>>);

impl Payments {
    async fn is_paid(&self, order_id: u64) -> bool {
        self.0.lock().await.contains_key(&order_id)
    }

    async fn charge(&self, order_id: u64, cents: u64) {
        tokio::time::sleep(Duration::from_secs(3)).await;
        self.0.lock().await.insert(order_id, cents);
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let payments = web::Data::new(Payments::default());
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let server = HttpServer::new(move || {
        let app = App::new().app_data(payments.clone());
        app.service((charge, healthz))
    })
    // Replaces actix-web's own handling of signals. SIGTERM or Ctrl-C stops new connections and new locks. Requests
    // under way have the grace period to finish.
    .shutdown_signal(shutdown_signal())
    .bind(address)?;
    for address in server.addrs() {
        println!("listening on {address}");
    }
    let (ended, report) = redlock.shutdown_after(server.run()).await;
    println!("{report}");
    if !report.stuck.is_empty() {
        // A handler that blocks its thread keeps its lock to the ttl, which the supervisor should know.
        std::process::exit(1);
    }
    // `None`: connections were still open at the deadline.
    Ok(ended.unwrap_or(Ok(()))?)
}
