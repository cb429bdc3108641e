//! The service, as an application would write it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Path, Request, State};
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use redlock_runtime::{LockError, redlock};
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::diary::Diary;

/// What the handlers share.
#[derive(Clone, Default)]
pub(crate) struct Shop {
    pub(crate) diary: Diary,
    /// The courier is here: the parcel that is being packed has to go.
    pub(crate) courier: Arc<Notify>,
}

/// What a customer gets.
#[derive(Serialize)]
struct Receipt {
    order: u64,
    done: &'static str,
}

pub(crate) fn router(shop: Shop) -> Router {
    Router::new()
        .route("/orders/{id}/charge", post(charge))
        .route("/orders/{id}/refund", post(refund))
        .route("/orders/{id}/pack", post(pack))
        .route("/orders/{id}/export", post(export))
        .layer(middleware::from_fn_with_state(
            shop.clone(),
            log_lock_errors,
        ))
        .with_state(shop)
}

/// Waits for its turn: up to 200 times 10 to 20 ms.
#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 200, retry_delay = 20, guard = lease)]
async fn charge(
    State(shop): State<Shop>,
    Path(id): Path<u64>,
    request: RequestId,
) -> Result<Json<Receipt>, AppError> {
    let _visit = shop.diary.enter(&request.0, lease);
    sleep(Duration::from_millis(60)).await;
    Ok(receipt(id, "charged"))
}

/// Gives up soon: its customer would rather come back than wait.
#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 2, retry_delay = 40, guard = lease)]
async fn refund(
    State(shop): State<Shop>,
    Path(id): Path<u64>,
    request: RequestId,
) -> Result<Json<Receipt>, AppError> {
    let _visit = shop.diary.enter(&request.0, lease);
    sleep(Duration::from_millis(60)).await;
    Ok(receipt(id, "refunded"))
}

/// Takes until the courier comes.
#[redlock(resource = "order:{id}", ttl = "10s", guard = lease)]
async fn pack(
    State(shop): State<Shop>,
    Path(id): Path<u64>,
    request: RequestId,
) -> Result<Json<Receipt>, AppError> {
    let _visit = shop.diary.enter(&request.0, lease);
    shop.courier.notified().await;
    Ok(receipt(id, "packed"))
}

/// Takes much longer than this program runs.
#[redlock(resource = "order:{id}", ttl = "1m", guard = lease)]
async fn export(
    State(shop): State<Shop>,
    Path(id): Path<u64>,
    request: RequestId,
) -> Result<Json<Receipt>, AppError> {
    let _visit = shop.diary.enter(&request.0, lease);
    sleep(Duration::from_secs(30)).await;
    Ok(receipt(id, "exported"))
}

fn receipt(order: u64, done: &'static str) -> Json<Receipt> {
    Json(Receipt { order, done })
}

/// The service's own error. Because a `LockError` can become one, `#[redlock]` may return it.
struct AppError(LockError);

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

/// The customer gets what the library makes of a lock error; its text stays in the house.
impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let text = ForOperators(self.0.to_string());
        let mut response = self.0.into_response();
        response.extensions_mut().insert(text);
        response
    }
}

#[derive(Clone)]
struct ForOperators(String);

async fn log_lock_errors(
    State(shop): State<Shop>,
    id: RequestId,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    if let Some(ForOperators(text)) = response.extensions().get() {
        shop.diary.note_error(&id.0, text);
    }
    response
}

/// The name that the client gave its request.
struct RequestId(String);

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let header = parts.headers.get("x-request-id");
        let id = header.and_then(|value| value.to_str().ok());
        Ok(Self(id.unwrap_or("?").to_owned()))
    }
}
