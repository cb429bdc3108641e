//! The harness for tests against real `redis-server` processes.
//!
//! A test starts its own nodes, breaks them in the way its name says, and looks at what is left on them:
//!
//! ```
//! use redlock_tests::{NodeOptions, Nodes, Pttl};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let nodes = Nodes::start(3).await;
//! nodes[0].set("order:42", "token", Some(Duration::from_secs(5)));
//! assert!(matches!(nodes[0].pttl("order:42"), Pttl::Left(_)));
//!
//! nodes[2].freeze(); // a hung node: it accepts connections and never answers
//! nodes[1].kill(); // a dead node: it refuses connections
//! assert_eq!(nodes.values_of("order:42"), [Some(b"token".to_vec()), None, None]);
//!
//! nodes[0].del("order:42");
//! nodes.assert_no_keys(Duration::from_secs(1)).await;
//! # }
//! ```
//!
//! * [`RedisNode`], [`Nodes`]: server processes that can be frozen, killed and restarted, and whose
//!   clocks can be moved.
//! * [`with_names()`]: names whose addresses the test decides, in a process of the test's own.
//! * [`disguise()`]: a server that seems to be another one.
//! * [`Authority`]: certificates for servers and clients, good and bad.
//! * [`SentinelGroup`]: a master, its replicas and the sentinels that fail over between them.
//! * [`RedisCluster`]: a Redis Cluster of such servers, with replicas, whose slots can be moved.
//! * [`Proxy`]: a network that delays, loses or holds back what is sent.
//! * [`CriticalLog`]: proves, across processes, that two holders were never inside at once.
//! * [`lines()`]: what this process logs.
//! * [`Service`], [`http_post`]: the workspace's examples as processes of their own.
//! * [`drop_after()`]: a caller that drops a future at an await of its choice.
//! * [`eventually()`], [`wait_until()`]: the one place where a test may wait by looking again and again.
//!
//! Everything here panics with a message for the person who reads the failed test, unless the
//! failure is what a test may want to see, as in [`RedisNode::try_command`].

// Every function of the harness panics if it fails, so `# Panics` sections would repeat that.
#![allow(clippy::missing_panics_doc)]

/// Runs the examples of the attribute's reference. They need `redlock-runtime`, which a doc test of
/// `redlock-macros` could only use after a second build for the host.
#[cfg(doctest)]
#[doc = include_str!("../../redlock-macros/src/reference.md")]
pub struct Reference;

mod authority;
mod cargo;
mod clients;
mod cluster;
mod disguise;
mod drop_after;
mod eventually;
mod history;
mod http;
mod log;
mod names;
mod node;
mod nodes;
mod ports;
mod preload;
mod process;
mod proxy;
mod sentinels;
mod service;
mod spawner;
mod temp_dir;

pub use authority::{Authority, Identity};
pub use cargo::{CHOSEN, cargo_build, profile_dir};
pub use clients::connect;
pub use cluster::RedisCluster;
pub use disguise::disguise;
pub use drop_after::drop_after;
pub use eventually::{eventually, wait_until};
pub use history::{CriticalLog, Section, check_no_overlap, sections, sections_so_far};
pub use http::{HttpReply, http_post, http_request};
pub use log::{Lines, lines};
pub use names::{Names, with_names};
pub use node::{NodeOptions, Pttl, RedisNode};
pub use nodes::Nodes;
pub use proxy::Proxy;
pub use redis;
pub use rustix::process::Signal;
pub use sentinels::{SentinelGroup, SentinelOptions};
pub use service::Service;
pub use temp_dir::TempDir;

/// The README's examples are tests, and so are the guide's.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(doctest)]
include!("../../redlock-runtime/guide/pages.rs");
