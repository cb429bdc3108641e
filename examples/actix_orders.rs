//! The order service of `axum_orders` on actix-web, where each process has several workers with a
//! runtime of their own.
//!
//! Both services lock the same resources, so they may run side by side against the same nodes:
//!
//! ```sh
//! for port in 7001 7002 7003; do redis-server --port $port --save '' --daemonize yes; done
//!
//! export REDLOCK_POOLS_A_URL=redis://127.0.0.1:7001
//! export REDLOCK_POOLS_B_URL=redis://127.0.0.1:7002
//! export REDLOCK_POOLS_C_URL=redis://127.0.0.1:7003
//! export ORDERS_LOG=/tmp/orders.log
//! cargo run -p redlock-examples --example actix_orders &   # listening on 127.0.0.1:40001
//! cargo run -p redlock-examples --example axum_orders &    # listening on 127.0.0.1:40002
//!
//! curl -i -X POST http://127.0.0.1:40001/orders/42/charge
//! ```
//!
//! Routes and `ORDERS_*` variables are those of `axum_orders`.

use std::error::Error;
use std::io;

use actix_web::{App, HttpResponse, HttpServer, get, post, web};
use redlock_examples::{Orders, Receipt, Summary};
use redlock_runtime::{Config, LockError, redlock};

const WORKERS: usize = 4;

#[post("/orders/{id}/charge")]
#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 10, retry_delay = 50, guard = lease)]
async fn charge(orders: web::Data<Orders>, id: web::Path<u64>) -> Result<HttpResponse, LockError> {
    Ok(answer(orders.charge(lease).await))
}

#[post("/orders/{id}/slow")]
#[redlock(resource = "order:{id}", ttl = "2m", retry_count = 0, guard = lease)]
async fn slow(orders: web::Data<Orders>, id: web::Path<u64>) -> Result<HttpResponse, LockError> {
    Ok(answer(orders.slow(lease).await))
}

#[post("/orders/{id}/batch")]
#[redlock(resource = "order:{id}", ttl = "2m", retry_count = 0, guard = lease)]
async fn batch(orders: web::Data<Orders>, id: web::Path<u64>) -> Result<HttpResponse, LockError> {
    Ok(answer(orders.batch(lease).await))
}

/// Whether the process answers; it does not ask the nodes.
#[get("/healthz")]
async fn healthz() -> &'static str {
    "ok"
}

/// A `LockError` is a response by itself; what else can go wrong here is the service's own.
fn answer(outcome: io::Result<Receipt>) -> HttpResponse {
    match outcome {
        Ok(receipt) => HttpResponse::Ok().json(receipt),
        Err(error) => {
            eprintln!("the journal cannot be written: {error}");
            HttpResponse::InternalServerError().finish()
        }
    }
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let orders = web::Data::new(Orders::from_env()?);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(orders.clone())
            .service((charge, slow, batch, healthz))
    })
    .workers(WORKERS)
    // actix goes on with a request whose client has hung up, unless it is told not to.
    .h1_allow_half_closed(false)
    // In place of actix's own signal handling: at the signal the server takes no more connections
    // and the library no more locks; requests under way get the grace period.
    .shutdown_signal(redlock_runtime::shutdown_signal())
    .bind(redlock_examples::address()?)?;
    for address in server.addrs() {
        println!("listening on {address}");
    }
    let (ended, report) = redlock.shutdown_after(server.run()).await;
    println!("{}", Summary(&report));
    if !report.stuck.is_empty() {
        // The same exit status as with any framework. Actix's workers would not keep `main` running.
        std::process::exit(1);
    }
    // Connections that were still open at the deadline are no failure of the service.
    Ok(ended.unwrap_or(Ok(()))?)
}
