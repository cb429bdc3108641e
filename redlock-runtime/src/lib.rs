//! Distributed locks as an attribute. A function's body runs under a lock that a majority of independent Redis nodes
//! granted ([Redlock]). A return, an error, a panic and a dropped future all release the lock.
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
//! [`macro@redlock`] runs a function under a lock over the configured pools. The lock is acquired from a majority of
//! independent Redis nodes before the body runs, and released when the call ends or is dropped. [`lock()`] does the same
//! without an attribute. [`init()`] starts the registry that both use, and [`Redlock::shutdown`] ends it.
//!
//! The [`guide`] has a page for each task, each failure, and each part of operation.
//!
//! # How it works
//! A call sends a random owner token for its resource to all nodes at once. Each node keeps the token for the ttl, unless
//! it already has the token of another caller. The body runs if a majority granted the lock and validity is left. The
//! validity is the ttl, less the time that the attempt took, less an allowance for clock drift. Otherwise the call
//! releases what it got, and retries or fails.
//!
//! If the validity ends while the body runs, the body is cancelled at its next await, unless the lease was extended or
//! renews itself. However the body ends, the release is sent to every node that may hold the key, and wakes a waiting
//! caller.
//!
//! A node that cannot be reached frees the lock when the ttl has passed. A node that may have forgotten locks abstains
//! until every lock that it may have granted is over.
//!
//! # Locking a function
//! [`macro@redlock`] documents the attribute, with a section and an example for each parameter. The
//! function returns any `Result` whose error can be made from a [`LockError`], or a type that implements
//! [`FromLockError`]. With `if_locked = "skip"`, it returns a type that implements [`FromSkip`].
//!
//! # Locking without an attribute
//! [`lock()`] returns a [`LockBuilder`], with a setter for each parameter. [`LockBuilder::run`] runs an `async`
//! block under the lock, and [`LockBuilder::acquire`] returns the lease.
//!
//! # Electing a leader
//! [`election()`] creates a candidate for an office of the fleet. [`Election::run`](election::Election::run) runs a body
//! in terms, while this process leads. The [module](mod@election) begins with the limits of that promise.
//!
//! # The lease
//! A [`Lease`] holds the lock, and releases it when dropped. A [`LeaseHandle`] observes and extends the lease: it shows
//! what is locked and for how much longer, and reports the loss. The attribute's `guard = lease` gives the body its
//! lease, and [`current_lease`] finds the lease from anywhere below the body. Code that relies on its callers' lock
//! checks it by [`is_held`] or [`assert_held`].
//!
//! # Fencing
//! A process can pause between its last look at the lease and its write. With `fencing = true`, each lease has a number
//! that is higher than the numbers of all earlier leases, but readers may share a number. A store that refuses smaller
//! numbers than the highest it has seen is safe from the late write. The guard is then a [`Fenced`] lease, whose type
//! guarantees the token. [`LockBuilder::fencing`] returns such leases, too. For any other lease, [`LeaseHandle::fenced`]
//! returns one if there is a token.
//!
//! # Errors
//! A [`LockError`] says why the body did not run to its end under its lock. Its
//! [`LockErrorKind`](error::LockErrorKind) distinguishes a lock that is held, nodes that do not answer, and a
//! lock that was lost. The module [`error`] has the details of each.
//!
//! # Configuration
//! [`Config`] names the nodes and the [defaults](Config::defaults) of the parameters, in code, in
//! `redlock.toml` and in the `REDLOCK_*` variables. [`LockOptions`](parameters::LockOptions) is a set of
//! parameters as a value, and [`Config::site`] overrides the parameters of one function. [`init()`] checks every
//! annotated function of the program against the configuration, and starts the global registry.
//!
//! [`Config::pool_node`] takes a node of your own. [`node`] has the contract of such a node, and [`mod@env`] has the
//! clock and the tasks for it. [`restart_check`] has the rules for a node that may forget locks.
//!
//! # Shutdown
//! [`Redlock::shutdown`] lets bodies finish for a while, cancels the others, and releases all locks. Its result is a
//! [report](registry::ShutdownReport). [`shutdown_signal`] completes at SIGTERM. [`Redlock::shutdown_after`] runs a
//! server, a worker or an election until such a signal, and limits the time in which it drains.
//! [`Config::release_on_exit`] releases the locks of any other program at a signal.
//!
//! # Looking at a service
//! [`Registry`](registry::Registry) shows the [held](registry::Registry::held) leases, the
//! [health](registry::Registry::health) of the nodes, the parameters of each [function](registry::Registry::sites), and
//! if the service is [ready](registry::Registry::is_ready). [`Redlock::ready`] waits until it is. The crate
//! `redlock-inspect` shows the same over HTTP. Acquisitions and bodies have `tracing` spans.
//!
//! [`LockBuilder::peek`] asks the nodes who holds a lock, even in another process. A [`note`](LockBuilder::note) shows what
//! the holder does.
//!
//! # Testing
//! [`testing`] is a kit for tests of code that locks. The kit needs no server.
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
//! A feature leaves the texts and the behaviour of all other parts unchanged, so cargo may unify features in a build.
//!
//! If its client hangs up, axum drops the handler, and the drop releases the lock, unless the handler
//! [spawned the body](guide::tasks::errors#over-http). actix-web lets the handler run on by
//! default, and the lock stays until the body ends. `HttpServer::h1_allow_half_closed(false)` makes actix-web drop the
//! handler, too.
//!
//! # Versions
//! Versions follow [semantic versioning](https://semver.org). A minor version may break before 1.0. The
//! promise covers
//!
//! * the API, as these pages and those of `redlock-core` show it with any feature;
//! * the attribute: its parameters and what they mean;
//! * the configuration: the keys of `redlock.toml`, the variables `REDLOCK_*`, all defaults, and the supported servers;
//! * what operators see: HTTP statuses, [metrics](guide::reference::metrics) with their labels, [spans](guide::reference::events) with their fields,
//!   and the targets and levels of events;
//! * the [wire format](guide::reference::wire_format): processes of two versions exclude each other if its number is equal
//!   in both. Otherwise they refuse each other's nodes, so another number is a breaking change;
//! * the crates whose types are in signatures. Another major version of such a crate is a breaking change. They are
//!   [`redis`](mod@redis), whose types are re-exported for [`Config::pool_with`], and, with their features, `axum`,
//!   `actix-web`, `tower-layer`, `tower-service` and `metrics`.
//!
//! The promise excludes the texts of errors, of events and of `Debug`; `doc(hidden)` items and generated code; direct
//! uses of `redlock-macros`; the page and the JSON of `redlock-inspect`. A new parameter, key, metric, event or kind of
//! error is a compatible change, because enums that grow are `non_exhaustive`. The minimum Rust rises in minor versions.
#![cfg_attr(feature = "testing", doc = "\n[`testing`]: mod@testing")]
#![cfg_attr(not(feature = "testing"), doc = "\n[`testing`]: #features")]
// Makes docs.rs show which feature an item needs.
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
    //! The state of a lock on a majority of the nodes: see [`LockBuilder::peek`](crate::LockBuilder::peek).

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

// `redlock-tests` compiles the snippets of the guide, because it has the crates that they use.
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

/// Items for the expansion of [`macro@redlock`]. The public API excludes them. They change without notice, together with
/// the macro of the same version.
#[doc(hidden)]
#[allow(missing_docs, reason = "hidden, and described at the macro")]
pub mod __private {
    pub use inventory;
    // The expansion finds `format!` here, also in a crate without `std`.
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
