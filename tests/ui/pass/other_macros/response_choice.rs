//! The choice of a response, beside a trait that everything implements.
#![deny(warnings)]
#![allow(dead_code)]

use actix_web::Responder;
use axum::response::IntoResponse;
use redlock_runtime::{LockError, redlock};

trait Everything {
    fn choose(&self) -> u8 {
        0
    }
    fn wrap(self) -> u8
    where
        Self: Sized,
    {
        0
    }
    fn of(&self) {}
}

impl<T: ?Sized> Everything for T {}

#[redlock(resource = "a")]
async fn into_response() -> impl IntoResponse {
    "text"
}

#[redlock(resource = "a")]
async fn responder() -> impl Responder {
    "text"
}

#[redlock(resource = "a")]
async fn as_it_is(value: Result<String, LockError>) -> impl IntoResponse {
    value
}

fn main() {}
