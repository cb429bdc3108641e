//! actix makes a unit struct of each handler: one whose name a `let` of the expansion could bind
//! would change what the `let` means.
#![deny(warnings)]

use std::time::Duration;

use actix_web::{App, HttpResponse, get, post};
use redlock_runtime::{LockError, redlock};

#[get("/call")]
#[redlock(resource = "call")]
async fn call() -> Result<String, LockError> {
    Ok(String::new())
}

#[redlock(resource = "held")]
#[post("/held")]
async fn held() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[get("/body")]
async fn body() -> String {
    String::new()
}

#[get("/value")]
async fn value() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[get("/error")]
async fn error() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[get("/outcome")]
async fn outcome() -> HttpResponse {
    HttpResponse::Ok().finish()
}

#[get("/lease")]
#[redlock(resource = "{pair.0}", ttl = Duration::from_secs(1), guard = own)]
async fn lease(pair: actix_web::web::Path<(u8, u8)>) -> Result<String, LockError> {
    Ok(format!("{}{}", pair.1, own.resource()))
}

fn main() {
    let app = App::new().service(call).service(held).service(body).service(value);
    let _ = app.service(error).service(outcome).service(lease);
}
