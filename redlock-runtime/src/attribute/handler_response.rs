//! Wraps handlers that return `impl IntoResponse` or `impl Responder`.
//!
//! The attribute cannot name such a type, and most responses have no place for a lock error. So the handler returns
//! a [`HandlerResponse`], which is a response if the body's value is one. If the body's value can carry a lock error,
//! it is returned as it is, because its author decides how the error looks.
//!
//! The compiler makes the choice for each handler. `(&&&probe).__redlock_choose()` calls the method of the first of
//! these implementations that the probe has. No trait of a user has a method of this name:
//!
//! | trait | implemented for | if the body's value is | the body |
//! |---|---|---|---|
//! | [`StaysAsItIs`] | `&&Probe<F>` | [`FromLockError`] | is returned as it is |
//! | [`IsResponse`](into_response::IsResponse) | `&Probe<F>` | a response of the framework, with its feature on | is wrapped |
//! | [`StaysAsItIs`] | `Probe<F>` | anything | is returned as it is, and rustc reports the value |

#![allow(missing_docs, reason = "hidden, and described above")]
#![allow(clippy::unused_self, reason = "the receiver is the choice")]

use std::future::Future;
use std::marker::PhantomData;

use crate::attribute::from_lock_error::FromLockError;
use crate::call::MappedBody;
use crate::error::LockError;

/// The response of a handler: that of its body, or that of a lock error.
pub enum HandlerResponse<T> {
    Value(T),
    Refused(LockError),
}

// Without this attribute, rustc would suggest this type to people with other return types.
#[diagnostic::do_not_recommend]
impl<T> FromLockError for HandlerResponse<T> {
    fn from_lock_error(error: LockError) -> Self {
        Self::Refused(error)
    }
}

/// Stands for the type of a body while the compiler chooses.
pub struct Probe<F>(PhantomData<fn() -> F>);

impl<F: Future> Probe<F> {
    pub const fn of(_: &F) -> Self {
        Self(PhantomData)
    }
}

/// Leaves a body as it is.
pub struct AsItIs;

impl AsItIs {
    pub fn wrap<F: Future>(self, body: F) -> F {
        body
    }
}

/// Wraps the value of a body in a [`HandlerResponse`].
pub struct AsHandlerResponse;

impl AsHandlerResponse {
    pub fn wrap<F: Future>(self, body: F) -> impl Future<Output = HandlerResponse<F::Output>> {
        let map = HandlerResponse::Value;
        MappedBody { body, map }
    }
}

pub trait StaysAsItIs {
    fn __redlock_choose(&self) -> AsItIs;
}

impl<F: Future<Output: FromLockError>> StaysAsItIs for &&Probe<F> {
    fn __redlock_choose(&self) -> AsItIs {
        AsItIs
    }
}

impl<F> StaysAsItIs for Probe<F> {
    fn __redlock_choose(&self) -> AsItIs {
        AsItIs
    }
}

/// The choice for handlers that return `impl IntoResponse`.
pub mod into_response {
    pub use super::StaysAsItIs;

    /// Implemented for axum's responses, in `http/axum.rs`.
    pub trait IsResponse {
        fn __redlock_choose(&self) -> super::AsHandlerResponse;
    }
}

/// The choice for handlers that return `impl Responder`.
pub mod responder {
    pub use super::StaysAsItIs;

    /// Implemented for actix's responses, in `http/actix.rs`.
    pub trait IsResponse {
        fn __redlock_choose(&self) -> super::AsHandlerResponse;
    }
}
