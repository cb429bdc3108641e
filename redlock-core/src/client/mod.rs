//! A client of the nodes: acquires leases.
#![doc = include_str!("protocol.md")]

mod acquire;
mod attempt;
mod flush;
pub(crate) mod force_release;
mod once;
mod peek;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::env::{Environment, Moment};
use crate::lease::Leases;
use crate::model::token::TokenSource;
use crate::waiting::handover::Handover;
use crate::waiting::{LineLimits, Lines};

/// Acquires leases over sets of nodes. A clone is cheap and is the same client.
///
/// It holds no lock across an await and no global state.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<ClientShared>,
}

pub(crate) struct ClientShared {
    pub(crate) context: Arc<Context>,
    pub(crate) lines: Arc<Lines>,
    pub(crate) leases: Arc<Leases>,
}

/// The settings of a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The time for which an attempt without a majority waits for answers.
    pub node_timeout: Duration,
    /// The prefix of each name of a resource.
    pub key_prefix: Box<[u8]>,
    /// The limits of handing a lock over between callers of this client.
    pub handover: Handover,
    /// The most callers that may wait for the same lock. Further callers are refused at once.
    pub max_waiters_per_lock: usize,
    /// The most callers that may wait for locks in total.
    pub max_waiters: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            node_timeout: Self::DEFAULT_NODE_TIMEOUT,
            key_prefix: Box::default(),
            handover: Handover::default(),
            max_waiters_per_lock: 10_000,
            max_waiters: 100_000,
        }
    }
}

impl Settings {
    /// How long an attempt that finds no majority waits for answers, unless configured otherwise.
    pub const DEFAULT_NODE_TIMEOUT: Duration = Duration::from_millis(50);

    /// The same with another node timeout.
    #[must_use]
    pub fn node_timeout(mut self, timeout: Duration) -> Self {
        self.node_timeout = timeout;
        self
    }

    /// The same with another key prefix.
    #[must_use]
    pub fn key_prefix(mut self, prefix: impl Into<Box<[u8]>>) -> Self {
        self.key_prefix = prefix.into();
        self
    }
}

impl Client {
    /// A client in `environment` with the default [`Settings`].
    pub fn new(environment: Environment) -> Self {
        Self::with_settings(environment, Settings::default())
    }

    /// A client with the given settings.
    pub fn with_settings(environment: Environment, settings: Settings) -> Self {
        let tokens = TokenSource::new();
        let context = Arc::new(Context {
            name: tokens.fresh(&*environment.entropy),
            environment,
            tokens,
            node_timeout: settings.node_timeout,
            key_prefix: settings.key_prefix,
        });
        let limits = LineLimits {
            a_line: settings.max_waiters_per_lock,
            in_all: settings.max_waiters,
        };
        let lines = Lines::new(Arc::clone(&context), settings.handover, limits);
        let lines = Arc::new(lines);
        let leases = Leases::new(Arc::clone(&context), Arc::clone(&lines));
        let shared = ClientShared {
            context,
            lines,
            leases: Arc::new(leases),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The current moment on this client's clock.
    pub fn now(&self) -> Moment {
        self.shared.context.now()
    }

    /// `host/pid`, the holder's name in the refusals of other processes.
    pub fn owner(&self) -> &str {
        self.shared.context.tokens.owner()
    }

    /// The number of callers in lines. Each waits for another caller of this client, and asks no node.
    pub fn waiting(&self) -> usize {
        self.shared.lines.waiting()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("node_timeout", &self.shared.context.node_timeout)
            .finish_non_exhaustive()
    }
}
