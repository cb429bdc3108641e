//! Readers and writers around a configuration in two files. Many read at a time, and each sees whole changes.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! cargo run --example readers_writers &         # listening on 127.0.0.1:3000
//! curl -i -X PUT --json '{"prices": "v2", "limits": "v2"}' localhost:3000/settings
//! curl -i localhost:3000/settings
//! ```

use std::error::Error;
use std::io;
use std::path::PathBuf;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use serde::{Deserialize, Serialize};
use tokio::fs;
use tokio::net::TcpListener;

/// The content of the two files, which belong together.
#[derive(Serialize, Deserialize)]
struct Settings {
    prices: String,
    limits: String,
}

/// Reads both files. Readers share the lock, in this process and in others.
#[redlock(resource = "settings", kind = "read", ttl = "10s", wait = "2s")]
async fn show(State(folder): State<PathBuf>) -> Result<Json<Settings>, AppError> {
    Ok(Json(Settings {
        prices: fs::read_to_string(folder.join("prices")).await?,
        limits: fs::read_to_string(folder.join("limits")).await?,
    }))
}

/// Writes both files. A writer is alone, and readers that come later wait until it is done.
#[redlock(resource = "settings", kind = "write", ttl = "10s", wait = "10s")]
async fn replace(
    State(folder): State<PathBuf>,
    Json(settings): Json<Settings>,
) -> Result<StatusCode, AppError> {
    fs::write(folder.join("prices"), settings.prices).await?;
    fs::write(folder.join("limits"), settings.limits).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, thiserror::Error)]
enum AppError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("the settings: {0}")]
    File(#[from] io::Error),
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        match self {
            Self::Lock(error) => error.into_response(),
            Self::File(error) if error.kind() == io::ErrorKind::NotFound => {
                StatusCode::NOT_FOUND.into_response()
            }
            Self::File(error) => {
                tracing::error!(%error, "cannot access the settings");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let folder = std::env::var_os("DATA_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let app = Router::new()
        .route("/settings", get(show).put(replace))
        .with_state(folder);
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);

    let server = axum::serve(listener, app).with_graceful_shutdown(shutdown_signal());
    let (ended, report) = redlock.shutdown_after(server).await;
    println!("{report}");
    // `None`: connections were still open at the deadline.
    Ok(ended.unwrap_or(Ok(()))?)
}
