//! Distributed locks as an attribute.
//!
//! ```
//! use redlock_runtime::{Config, LockError, redlock};
//!
//! #[redlock(resource = "order:{order_id}")]
//! async fn charge(order_id: u64) -> Result<String, LockError> {
//!     Ok(format!("order {order_id} charged, once at a time in the whole fleet"))
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // In production: `Config::load()?`, which reads redlock.toml and the REDLOCK_* variables.
//!     let config = Config::new().pool("a", "memory://a");
//!     let redlock = redlock_runtime::init(config).await?;
//!
//!     println!("{}", charge(42).await?);
//!
//!     redlock.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! [`macro@redlock`] runs a function under a Redlock over the configured pools: acquired from a
//! majority of independent Redis nodes before the body, released on every way out.
//! [`lock()`] does the same without an attribute. [`init`] starts the registry that both use, and
//! [`Redlock::shutdown`] ends it.
//!
//! # Modules
//! The names at the root are what most programs need. The rest is in modules:
//! * [`parameters`]: the parameters of a lock as a value, [`LockOptions`](parameters::LockOptions),
//!   and the types of single parameters, such as [`Wait`](parameters::Wait).
//! * [`config`]: what a [`Config`] is made of.
//! * [`error`]: what an error says, from [`LockErrorKind`](error::LockErrorKind) on.
//! * [`lease`]: fencing tokens, and why a lease was over.
//! * [`registry`]: what is held, which functions are annotated, and what a shutdown did.
//! * [`health`]: how the nodes are doing.
//!
//! # Features
//! * `axum`: [`LockError`] is a response of axum handlers, and a function may return a bare
//!   `axum::response::Response`.
//! * `metrics`: figures of locks and nodes, through the [`metrics`](https://docs.rs/metrics) facade.
//! * `actix`: [`LockError`] is a response of actix-web handlers, and a function may return a bare
//!   `actix_web::HttpResponse`. By default actix-web lets a handler run on when its client has hung
//!   up, and the lock stays until the body ends; with `HttpServer::h1_allow_half_closed(false)` the
//!   handler is dropped and the lock released, as axum does.
//! * `inspect`: what is held and how the nodes are doing, as JSON and as a page, over HTTP: see
//!   `inspect`.
//! * `testing`: a kit for tests of code that locks, in the module `testing`. For
//!   `[dev-dependencies]`.

/// An event in the log: `log!(warn, field = 1, "text")`. What the subscriber does is its own affair.
macro_rules! log {
    ($level:ident, $($event:tt)+) => {{
        redlock_core::caught("a log subscriber", || tracing::$level!($($event)+));
    }};
}

mod acquire;
mod attribute;
pub mod config;
pub mod error;
pub mod health;
#[cfg(any(feature = "axum", feature = "actix"))]
mod http;
mod init;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod lease;
mod lock;
pub mod parameters;
pub mod registry;
mod site;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
mod text;

pub use redlock_core::Resource;
pub use redlock_macros::redlock;

pub use attribute::from_lock_error::FromLockError;
pub use attribute::from_skip::FromSkip;
#[doc(inline)]
pub use config::Config;
#[doc(inline)]
pub use error::LockError;
pub use init::{Redlock, init};
pub use lease::chain::{assert_held, current_lease as current, is_held};
#[doc(inline)]
pub use lease::{Lease, LeaseHandle};
pub use lock::{Lock, lock};
pub use registry::signal::shutdown_signal;

/// What the expansion of [`macro@redlock`] uses. No part of the public API: it changes without
/// notice, together with the macro of the very same version.
#[doc(hidden)]
#[allow(missing_docs, reason = "hidden, and described at the macro")]
pub mod __private {
    pub use inventory;
    // A crate without `std` has no path to it.
    pub use std::format;

    pub use crate::attribute::call::{Call, Slot};
    pub use crate::attribute::name::resource;
    pub use crate::parameters::{MinValidity, OnCancel, OnLost, Renewal, Wait};
    pub use crate::site::{Registration, Site};
    pub use crate::{FromLockError, FromSkip, Lease, LockError, Resource};
}
