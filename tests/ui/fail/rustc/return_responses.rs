//! Handlers, without the feature of their framework.
use redlock_runtime::{LockError, redlock};

trait IntoResponse {}
impl IntoResponse for &str {}
impl IntoResponse for Result<&str, LockError> {}

trait Responder {}
impl Responder for String {}

#[redlock(resource = "a")]
async fn text() -> impl IntoResponse {
    "text"
}

#[redlock(resource = "a")]
async fn responder() -> impl Responder {
    String::new()
}

#[redlock(resource = "a")]
async fn result() -> impl IntoResponse {
    Ok::<&str, LockError>("text")
}

fn main() {
    let _ = (text(), responder(), result());
}
