//! Converts lock errors to responses of actix-web.

use actix_web::body::EitherBody;
use actix_web::error::InternalError;
use actix_web::http::{StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, Responder, ResponseError};

use super::{CONTENT_TYPE, ProblemJson};
use crate::attribute::from_lock_error::FromLockError;
use crate::attribute::handler_response::responder::IsResponse;
use crate::attribute::handler_response::{AsHandlerResponse, HandlerResponse, Probe};
use crate::error::LockError;

/// Answers with problem+json. The status is that of [`http_status`](LockError::http_status): 423, or the configured one,
/// if another caller holds the resource. The response has a `Retry-After` if a retry may help.
impl ResponseError for LockError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let problem = ProblemJson::of(self, reason_of);
        let mut response = HttpResponse::build(self.status_code());
        response.insert_header((header::CONTENT_TYPE, CONTENT_TYPE));
        if let Some(seconds) = problem.retry_after {
            response.insert_header((header::RETRY_AFTER, seconds));
        }
        response.body(problem.body)
    }
}

fn reason_of(status: u16) -> Option<&'static str> {
    StatusCode::from_u16(status).ok()?.canonical_reason()
}

// Without this attribute, rustc would suggest this type to people with other return types.
#[diagnostic::do_not_recommend]
impl FromLockError for HttpResponse {
    fn from_lock_error(error: LockError) -> Self {
        error.error_response()
    }
}

/// Converts the error for functions that return `Result<_, HttpResponse>`.
impl From<LockError> for HttpResponse {
    fn from(error: LockError) -> Self {
        error.error_response()
    }
}

/// Converts the error for handlers that return `Result<_, InternalError<String>>`. The result has the status of the
/// response and its `detail` as text.
///
/// ```
/// use actix_web::error::InternalError;
/// use actix_web::http::StatusCode;
/// use redlock_runtime::redlock;
///
/// #[redlock(resource = "order:{id}")]
/// async fn charge(id: u64) -> Result<String, InternalError<String>> {
///     if id == 0 {
///         return Err(InternalError::new("no such order".to_owned(), StatusCode::NOT_FOUND));
///     }
///     Ok(format!("order {id} charged"))
/// }
/// ```
impl From<LockError> for InternalError<String> {
    fn from(error: LockError) -> Self {
        let problem = ProblemJson::of(&error, reason_of);
        Self::new(problem.detail.to_owned(), error.status_code())
    }
}

// Wraps the handlers that return `impl Responder`.

impl<F: Future<Output: Responder>> IsResponse for &Probe<F> {
    fn __redlock_choose(&self) -> AsHandlerResponse {
        AsHandlerResponse
    }
}

impl<T: Responder> Responder for HandlerResponse<T> {
    type Body = EitherBody<T::Body>;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse<Self::Body> {
        match self {
            Self::Value(value) => value.respond_to(request).map_into_left_body(),
            Self::Refused(error) => error.error_response().map_into_right_body(),
        }
    }
}
