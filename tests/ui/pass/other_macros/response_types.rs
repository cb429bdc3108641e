//! `impl IntoResponse` and `impl Responder`, whatever the body returns; statuses as errors. Beside a trait that
//! everything implements, and above and below route macros.
#![deny(warnings)]

use actix_web::error::InternalError;
use actix_web::{App, HttpResponse, Responder, web};
use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use redlock_runtime::{LockError, redlock};

#[expect(dead_code, reason = "it is for what the expansion calls")]
trait Everything {
    fn choose(&self) -> u8 {
        0
    }
    fn of(&self) {}
}

impl<T: ?Sized> Everything for T {}

#[redlock(resource = "a")]
async fn text() -> impl IntoResponse {
    "text"
}

#[redlock(resource = "a:{id}")]
async fn early(Path(id): Path<u64>) -> impl IntoResponse {
    if id == 0 {
        return Html(String::new());
    }
    tokio::task::yield_now().await;
    Html(id.to_string())
}

#[redlock(resource = "a", guard = lease)]
async fn parts() -> impl axum::response::IntoResponse + use<> {
    (StatusCode::OK, [("x", "y")], lease.resource().to_string())
}

#[redlock(resource = "a")]
async fn generic<T: IntoResponse + Default + Send + 'static>() -> impl IntoResponse {
    T::default()
}

#[redlock(resource = "a")]
fn returned(id: u64) -> impl Future<Output = impl IntoResponse> + Send {
    async move { id.to_string() }
}

/// A value that can carry a lock error stays what it is.
struct AppError;

impl From<LockError> for AppError {
    fn from(_: LockError) -> Self {
        Self
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        StatusCode::CONFLICT.into_response()
    }
}

#[redlock(resource = "a")]
async fn result() -> impl IntoResponse + Into<Result<&'static str, AppError>> {
    Ok::<_, AppError>("text")
}

#[redlock(resource = "a")]
async fn status() -> Result<impl IntoResponse, StatusCode> {
    Err::<(), _>(StatusCode::NOT_FOUND)
}

#[redlock(resource = "a")]
async fn status_and_text() -> Result<impl IntoResponse, (StatusCode, String)> {
    Ok("text")
}

#[redlock(resource = "a")]
async fn any_response() -> axum::response::Result<Html<String>> {
    Ok(Html(String::new()))
}

#[redlock(resource = "b")]
async fn responder() -> impl Responder {
    HttpResponse::Ok()
}

#[redlock(resource = "b")]
async fn local(id: web::Path<u64>) -> impl Responder + use<> {
    let here = std::rc::Rc::new(id.into_inner());
    tokio::task::yield_now().await;
    here.to_string()
}

#[actix_web::get("/below")]
#[redlock(resource = "b")]
async fn below() -> impl Responder {
    web::Html::new("text")
}

#[redlock(resource = "b", guard = lease)]
#[actix_web::get("/above")]
async fn above() -> impl Responder {
    (lease.resource().to_string(), actix_web::http::StatusCode::OK)
}

#[redlock(resource = "b")]
async fn internal_error() -> Result<impl Responder, InternalError<String>> {
    Ok("text")
}

#[redlock(resource = "b")]
async fn helper() -> Result<u8, HttpResponse> {
    Err(HttpResponse::NotFound().finish())
}

fn main() {
    let _: Router = Router::new()
        .route("/a", get(text))
        .route("/b/{id}", get(early))
        .route("/c", get(parts))
        .route("/d", get(generic::<String>))
        .route("/e", get(|| returned(1)))
        .route("/f", get(|| async { Into::<Result<&str, AppError>>::into(result().await) }))
        .route("/g", get(status))
        .route("/h", get(status_and_text))
        .route("/i", get(any_response));
    let app = App::new().service(below).service(above);
    let app = app.route("/c", web::get().to(responder)).route("/d/{id}", web::get().to(local));
    let _ = app.route("/e", web::get().to(internal_error));
    let _ = helper();
}
