//! The library's metrics and spans: a service with a Prometheus endpoint, a Grafana dashboard
//! (`grafana.json`), and a load that gives the dashboard data.
//!
//! ```sh
//! ORDERS_ADDR=127.0.0.1:3000 cargo run -p redlock-examples --example telemetry     # listening on 127.0.0.1:3000
//! curl http://127.0.0.1:3000/metrics
//! ```
//!
//! runs on three nodes in the process. With real servers there are the nodes' latencies too:
//!
//! ```sh
//! for port in 7001 7002 7003; do redis-server --port $port --save '' --daemonize yes; done
//!
//! export REDLOCK_POOLS_A_URL=redis://127.0.0.1:7001
//! export REDLOCK_POOLS_B_URL=redis://127.0.0.1:7002
//! export REDLOCK_POOLS_C_URL=redis://127.0.0.1:7003
//! ```
//!
//! Let a Prometheus scrape the address, and import `grafana.json` in Grafana (Dashboards, New, Import);
//! it asks for the Prometheus. Then stop a server, and see its panels.
//!
//! `RUST_LOG` says what is logged to stderr, `warn` by default. With `redlock=info` there is a line for each span:
//! how long each caller waited and held. `TELEMETRY_CALLERS` is how many callers there are, 12 by default.

mod load;

use std::error::Error;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use redlock_runtime::{Config, LockError, redlock};
use tokio::net::TcpListener;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// In seconds. Without buckets the exporter makes summaries, which cannot be added up over processes.
const BUCKETS: [f64; 17] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0, 60.0,
];

/// Waits for its order for a while.
#[redlock(
    resource = "order:{id}",
    ttl = "10s",
    wait = 300,
    retry_delay = 50,
    name = "charge"
)]
async fn charge(Path(id): Path<u64>) -> Result<String, LockError> {
    tokio::time::sleep(Duration::from_millis(20 + id)).await;
    note(id).await?;
    Ok(format!("order {id} charged\n"))
}

/// Shares its caller's lock.
#[redlock(resource = "order:{id}", ttl = "10s", name = "note")]
async fn note(id: u64) -> Result<(), LockError> {
    tokio::task::yield_now().await;
    Ok(())
}

/// Once at a time in the whole fleet; its short lock is renewed for as long as it takes.
#[redlock(
    resource = "report",
    ttl = 600,
    max_hold = "1m",
    if_locked = "skip",
    name = "report"
)]
async fn report() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// What a scraper gets.
async fn scrape(State(prometheus): State<PrometheusHandle>) -> String {
    prometheus.render()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    log()?;
    let prometheus = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &BUCKETS)?
        .install_recorder()?;
    let redlock = redlock_runtime::init(config()?).await?;

    let app = Router::new()
        .route("/metrics", get(scrape))
        .route("/orders/{id}/charge", post(charge))
        .with_state(prometheus.clone());
    let listener = TcpListener::bind(redlock_examples::address()?).await?;
    println!("listening on {}", listener.local_addr()?);

    let load = load::start(load::callers()?);
    let upkeep = tokio::spawn(async move {
        // Samples pile up in the recorder between two scrapes, and if there are no scrapes.
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            prometheus.run_upkeep();
        }
    });
    let served = axum::serve(listener, app)
        .with_graceful_shutdown(redlock_runtime::shutdown_signal())
        .await;
    drop(load);
    upkeep.abort();
    println!("{}", redlock.shutdown().await);
    Ok(served?)
}

/// The nodes of the configuration, or three in this process where it has none.
fn config() -> Result<Config, Box<dyn Error>> {
    let is_configured = std::path::Path::new("redlock.toml").exists()
        || std::env::vars_os().any(|(name, _)| {
            let name = name.to_string_lossy();
            name == "REDLOCK_CONFIG" || name.starts_with("REDLOCK_POOLS_")
        });
    if is_configured {
        return Ok(Config::load()?);
    }
    let names = ["a", "b", "c"].into_iter();
    Ok(names.fold(Config::new(), |config, name| {
        config.pool(name, format!("memory://{name}"))
    }))
}

/// A line for each span that ends, with its times, where `RUST_LOG` lets it through.
fn log() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::var("RUST_LOG").unwrap_or_else(|_| "warn".to_owned());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_span_events(FmtSpan::CLOSE);
    tracing_subscriber::registry()
        .with(lines)
        .with(wanted.parse::<Targets>()?)
        .init();
    Ok(())
}
