//! A client of the nodes: acquires leases.
#![doc = include_str!("protocol.md")]

mod acquire;
mod attempt;
mod flush;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::env::{Environment, Moment};
use crate::lease::Leases;
use crate::model::token::TokenSource;
use crate::waiting::handover::Handover;
use crate::waiting::{LineLimits, Lines};

/// How long an attempt that finds no majority waits for answers, unless configured otherwise.
pub const DEFAULT_NODE_TIMEOUT: Duration = Duration::from_millis(50);

/// Acquires leases over sets of nodes. Cheap to clone; all clones are one client.
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

/// What a client is set to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How long an attempt that finds no majority waits for answers.
    pub node_timeout: Duration,
    /// Comes before each name of a resource.
    pub key_prefix: Box<[u8]>,
    /// How long callers of this client may hand a lock over to each other.
    pub handover: Handover,
    /// How many callers may wait for the same lock; more are refused at once.
    pub max_waiters_per_lock: usize,
    /// How many callers may wait in all.
    pub max_waiters: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            node_timeout: DEFAULT_NODE_TIMEOUT,
            key_prefix: Box::default(),
            handover: Handover::default(),
            max_waiters_per_lock: 10_000,
            max_waiters: 100_000,
        }
    }
}

impl Settings {
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

    /// A client with settings of its own.
    pub fn with_settings(environment: Environment, settings: Settings) -> Self {
        let context = Arc::new(Context {
            environment,
            tokens: TokenSource::new(),
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

    /// `host/pid`, as others see who holds a lock of this client.
    pub fn owner(&self) -> &str {
        self.shared.context.tokens.owner()
    }

    /// How many callers stand in line: each waits for another one of this client, and asks no node.
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
