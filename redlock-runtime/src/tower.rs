//! Runs each request of a `tower` service under a lock that depends on the request.
//!
//! ```
//! # #[cfg(feature = "axum")] {
//! use axum::Router;
//! use axum::extract::Request;
//! use axum::routing::post;
//! use redlock_runtime::tower::LockLayer;
//! use redlock_runtime::{Resource, lock};
//!
//! let one_at_a_time = LockLayer::new(|request: &Request| {
//!     let key = request.headers().get("idempotency-key")?;
//!     let key = Resource::part(String::from_utf8_lossy(key.as_bytes()));
//!     Some(lock(format!("idempotency:{key}")).name("payments").retry_count(0))
//! });
//! let app = Router::new().route("/payments", post(async || "paid")).layer(one_at_a_time);
//! # let _: Router = app;
//! # }
//! ```
//!
//! The inner service is called under the lock. The service's future is a body like that of an annotated function: it is
//! dropped before the lock is released, and it is cancelled when its lease is over. Code in it finds its lease by
//! [`current_lease`](crate::current_lease). For a lock with
//! [`LockOptions::fencing`](crate::parameters::LockOptions::fencing), it finds the fencing token by
//! [`fenced`](crate::LeaseHandle::fenced). If a response streams its body after the future has returned, that part is
//! sent without the lock.
//!
//! If a request gets no lock, or loses it, [`FromLockError`] makes the answer. If the service's error can be made from
//! a [`LockError`](crate::LockError), as a boxed error can, the call fails with that error. The services of axum cannot
//! fail, so they answer with a response, as handlers under the attribute do: 423 if another caller holds the lock.
//!
//! # Cancellation
//! Dropping a call drops the inner future, and then releases the lock. A dropped call that still waits leaves the line.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::attribute::from_lock_error::FromLockError;
use crate::call::{ReturnRules, run_call};
use crate::lock::LockBuilder;

/// Puts each request under the lock that a function chooses for it: see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct LockLayer<K> {
    lock_of: K,
}

impl<K> LockLayer<K> {
    /// Creates a layer. `lock_of` returns the [`LockBuilder`] of a request, with its parameters, or an `Option` of one.
    /// With `None`, the request is served without a lock.
    pub fn new<R, L: Into<Option<LockBuilder>>>(lock_of: K) -> Self
    where
        K: Fn(&R) -> L,
    {
        Self { lock_of }
    }
}

impl<S, K: Clone> Layer<S> for LockLayer<K> {
    type Service = Locked<S, K>;

    fn layer(&self, inner: S) -> Locked<S, K> {
        let lock_of = self.lock_of.clone();
        Locked { inner, lock_of }
    }
}

/// A service that [`LockLayer`] made: each request runs under its lock.
#[derive(Clone, Copy, Debug)]
pub struct Locked<S, K> {
    inner: S,
    lock_of: K,
}

impl<S, K, R, L> Service<R> for Locked<S, K>
where
    S: Service<R, Response: Send, Error: Send, Future: Send> + Clone + Send + 'static,
    K: Fn(&R) -> L,
    R: Send + 'static,
    L: Into<Option<LockBuilder>>,
    Result<S::Response, S::Error>: FromLockError,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        // The service that was polled ready serves this request. Keep the clone for the next request.
        let next = self.inner.clone();
        let mut ready = mem::replace(&mut self.inner, next);
        match (self.lock_of)(&request).into() {
            Some(lock) => {
                let rules = ReturnRules {
                    from_error: FromLockError::from_lock_error,
                    is_success: FromLockError::is_success,
                };
                let body = async move { ready.call(request).await };
                Box::pin(run_call(lock.0.begin(), body, rules))
            }
            None => Box::pin(ready.call(request)),
        }
    }
}
