//! Permits around an upstream that takes four requests at a time. All processes of the fleet share them.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! cargo run --example permits &                 # listening on 127.0.0.1:3000
//! for n in 1 2 3 4 5; do curl -i localhost:3000/places/$n & done     # the fifth one waits for a permit
//! ```

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use tokio::net::TcpListener;

/// Asks the geocoder, under one of its four permits. A killed process gives its permits back within the ttl.
#[redlock(resource = "geocoder", permits = 4, ttl = "10s", wait = "1s")]
async fn locate(address: &str) -> Result<String, LockError> {
    Ok(ask_geocoder(address).await)
}

/// Stands for a request over HTTP.
async fn ask_geocoder(address: &str) -> String {
    tokio::time::sleep(Duration::from_secs(3)).await;
    format!("{address} is at 52.5 N, 13.4 E\n")
}

async fn place(Path(address): Path<String>) -> Response {
    match locate(&address).await {
        Ok(place) => place.into_response(),
        // The default, 423, is about the requested resource. Here the service is busy.
        Err(error) if error.is_contended() => {
            let headers = [(header::RETRY_AFTER, "1")];
            (StatusCode::SERVICE_UNAVAILABLE, headers, "busy\n").into_response()
        }
        Err(error) => error.into_response(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let app = Router::new().route("/places/{address}", get(place));
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    // `None`: connections were still open at the deadline.
    Ok(ended.unwrap_or(Ok(()))?)
}
