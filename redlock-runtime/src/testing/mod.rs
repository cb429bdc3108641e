//! A kit for tests of code that locks, without any server.
//!
//! ```
//! use redlock_runtime::testing::TestLocks;
//! use redlock_runtime::{LockError, redlock};
//!
//! #[redlock(resource = "order:{id}", retry_count = 0)]
//! async fn charge(id: u64) -> Result<String, LockError> {
//!     Ok(format!("order {id} charged"))
//! }
//!
//! // In a test: #[tokio::test]
//! # #[tokio::main(flavor = "current_thread")]
//! async fn main() {
//!     // Starts in-process nodes. Only calls on this test's runtime use them.
//!     let locks = TestLocks::new();
//!
//!     charge(42).await.unwrap();
//!     locks.assert_locked("order:42");
//!     locks.assert_all_free();
//!
//!     // Another client holds the lock.
//!     let hold = locks.hold("order:42");
//!     assert!(charge(42).await.unwrap_err().is_contended());
//!     hold.release();
//!     charge(42).await.unwrap();
//!
//!     // One node of three is down, then all are.
//!     locks.node("a").cut();
//!     charge(42).await.unwrap();
//!     locks.cut_all();
//!     assert!(charge(42).await.unwrap_err().is_unavailable());
//! }
//! ```
//!
//! # Which calls use the registry
//! [`TestLocks::new`] attaches the registry to the current tokio runtime. Every `#[tokio::test]` and
//! `#[actix_web::test]` has a runtime of its own. So the calls of a test and of all tasks that it spawns use the
//! test's registry, on any thread and in both flavours of runtime. Handlers do so too, under axum's `Router::oneshot`
//! or a real `axum::serve`, and under actix's `test::init_service`. Parallel tests do not see each other.
//!
//! An actix `HttpServer` has a runtime for each of its workers. Call [`attach`](TestLocks::attach) in the closure
//! that makes the `App`. If several tests share one runtime, run each in its [`scope`](TestLocks::scope).
//!
//! # Time
//! Leases, retries and renewals use tokio's clock. With `#[tokio::test(start_paused = true)]`
//! (tokio's feature `test-util`) they take no time: `tokio::time::advance` makes a lease expire, and
//! while all tasks wait, the clock jumps to the next event that is due. A paused clock also jumps
//! while a task waits for a real socket, so leave the clock running in a test with sockets.
//!
//! The jitter and the owner tokens are the same in every run.
//!
//! # Example: a lease that ends on a paused clock
//! ```
//! use std::time::Duration;
//! use redlock_runtime::testing::TestLocks;
//! use redlock_runtime::{LockError, redlock};
//!
//! #[redlock(resource = "report", ttl = "1m")]
//! async fn report() -> Result<(), LockError> {
//!     tokio::time::sleep(Duration::from_secs(3600)).await; // much too long
//!     Ok(())
//! }
//!
//! // In a test: #[tokio::test(start_paused = true)]
//! # #[tokio::main(flavor = "current_thread")]
//! async fn main() {
//! #   tokio::time::pause();
//!     let locks = TestLocks::new();
//!     assert!(report().await.unwrap_err().is_lost());
//!     locks.assert_all_free();
//! }
//! ```

mod check_config;
mod environment;
mod other_client;
mod runtimes;
mod test_locks;
mod test_nodes;

pub use crate::telemetry::journal::{Acquisition, Outcome};
pub use check_config::check_config;
pub use other_client::{OtherClient, OtherLease};
pub use test_locks::TestLocks;
