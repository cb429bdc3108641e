//! Converts lock errors to responses of axum.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{CONTENT_TYPE, ProblemJson, log_internal};
use crate::attribute::from_lock_error::FromLockError;
use crate::attribute::handler_response::into_response::IsResponse;
use crate::attribute::handler_response::{AsHandlerResponse, HandlerResponse, Probe};
use crate::error::LockError;

/// Answers with problem+json. The status is that of [`http_status`](LockError::http_status): 423, or the configured one,
/// if another caller holds the resource. The response has a `Retry-After` if a retry may help.
impl IntoResponse for LockError {
    fn into_response(self) -> Response {
        let problem = ProblemJson::of(&self, reason_of);
        let mut response = Response::new(Body::from(problem.body));
        *response.status_mut() = status_of(&self);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        if let Some(seconds) = problem.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

fn reason_of(status: u16) -> Option<&'static str> {
    StatusCode::from_u16(status).ok()?.canonical_reason()
}

// Without this attribute, rustc would suggest this type to people with other return types.
#[diagnostic::do_not_recommend]
impl FromLockError for Response {
    fn from_lock_error(error: LockError) -> Self {
        error.into_response()
    }
}

/// Makes a [lock around a service](crate::tower) answer with a response, because the services of axum cannot fail.
#[cfg(feature = "tower")]
#[diagnostic::do_not_recommend]
impl FromLockError for Result<Response, std::convert::Infallible> {
    fn from_lock_error(error: LockError) -> Self {
        Ok(error.into_response())
    }
}

/// Converts the error for handlers that return `Result<_, Response>`, and for axum's own `Result`.
impl From<LockError> for Response {
    fn from(error: LockError) -> Self {
        error.into_response()
    }
}

/// Converts the error for handlers that return `Result<_, StatusCode>`. The status is that of the response, but its
/// body and its `Retry-After` are lost.
///
/// ```
/// use axum::http::StatusCode;
/// use redlock_runtime::redlock;
///
/// #[redlock(resource = "order:{id}")]
/// async fn charge(id: u64) -> Result<String, StatusCode> {
///     if id == 0 { Err(StatusCode::NOT_FOUND) } else { Ok(format!("order {id} charged")) }
/// }
/// ```
impl From<LockError> for StatusCode {
    fn from(error: LockError) -> Self {
        log_internal(&error);
        status_of(&error)
    }
}

/// Converts the error for handlers that return `Result<_, (StatusCode, String)>`. The result has the status of the
/// response and its `detail` as text.
impl From<LockError> for (StatusCode, String) {
    fn from(error: LockError) -> Self {
        let problem = ProblemJson::of(&error, reason_of);
        (status_of(&error), problem.detail.to_owned())
    }
}

fn status_of(error: &LockError) -> StatusCode {
    StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

// Wraps the handlers that return `impl IntoResponse`.

impl<F: Future<Output: IntoResponse>> IsResponse for &Probe<F> {
    fn __redlock_choose(&self) -> AsHandlerResponse {
        AsHandlerResponse
    }
}

impl<T: IntoResponse> IntoResponse for HandlerResponse<T> {
    fn into_response(self) -> Response {
        match self {
            Self::Value(value) => value.into_response(),
            Self::Refused(error) => error.into_response(),
        }
    }
}
