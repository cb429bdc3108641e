//! axum: middleware, fallible and generic handlers, shared error types.
#![deny(warnings)]

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use redlock_runtime::{LockError, redlock};

struct App {
    tenant: String,
}

struct AppError(Response);

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        Self(error.into_response())
    }
}

impl From<std::num::ParseIntError> for AppError {
    fn from(_: std::num::ParseIntError) -> Self {
        Self(StatusCode::BAD_REQUEST.into_response())
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        self.0
    }
}

#[redlock(resource = "tenant:{app.tenant}", guard = lease)]
async fn one_at_a_time(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Result<Response, LockError> {
    request.extensions_mut().insert(lease.handle());
    Ok(next.run(request).await)
}

#[redlock(resource = "tenant")]
async fn bare(request: Request, next: Next) -> Response {
    next.run(request).await
}

#[redlock(resource = "order:{id}")]
async fn fallible(Path((id, count)): Path<(u64, String)>) -> Result<String, AppError> {
    let count: u64 = count.parse()?;
    Ok(format!("{id}{count}"))
}

#[redlock(resource = "order:{id}")]
async fn generic<S: Send + Sync>(Path(id): Path<u64>, State(_): State<Arc<S>>) -> Result<(StatusCode, String), AppError> {
    Ok((StatusCode::OK, id.to_string()))
}

fn main() {
    let app = Arc::new(App { tenant: String::new() });
    let _: Router = Router::new()
        .route("/a/{id}/{count}", post(fallible))
        .route("/b/{id}", get(generic::<App>))
        .layer(middleware::from_fn_with_state(app.clone(), one_at_a_time))
        .layer(middleware::from_fn(bare))
        .with_state(app);
}
