//! Metrics and spans of the locks of a service. Prometheus scrapes a route, and each span is a log line.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! RUST_LOG=info,redlock=info cargo run --example telemetry &     # listening on 127.0.0.1:3000
//! curl -X POST localhost:3000/orders/42/charge; curl localhost:3000/metrics
//! ```
//!
//! Let a Prometheus scrape `/metrics`, and import `grafana.json` in Grafana (Dashboards, New, Import).

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use tokio::net::TcpListener;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::prelude::*;

/// Upper ends of the histograms' buckets, in seconds. Without buckets the exporter makes summaries, which cannot be
/// added up over processes.
const BUCKETS: [f64; 15] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0,
    60.0,
];

/// Charges an order. `name` is the function's label in metrics and logs; the default is its path.
#[redlock(resource = "order:{id}", ttl = "10s", wait = "1s", name = "charge")]
async fn charge(Path(id): Path<u64>) -> Result<String, LockError> {
    // A trace shows this span below `redlock.hold`, which lasts from the lock to its release.
    let span = tracing::info_span!("charge", id);
    let work = tokio::time::sleep(Duration::from_millis(20));
    tracing::Instrument::instrument(work, span).await;
    Ok(format!("order {id} charged\n"))
}

async fn scrape(State(prometheus): State<PrometheusHandle>) -> String {
    prometheus.render()
}

/// Writes a line with its times for each span that ends. `RUST_LOG` chooses targets and levels.
fn log() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::var("RUST_LOG").unwrap_or_else(|_| "info,redlock=warn".to_owned());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::CLOSE);
    tracing_subscriber::registry()
        .with(lines)
        .with(wanted.parse::<Targets>()?)
        .init();
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    log()?;
    // Install the recorder before `init`, because it counts nothing that happened earlier.
    let prometheus = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &BUCKETS)?
        .install_recorder()?;
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let upkeep = prometheus.clone();
    tokio::spawn(async move {
        loop {
            // Samples pile up in the recorder between two scrapes.
            tokio::time::sleep(Duration::from_secs(5)).await;
            upkeep.run_upkeep();
        }
    });
    let app = Router::new()
        .route("/metrics", get(scrape))
        .route("/orders/{id}/charge", post(charge))
        .with_state(prometheus);
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    // `None`: connections were still open at the deadline.
    Ok(ended.unwrap_or(Ok(()))?)
}
