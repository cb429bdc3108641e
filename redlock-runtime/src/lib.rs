//! Distributed locks as an attribute: a function's body runs under a lock that a majority of
//! independent Redis nodes granted ([Redlock]). A return, an error, a panic and a dropped future release it.
//!
//! ```
//! use redlock_runtime::{Config, LockError, redlock};
//!
//! #[redlock(resource = "order:{order_id}", ttl = "30s", wait = "2s")]
//! async fn charge(order_id: u64) -> Result<String, LockError> {
//!     Ok(format!("order {order_id} charged, by one caller at a time in the whole fleet"))
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // In production: `Config::load()?`, which reads redlock.toml and the REDLOCK_* variables.
//!     let config = Config::new()
//!         .pool("a", "memory://a")
//!         .pool("b", "memory://b")
//!         .pool("c", "memory://c");
//!     let redlock = redlock_runtime::init(config).await?;
//!
//!     match charge(42).await {
//!         Ok(receipt) => println!("{receipt}"),
//!         Err(error) if error.is_contended() => println!("another call is at work: {error}"),
//!         Err(error) => return Err(error.into()),
//!     }
//!
//!     redlock.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! [`macro@redlock`] runs a function under a Redlock over the configured pools. The call acquires the lock from a
//! majority of independent Redis nodes before the body, and releases it when the call ends or is dropped. [`lock()`] does
//! the same without an attribute. [`init()`] starts the registry that both use, and [`Redlock::shutdown`] ends it.
//!
//! The [`guide`] has a page for each task, each failure and each thing to operate.
//!
//! # How it works
//! 1. A call sends a random owner token for its resource to all nodes at once. Each node keeps the token for the ttl,
//!    unless it has another caller's token.
//! 2. The validity is the ttl less the time that the attempt took and an allowance for clock drift. If a majority granted
//!    the lock and validity is left, the body runs. Otherwise the call releases its tokens, and retries or fails.
//! 3. If the validity ends while the body runs, the body is cancelled at its next await. An extension, or the renewal of
//!    the lease, moves that end.
//! 4. When the body ends in any way, the release is sent to every node that may hold the key. It wakes a waiting caller.
//!
//! An unreachable node frees the lock when the ttl has passed. A node that may have forgotten locks votes again only after
//! every lock that it may have granted is over.
//!
//! # Locking a function
//! [`macro@redlock`] documents the attribute, with a section and an example for each parameter. The
//! function returns any `Result` whose error is made of a [`LockError`], or a type that implements
//! [`FromLockError`]; with `if_locked = "skip"`, a type that implements [`FromSkip`].
//!
//! # Locking without an attribute
//! [`lock()`] begins a [`LockBuilder`], with a setter for each parameter. [`LockBuilder::run`] runs an `async`
//! block under the lock, and [`LockBuilder::acquire`] returns the lease.
//!
//! # Electing a leader
//! [`election()`] begins a candidate for an office of the fleet, and [`Election::run`](election::Election::run)
//! runs a body in terms while this process leads. The [module](mod@election) begins with the limits of that promise.
//!
//! # The lease
//! A [`Lease`] holds the lock, and releases it when it is dropped. A [`LeaseHandle`] shows the resource, the remaining
//! validity, and the loss of the lease. The attribute's `guard = lease` binds the lease, and [`current_lease`] finds it
//! from anywhere below the body. Code that relies on its callers' lock asks [`is_held`] or [`assert_held`].
//!
//! # Fencing
//! A process can pause between its last look at the lease and its write. With `fencing = true`, each lock gets a number
//! that is higher than the numbers of all earlier locks, but readers may share one. A store is safe if it refuses numbers
//! below the highest that it has seen. The guard is then a [`Fenced`] lease, whose type guarantees the number.
//! [`LockBuilder::fencing`] acquires such a lease too. [`LeaseHandle::fenced`] asks any other lease.
//!
//! # Errors
//! A [`LockError`] has the reason for a call without a lock, or for a lock that ended before its body. Its
//! [`LockErrorKind`](error::LockErrorKind) distinguishes held locks, silent nodes and lost locks. The module [`error`]
//! has the details of each.
//!
//! # Configuration
//! [`Config`] names the nodes and the [defaults](Config::defaults) of the parameters, in code, in
//! `redlock.toml` and in the `REDLOCK_*` variables. A [`LockOptions`](parameters::LockOptions) is a set of
//! parameters. [`Config::site`] overrides them for one function. [`init()`] checks every annotated function of the program
//! against the configuration, and starts the global registry.
//!
//! [`Config::pool_node`] takes a node of your own. Its contract is in [`node`], its clock and its tasks are those of
//! [`mod@env`], and [`restart_check`] has the rules for a node that may forget locks.
//!
//! # Shutdown
//! [`Redlock::shutdown`] lets bodies finish for a while, cancels the others, and releases all locks. Its result is a
//! [report](registry::ShutdownReport). [`shutdown_signal`] completes at SIGTERM. [`Redlock::shutdown_after`] runs a
//! server, a worker or an election until such a signal, and limits the time in which it drains.
//! [`Config::release_on_exit`] releases the locks of any other program at a signal.
//!
//! # Looking at a service
//! [`Registry`](registry::Registry) shows the [leases](registry::Registry::held), the
//! [health](registry::Registry::health) of the nodes, the parameters of each [function](registry::Registry::sites), and
//! whether the service is [ready](registry::Registry::is_ready). [`Redlock::ready`] waits until it is. The crate
//! `redlock-inspect` shows the same over HTTP. Acquisitions and bodies have `tracing` spans.
//!
//! [`LockBuilder::peek`] asks the nodes who holds a lock, also in another process. A [`note`](LockBuilder::note) tells
//! them the purpose of the lock.
//!
//! # Testing
//! [`testing`] is a kit for tests of code that locks. It needs no server.
//!
//! # Features
//! No feature is on by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `axum` | [`LockError`] is a response of axum handlers, and a function may return `impl IntoResponse` or a bare `axum::response::Response` |
//! | `actix` | [`LockError`] is a response of actix-web handlers, and a function may return `impl Responder` or a bare `actix_web::HttpResponse` |
//! | `metrics` | figures of locks and nodes, through the [`metrics`](https://docs.rs/metrics) facade |
//! | `cluster` | `redis+cluster://`: a Redis Cluster as one node |
//! | `sentinel` | `redis+sentinel://`: the master that sentinels name |
//! | `testing` | the kit for tests, for `[dev-dependencies]` |
//! | `tls` | `rediss://`: connections over TLS. For TLS by a [client of your own](Config::pool_with), `ring` becomes the process's default provider of rustls, if there is none |
//! | `tower` | a layer that puts each request of a service under a lock |
//!
//! A feature leaves all texts and the behaviour of the rest as they are, so cargo may unify features in any way.
//!
//! If a client hangs up, axum drops its handler, which releases the lock. actix-web lets the handler run on by default, so
//! the lock stays until the body ends. `HttpServer::h1_allow_half_closed(false)` makes actix-web drop the handler too.
//!
//! # Versions
//! Versions follow [semantic versioning](https://semver.org). A minor version may break before 1.0. Covered are
//!
//! * the API, as these pages and those of `redlock-core` show it with any feature;
//! * the attribute: its parameters and what they mean;
//! * the configuration: the keys of `redlock.toml`, the variables `REDLOCK_*`, all defaults, and the supported servers;
//! * what operators see: HTTP statuses, [metrics](guide::reference::metrics) with their labels, spans with their fields,
//!   and the targets and levels of events;
//! * the [wire format](guide::reference::wire_format): processes of two versions exclude each other if its number is the
//!   same, and refuse each other's nodes if it is not. Another number breaks;
//! * the crates whose types are in signatures. Another major version of one breaks: of [`redis`](mod@redis), whose types are re-exported
//!   for [`Config::pool_with`], and with their features of `axum`, `actix-web`, `tower-layer`, `tower-service` and
//!   `metrics`.
//!
//! Not covered are the texts of errors, of events and of `Debug`; what is `doc(hidden)`, and generated code;
//! `redlock-macros` used by itself; the page and the JSON of `redlock-inspect`. A new parameter, key, metric, event or kind
//! of error breaks nothing: enums that grow are `non_exhaustive`. The minimum Rust rises in minor versions.
//!
#![cfg_attr(feature = "testing", doc = "[`testing`]: mod@testing")]
#![cfg_attr(not(feature = "testing"), doc = "[`testing`]: #features")]
// docs.rs says which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod acquire;
mod attribute;
mod call;
pub mod config;
pub mod election;
pub mod error;
pub mod health;
#[cfg(any(feature = "axum", feature = "actix"))]
mod http;
mod init;
pub mod lease;
mod lock;
pub mod parameters;
pub mod peek {
    //! The status of a lock by a majority of the nodes: see [`LockBuilder::peek`](crate::LockBuilder::peek).

    pub use redlock_core::node::Remaining;
    pub use redlock_core::peek::{ForceReleased, Holder, LockStatus, Undecided};
}
pub mod redis {
    //! The types of the `redis` crate in signatures: see [`Config::pool_with`](crate::Config::pool_with).

    #[doc(no_inline)]
    pub use ::redis::{AsyncConnectionConfig, Client, RedisError};
}
pub mod registry;
mod site;
mod telemetry;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
#[cfg(feature = "tower")]
pub mod tower;

// The snippets of the guide are compiled in `redlock-tests`, which has the crates that they use.
#[cfg(all(doc, not(doctest)))]
include!("../guide/pages.rs");

pub use redlock_core::Resource;
#[doc(inline)]
pub use redlock_core::{env, node, restart_check};
pub use redlock_macros::redlock;

pub use attribute::from_lock_error::FromLockError;
pub use attribute::from_skip::FromSkip;
pub use attribute::names_lock::NamesLock;
pub use attribute::time::IntoTime;
#[doc(inline)]
pub use config::Config;
#[doc(inline)]
pub use election::election;
#[doc(inline)]
pub use error::LockError;
pub use init::{Redlock, init};
pub use lease::chain::{assert_held, current_lease, is_held};
#[doc(inline)]
pub use lease::{Fenced, Lease, LeaseHandle};
pub use lock::{LockBuilder, lock};
pub use registry::signal::shutdown_signal;

/// Contains the names that the expansion of [`macro@redlock`] uses. They are outside of the public API, and change
/// together with the macro of the very same version.
#[doc(hidden)]
#[allow(missing_docs, reason = "hidden, and described at the macro")]
pub mod __private {
    pub use inventory;
    // The expansion takes `format!` from here, because a `no_std` crate cannot name it.
    pub use std::format;

    pub use crate::__redlock_capture as capture;
    pub use crate::acquire::LockSpec;
    pub use crate::attribute::capture::never;
    pub use crate::attribute::handler_response::{Probe, into_response, responder};
    pub use crate::attribute::returned::{RunsUnderTheLock, returned};
    pub use crate::call::{CallState, KeepsValueUntilRelease, LeaseSlot, ReturnRules, run_call};
    pub use crate::parameters::{Kind, MaxHold, MinValidity, OnLost, Remember, Wait};
    pub use crate::site::{Registration, Site, SiteBuilder};
    pub use crate::{Fenced, FromLockError, FromSkip, IntoTime, Lease, LockError};
    pub use crate::{NamesLock, Resource};
}
