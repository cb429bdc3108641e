//! Above a route macro and below it, and above an attribute of axum that copies the function.
#![deny(warnings)]

use actix_web::{HttpResponse, get, post, web};
use redlock_runtime::{LockError, redlock};

#[get("/{id}")]
#[redlock(resource = "order:{id}", guard = lease)]
async fn below(id: web::Path<u64>) -> Result<HttpResponse, LockError> {
    let _ = (id, lease);
    Ok(HttpResponse::Ok().finish())
}

#[redlock(resource = "order:{id}", guard = lease)]
#[post("/{id}")]
async fn above(id: web::Path<u64>) -> Result<HttpResponse, LockError> {
    let _ = (id, lease);
    Ok(HttpResponse::Ok().finish())
}

#[redlock(resource = "order:{id}", guard = lease)]
#[axum::debug_handler]
async fn above_a_copy(axum::extract::Path(id): axum::extract::Path<u64>) -> Result<String, LockError> {
    let _ = lease;
    Ok(id.to_string())
}

fn main() {
    let _ = actix_web::App::new().service(below).service(above);
    let _: axum::Router = axum::Router::new().route("/{id}", axum::routing::post(above_a_copy));
}
