//! The [`Client`], which acquires leases from the nodes.
#![doc = include_str!("path_of_a_lock.md")]

mod acquire;
mod attempt;
mod flush;
pub(crate) mod force_release;

use std::sync::Arc;
use std::time::Duration;

use crate::context::Context;
use crate::debug::debug_in_part;
use crate::env::timeout::before;
use crate::env::{Environment, Moment};
use crate::error::{AcquireError, LastRun};
use crate::kinds::{any_kind, runs};
use crate::lease::{ClientParts, Lease};
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::check_slots;
use crate::node::{Call, NodeSet, Vote};
use crate::process::{self, FORKED, is_forked};
use crate::quorum::peek::LockStatus;
use crate::quorum::round::{Goal, MOST_NODES, Round};
use crate::request::Request;
use crate::setters::options;
use crate::waiting::{HANDOVER_TIME, Lines, QuorumWatch, WaiterLimits};
use force_release::ForceReleased;

/// Acquires leases from sets of nodes. Clones are cheap, and share the state of one client.
///
/// A client has no global state, and holds no mutex across an await.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<ClientParts>,
}

options! {
    /// The settings of a client.
    #[derive(Clone, Debug)]
    pub struct Settings {
        /// Sets the time for which an attempt that finds no majority waits for answers. An attempt never waits longer
        /// than a quarter of the ttl.
        node_timeout: Duration = Self::DEFAULT_NODE_TIMEOUT;

        /// Sets the prefix that the client puts before each name of a resource.
        key_prefix: Box<[u8]> = Box::default(), from impl Into<Box<[u8]>>;

        /// Sets the time for which callers of this client may hand a lock over to each other, before callers of other
        /// processes may have it. The effective time is at least eight times as long as the nodes took to grant the
        /// lock. The holder at the end of this time may finish. A process may go on with one of n permits for n times as
        /// long, up to eight times. With zero, locks are never handed over: each holder releases its lock for all
        /// processes.
        handover_time: Duration = Self::DEFAULT_HANDOVER_TIME;

        /// Sets how many callers may wait for the same lock at a time. Further callers are refused at once.
        max_waiters_per_lock: u32 = Self::DEFAULT_MAX_WAITERS_PER_LOCK;

        /// Sets how many callers may wait for all locks together. Further callers are refused at once.
        max_waiters: u32 = Self::DEFAULT_MAX_WAITERS;
    }
}

impl Settings {
    /// The default [node timeout](Self::node_timeout).
    pub const DEFAULT_NODE_TIMEOUT: Duration = Duration::from_millis(50);

    /// The default [handover time](Self::handover_time).
    pub const DEFAULT_HANDOVER_TIME: Duration = HANDOVER_TIME;

    /// The default of [`max_waiters_per_lock`](Self::max_waiters_per_lock).
    pub const DEFAULT_MAX_WAITERS_PER_LOCK: u32 = 10_000;

    /// The default of [`max_waiters`](Self::max_waiters).
    pub const DEFAULT_MAX_WAITERS: u32 = 100_000;
}

impl Client {
    /// Returns a client in `environment` with the default [`Settings`].
    pub fn new(environment: Environment) -> Self {
        Self::with_settings(environment, Settings::default())
    }

    /// Returns a client with the given settings.
    pub fn with_settings(environment: Environment, settings: Settings) -> Self {
        let owner = process::owner();
        let context = Arc::new(Context {
            client_token: OwnerToken::draw(&owner, &*environment.entropy),
            environment,
            owner,
            node_timeout: settings.node_timeout,
            key_prefix: settings.key_prefix,
        });
        let count = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        let limits = WaiterLimits {
            in_one_line: count(settings.max_waiters_per_lock),
            in_all_lines: count(settings.max_waiters),
        };
        let lines = Lines::new(Arc::clone(&context), settings.handover_time, limits);
        let parts = ClientParts::new(context, Arc::new(lines));
        Self {
            shared: Arc::new(parts),
        }
    }

    /// Acquires the lock of `request` from a majority of `nodes`, with the retries that the request allows.
    ///
    /// Callers of this client that want the same resource on the same nodes wait in a line: first come, first served.
    /// Only the first caller in the line asks the nodes. When its lease ends, the next caller takes the lock over, for as
    /// long as [`Settings::handover_time`] allows. Each kind of lock has a line of its own.
    ///
    /// # Errors
    /// * [`AcquireError::Contended`] if a majority answered and another holder has the resource.
    /// * [`AcquireError::Unavailable`] if no majority answered in time. Also if a majority granted the lock, but too little
    ///   validity was left, or the majority did not agree on a fencing token.
    /// * [`AcquireError::AlreadyRun`] if a majority remembers a run of the request's [`once_per`](Request::once_per).
    /// * [`AcquireError::Invalid`] for a wrong request or node set, before anything is sent.
    ///
    /// # Cancellation
    /// If this future is dropped at any point, the caller leaves the line at once. The release is sent to every node that
    /// the acquisition may have reached, after the acquisition on the same connection.
    pub async fn acquire(&self, nodes: &NodeSet, request: &Request) -> Result<Lease, AcquireError> {
        acquire::acquire(&self.shared, nodes, request).await
    }

    /// Returns the last recorded run of `resource`, if a majority of `nodes` reports one. Waits for at most the node
    /// timeout. [`Request::once_per`](crate::Request::once_per) explains runs. A node that fails, or stays silent, counts as a node without a
    /// record. A record also counts for nothing if it has more time left than a run of `period` can have.
    ///
    /// # Errors
    /// [`Invalid`] for a key that belongs to the library, for a set of 0 or more than 64 nodes, and in a forked process.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn last_run(
        &self,
        nodes: &NodeSet,
        resource: &Resource,
        period: Duration,
    ) -> Result<Option<LastRun>, Invalid> {
        check_nodes(nodes)?;
        let context = &self.shared.context;
        let keys = resource.keys_under(&context.key_prefix)?;
        Ok(last_run(context, nodes, &keys, period, None).await)
    }

    /// Asks a majority of `nodes` for the state of the lock on `resource`, within the node timeout. The question only
    /// reads. The keys on the nodes stay as they are, and holders and waiters do not notice it.
    ///
    /// The answer describes a moment that has passed when it arrives. Use it for people, dashboards and logs. Only
    /// [`Client::acquire`] excludes another holder.
    ///
    /// If the resource has several names, each node reports the first name that is locked, in canonical order.
    ///
    /// # Errors
    /// [`Invalid`] for a name that locks cannot have, for keys in several hash slots of a Redis Cluster, for a set of 0 or
    /// more than 64 nodes, and in a forked process. Failed nodes cause no error: see [`LockStatus::Undecided`].
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    ///
    /// # Example: who is running the job
    /// ```
    /// use std::sync::Arc;
    /// use redlock_core::peek::LockStatus;
    /// use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let io = IoThread::start()?;
    /// let node = MemoryNode::new("a", io.environment().clock);
    /// let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    /// let client = Client::new(io.environment());
    ///
    /// let lease = client.acquire(&nodes, &Request::new("job")).await?;
    /// match client.peek(&nodes, &"job".into()).await? {
    ///     LockStatus::Held(holder) => assert_eq!(holder.owner(), Some(client.owner())),
    ///     other => panic!("{other}"),
    /// }
    /// lease.release().await;
    /// assert!(client.peek(&nodes, &"job".into()).await?.is_free());
    /// # Ok(())
    /// # }
    /// # let runtime = tokio::runtime::Runtime::new().unwrap();
    /// # runtime.block_on(example()).unwrap();
    /// ```
    pub async fn peek(&self, nodes: &NodeSet, resource: &Resource) -> Result<LockStatus, Invalid> {
        let context = &self.shared.context;
        let keys = checked_keys(context, nodes, resource)?;
        let began = context.now();
        let answers = ask(context, nodes, any_kind::peek(&keys), Goal::Known, None).await;
        let elapsed = context.now().saturating_since(began);
        let names = nodes.iter().map(|node| node.name());
        Ok(LockStatus::of(
            names,
            answers,
            elapsed,
            context.node_timeout,
        ))
    }

    /// Watches `resource` on `nodes` for changes by any holder.
    ///
    /// # Errors
    /// [`Invalid`] for a key that belongs to the library, for a set of 0 or more than 64 nodes, and in a forked process.
    ///
    /// # Example: wait until somebody takes the lock
    /// ```
    /// use std::sync::Arc;
    /// use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let io = IoThread::start()?;
    /// # let environment = io.environment();
    /// # let node = MemoryNode::new("a", environment.clock.clone());
    /// # let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    /// # let client = Client::new(environment);
    /// # io.handle().block_on(async {
    /// let watch = client.watch_changes(&nodes, &"order:42".into())?;
    /// watch.until_reported().await; // A majority has reported the state of the key.
    /// let lease = client.acquire(&nodes, &Request::new("order:42")).await?;
    /// watch.until_reported().await;
    /// # lease.release().await;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch_changes(
        &self,
        nodes: &NodeSet,
        resource: &Resource,
    ) -> Result<QuorumWatch, Invalid> {
        check_nodes(nodes)?;
        let keys = resource.keys_under(&self.shared.context.key_prefix)?;
        let clock = &self.shared.context.environment.clock;
        Ok(QuorumWatch::begin(clock, nodes, &keys))
    }

    /// Deletes the lock on `resource` at all `nodes`, even if another process holds it. The keys of every kind of lock are
    /// deleted. Fencing counters, the records of `once_per` and the marks of waiting callers stay.
    ///
    /// The call sends two questions. The first asks for the owner tokens on the keys. The second deletes exactly the
    /// entries with these tokens, so a late node never deletes the key of a later holder.
    ///
    /// The holder does not notice at once. It believes that it has the lock until its next extension or its deadline, so
    /// exclusion is broken for that long. Fencing tokens stay in order.
    ///
    /// # Errors
    /// [`AcquireError::Unavailable`] unless a majority confirms within two node timeouts. Some nodes may have deleted the
    /// keys nevertheless. [`AcquireError::Invalid`] in the cases of [`Client::peek`].
    ///
    /// # Cancellation
    /// If the future is dropped, some or all nodes may have deleted the keys.
    ///
    /// # Example
    /// ```
    /// # use std::sync::Arc;
    /// # use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// # let io = IoThread::start()?;
    /// # let node = MemoryNode::new("a", io.environment().clock);
    /// # let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    /// # let client = Client::new(io.environment());
    /// let _stuck = client.acquire(&nodes, &Request::new("job")).await?;
    /// let released = client.force_release(&nodes, &"job".into()).await?;
    /// assert_eq!(released.taken_from[0].as_deref(), Some(client.owner()));
    /// assert!(client.peek(&nodes, &"job".into()).await?.is_free());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn force_release(
        &self,
        nodes: &NodeSet,
        resource: &Resource,
    ) -> Result<ForceReleased, AcquireError> {
        force_release::force_release(&self.shared.context, nodes, resource).await
    }

    /// Waits until every node has served all calls and owed releases, for at most `timeout`. Returns the names of the
    /// nodes that still have work. Call this at the end of a process, because a node may always have work while callers
    /// acquire locks.
    ///
    /// The wait ends early after 800 ms in which only nodes that may be gone had work. If a majority is done, a node may be
    /// gone if it has sent all its calls, or has no connection. Otherwise a node may be gone if it votes no. In a forked
    /// process the call returns at once, with the names of all nodes.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn flush(&self, nodes: &NodeSet, timeout: Duration) -> Vec<String> {
        flush::flush(self.shared.context.clock(), nodes, timeout).await
    }

    /// Returns the current moment on this client's clock.
    pub fn now(&self) -> Moment {
        self.shared.context.now()
    }

    /// Returns `host/pid`, the name of this client as a holder in the refusals of other processes.
    pub fn owner(&self) -> &str {
        &self.shared.context.owner
    }

    /// Returns the number of callers in lines. Each of them waits for another caller of this client, and asks no node.
    pub fn waiting(&self) -> usize {
        self.shared.lines.waiting()
    }
}

debug_in_part!(Client, it => node_timeout: it.shared.context.node_timeout);

/// Checks that a call has 1 to [`MOST_NODES`] nodes. Refuses every call in a forked process.
fn check_nodes(nodes: &NodeSet) -> Result<(), Invalid> {
    if is_forked() {
        return Err(Invalid::new(FORKED));
    }
    match nodes.len() {
        1..=MOST_NODES => Ok(()),
        other => Err(Invalid::new(format!(
            "a lock over {other} nodes; give it 1 to {MOST_NODES}"
        ))),
    }
}

/// Returns the run of the lock on `keys` that a majority of `nodes` remembers, within the node timeout and until `end`.
async fn last_run(
    context: &Context,
    nodes: &NodeSet,
    keys: &Resource,
    period: Duration,
    end: Option<Moment>,
) -> Option<LastRun> {
    let question = any_kind::peek(&runs::run_key(keys, &context.key_prefix));
    let answers = ask(context, nodes, question, Goal::MajorityHeld, end).await;
    runs::last_run(&answers, period)
}

/// Returns the keys of `resource` after the checks that every kind of lock needs.
fn checked_keys(
    context: &Context,
    nodes: &NodeSet,
    resource: &Resource,
) -> Result<Resource, Invalid> {
    resource.check()?;
    check_nodes(nodes)?;
    let keys = resource.keys_under(&context.key_prefix)?;
    if let Some(node) = nodes.iter().find(|node| node.has_hash_slots()) {
        check_slots(&**node, &keys, &[])?;
    }
    Ok(keys)
}

/// Sends `question` to all `nodes`, and returns the answers so far when `goal` is met. Waits for at most the node timeout,
/// and at most until `end`.
async fn ask(
    context: &Context,
    nodes: &NodeSet,
    question: Call,
    goal: Goal,
    end: Option<Moment>,
) -> Vec<Option<Vote>> {
    let until = context.now().saturating_add(context.node_timeout);
    let until = end.map_or(until, |end| until.min(end));
    let round = Round::start(nodes, question, goal);
    before(context.clock(), until, round.decided()).await;
    round.answers()
}
