//! actix handlers are not `Send`, above and below the route's attribute.
#![deny(warnings)]

use std::rc::Rc;

use actix_web::{App, HttpResponse, get, web};
use redlock_runtime::{LockError, redlock};

#[get("/a/{id}")]
#[redlock(resource = "order:{id}", guard = lease)]
async fn below(id: web::Path<u64>) -> Result<String, LockError> {
    let here = Rc::new(id.into_inner());
    tokio::task::yield_now().await;
    Ok(format!("{here}{}", lease.resource()))
}

#[redlock(resource = "order:{id}")]
#[get("/b/{id}")]
async fn above(id: web::Path<u64>) -> Result<HttpResponse, actix_web::Error> {
    let here = Rc::new(id.into_inner());
    tokio::task::yield_now().await;
    Ok(HttpResponse::Ok().body(here.to_string()))
}

#[redlock(resource = "order")]
async fn plain(shared: web::Data<u64>) -> HttpResponse {
    HttpResponse::Ok().body(shared.to_string())
}

fn main() {
    let _ = App::new().service(below).service(above).route("/c", web::get().to(plain));
}
