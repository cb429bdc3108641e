//! The service, as an application would write it.

use std::time::Duration;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Router};
use redlock_runtime::{LockError, redlock};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::client::Visit;

/// Tells a handler that packs a parcel to hand it over.
pub(crate) static COURIER: Notify = Notify::const_new();

pub(crate) fn router() -> Router {
    Router::new()
        .route("/orders/{id}/charge", post(charge))
        .route("/orders/{id}/refund", post(refund))
        .route("/orders/{id}/pack", post(pack))
        .route("/orders/{id}/export", post(export))
}

/// Waits for its turn: up to 200 times 10 to 20 ms.
#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 200, retry_delay = 20, guard = lease)]
async fn charge(Path(id): Path<u64>, visit: Extension<Visit>) -> Result<String, AppError> {
    let _inside = visit.enter(lease);
    sleep(Duration::from_millis(60)).await;
    Ok(format!("order {id} is charged"))
}

/// Gives up soon, because its customer would rather come back than wait.
#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 2, retry_delay = 40, guard = lease)]
async fn refund(Path(id): Path<u64>, visit: Extension<Visit>) -> Result<String, AppError> {
    let _inside = visit.enter(lease);
    sleep(Duration::from_millis(60)).await;
    Ok(format!("order {id} is refunded"))
}

/// Takes until the courier comes.
#[redlock(resource = "order:{id}", ttl = "10s", guard = lease)]
async fn pack(Path(id): Path<u64>, visit: Extension<Visit>) -> Result<String, AppError> {
    let _inside = visit.enter(lease);
    COURIER.notified().await;
    Ok(format!("order {id} is packed"))
}

/// Takes much longer than this program runs.
#[redlock(resource = "order:{id}", ttl = "1m", guard = lease)]
async fn export(Path(id): Path<u64>, visit: Extension<Visit>) -> Result<String, AppError> {
    let _inside = visit.enter(lease);
    sleep(Duration::from_secs(30)).await;
    Ok(format!("order {id} is exported"))
}

/// The service's own error. Because a `LockError` can become one, `#[redlock]` may return it.
struct AppError(LockError);

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        Self(error)
    }
}

/// The error's text for operators. It names resources and nodes, so no customer gets it.
#[derive(Clone)]
pub(crate) struct ForOperators(pub(crate) String);

/// Answers as the library proposes. A service would log the text.
impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let text = ForOperators(self.0.to_string());
        (Extension(text), self.0).into_response()
    }
}
