//! Errors that are generic, boxed, or converted on the way.
#![deny(warnings)]
#![allow(dead_code)]

use std::error::Error;

use redlock_runtime::{FromLockError, LockError, redlock};

#[redlock(resource = "a")]
async fn any_result<R>(r: R) -> R
where
    R: FromLockError,
{
    r
}

/// As `anyhow::Error` is: no error itself, and made of every error.
struct Report(Box<dyn Error + Send + Sync>);

impl<E: Error + Send + Sync + 'static> From<E> for Report {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

type Reported<T = (), E = Report> = Result<T, E>;

#[redlock(resource = "a")]
async fn reported(text: &str) -> Reported<u8> {
    Ok(text.parse()?)
}

/// The application's one answer to a lock error, for handlers with any return type.
enum Answer<T> {
    Ready(T),
    TryLater,
}

impl<T> FromLockError for Answer<T> {
    fn from_lock_error(_: LockError) -> Self {
        Self::TryLater
    }
}

#[redlock(resource = "a")]
async fn answer<T: Clone>(value: &T) -> Answer<T> {
    Answer::Ready(value.clone())
}

fn main() {}
