//! axum handlers: extractors name the resource, the future is `Send`, errors are responses.
#![deny(warnings)]

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use redlock_runtime::{LockError, redlock};

struct App {
    tenant: String,
}

#[redlock(resource = "order:{id}")]
async fn result(
    State(app): State<Arc<App>>,
    Path(id): Path<u64>,
) -> Result<impl IntoResponse, LockError> {
    tokio::task::yield_now().await;
    Ok(format!("{}{id}", app.tenant))
}

#[redlock(resource = "order:{app.tenant}:{id}")]
async fn response(State(app): State<Arc<App>>, Path(id): Path<u64>) -> Response {
    format!("{}{id}", app.tenant).into_response()
}

#[redlock(resource = "order")]
async fn opaque() -> Result<impl IntoResponse + use<>, LockError> {
    Ok(())
}

fn main() {
    let app = Arc::new(App { tenant: String::new() });
    let _: Router = Router::new()
        .route("/a/{id}", get(result))
        .route("/b/{id}", get(response))
        .route("/c", get(opaque))
        .with_state(app);
}
