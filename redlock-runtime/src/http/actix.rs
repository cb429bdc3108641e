//! For actix-web.

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, ResponseError};

use super::{CONTENT_TYPE, Problem};
use crate::attribute::from_lock_error::FromLockError;
use crate::error::LockError;

/// As problem+json: the configured status (423) with `Retry-After` where someone else holds the
/// resource, 503 where the lock service or this process is not available, 500 otherwise.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use actix_web::ResponseError;
///
/// let error = redlock_runtime::lock("order:42").acquire().await.unwrap_err();
/// // Nothing has called `init`: this is for the service to mend.
/// assert_eq!(error.error_response().status(), 500);
/// # }
/// ```
impl ResponseError for LockError {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(Problem::of(self, reason_of).status)
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let problem = Problem::of(self, reason_of);
        problem.log(self);
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

// Not what a person with another return type is looking for.
#[diagnostic::do_not_recommend]
impl FromLockError for HttpResponse {
    fn from_lock_error(error: LockError) -> Self {
        error.error_response()
    }
}
