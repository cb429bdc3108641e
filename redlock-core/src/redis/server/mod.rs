//! A node of one server: an inbox for its operations, and a driver, the task that connects and serves them.
#![doc = include_str!("driver.md")]

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::task::{AbortHandle, JoinSet};

use crate::io_thread::IoThread;
use crate::logging::{NodeLog, log_node};
use crate::model::brief::Brief;
use crate::node::NodeError;
use crate::panics::{RESTART_PAUSE, unless_it_panics};

use super::address::{RedisAddress, Server, Target};
use super::backoff::Backoff;
use super::connection::actor::{Actor, Replaced};
use super::connection::check::ServerCheck;
use super::connection::connect::{Connected, connect};
use super::connection::open::ConnectTo;
use super::connection::replica_wait::ReplicaWait;
use super::errors::{IS_REPLICA, not_connected};
use super::inbox::Inbox;
use super::inbox::metrics::NodeMetrics;
use super::options::RedisOptions;
use super::vetting::{HIDDEN, ServerRole};

/// The error detail of a node whose driver has ended.
const STOPPED: &str = "the node's driver has stopped";

/// A node of one server, with its driver. Dropping the node ends the driver once it has sent all submitted operations.
pub(super) struct ServerNode {
    pub(super) inbox: Arc<Inbox>,
    driver: Arc<Mutex<Driver>>,
    keeper: AbortHandle,
}

impl ServerNode {
    /// Starts a driver for the server at `address`, on the current runtime. Without a runtime, and for a master of a
    /// Cluster, the driver runs on the library's thread. The masters of a Cluster share the figures `of_cluster`.
    pub(super) fn start(
        name: &Arc<str>,
        address: &Arc<RedisAddress>,
        options: RedisOptions,
        of_cluster: Option<Arc<NodeMetrics>>,
        io: &IoThread,
    ) -> Self {
        let log = NodeLog::new(Arc::clone(name), io.environment().clock);
        let role = match &of_cluster {
            Some(_) => ServerRole::ClusterMaster,
            None if address.fails_over() => ServerRole::NamedMaster,
            None => ServerRole::Alone,
        };
        let metrics = of_cluster.unwrap_or_default();
        let inbox = Arc::new(Inbox::new(log, options, metrics, io.time()));
        let home = Handle::try_current().ok();
        let home = home.filter(|_| role != ServerRole::ClusterMaster);
        let home = home.unwrap_or_else(|| io.handle().clone());
        let driver = Arc::new(Mutex::new(Driver {
            address: Arc::clone(address),
            // Create the check before the driver's task runs: the checked set is then complete once all nodes are
            // started.
            check: ServerCheck::new(&inbox, io.environment().clock),
            inbox: Arc::clone(&inbox),
            role,
            #[cfg(feature = "sentinel")]
            floor: Arc::default(),
            io: io.clone(),
            run_id: None,
            connect_to: ConnectTo::All,
            logged: String::new(),
            hidden: String::new(),
        }));
        let mut task = JoinSet::new();
        task.spawn_on(Driver::run(Arc::clone(&driver)), &home);
        let is_library = home.id() == io.handle().id();
        let keeper = Driver::keep(Arc::clone(&driver), task, is_library);
        let keeper = io.handle().spawn(keeper).abort_handle();
        Self {
            inbox,
            driver,
            keeper,
        }
    }

    /// Ends the connection of a Cluster's master at once and for good. Unanswered calls are answered as lost, and their
    /// releases become owed releases.
    pub(super) async fn cut_off(&self) {
        self.keeper.abort();
        // The driver's task holds this mutex until the task has ended.
        let _driver = self.driver.lock().await;
        self.inbox.close(&not_connected(STOPPED));
    }
}

impl Drop for ServerNode {
    fn drop(&mut self) {
        self.inbox.end();
    }
}

/// Keeps a node connected to its server, and serves its operations.
struct Driver {
    address: Arc<RedisAddress>,
    inbox: Arc<Inbox>,
    check: ServerCheck,
    role: ServerRole,
    #[cfg(feature = "sentinel")]
    floor: Arc<parking_lot::Mutex<super::sentinel::Floor>>,
    io: IoThread,
    /// The `run_id` of the last server, if the server showed it.
    run_id: Option<String>,
    /// All addresses for the first connection, and the first suitable address later.
    connect_to: ConnectTo,
    /// The last logged reason for a failed connection. The same reason is logged once, so a server that is down for a
    /// night causes one line, not one a second.
    logged: String,
    /// The last logged facts that the server hides. Each connection finds the same ones, so they are logged once.
    hidden: String,
}

impl Driver {
    /// Runs the driver until the node is dropped. Returns `None` if the driver has panicked.
    async fn run(driver: Arc<Mutex<Self>>) -> Option<()> {
        let driving = async { driver.lock().await.drive().await };
        tokio::task::unconstrained(unless_it_panics("a node's driver", driving)).await
    }

    /// Waits for the end of the driver's `task`. Restarts the driver on the library's thread if its runtime has ended
    /// or it has panicked. A panic moves the driver too, because connecting panics on a runtime without sockets.
    async fn keep(of: Arc<Mutex<Self>>, mut task: JoinSet<Option<()>>, mut is_library: bool) {
        loop {
            let has_ended = matches!(task.join_next().await, Some(Ok(Some(()))));
            let mut driver = of.lock().await;
            driver.check.node_check.unreachable();
            if has_ended || is_library {
                // Answer all callers, because their driver has ended.
                driver.inbox.close(&not_connected(STOPPED));
            }
            if has_ended || is_library && driver.has_ended_within(RESTART_PAUSE).await {
                return;
            }
            is_library = true;
            task.spawn_on(Self::run(Arc::clone(&of)), driver.io.handle());
        }
    }

    /// Connects, serves, and reconnects, until the node is dropped.
    async fn drive(&mut self) {
        let mut backoff = Backoff::new();
        loop {
            let Err(error) = self.connect_and_serve().await else {
                return;
            };
            self.check.node_check.unreachable();
            let reason = error.to_string();
            // Remember only a written line. If the throttle held it back, the next failed attempt tries again.
            if self.logged != reason
                && log_node!(
                    self.inbox.log,
                    WARN,
                    "node not connected; it does not vote until it is",
                    server = %self.address, %reason
                )
            {
                self.logged = reason;
            }
            if self.inbox.has_served.swap(false, Ordering::Relaxed) {
                // The server has answered on this connection, so the next pause is short again.
                backoff = Backoff::new();
            }
            if self.has_ended_within(backoff.next()).await {
                return;
            }
        }
    }

    async fn connect_and_serve(&mut self) -> Result<(), NodeError> {
        let timeout = self.inbox.options.connect_timeout;
        let made = self.inbox.time.timeout(timeout, self.connect()).await;
        let tls = match &self.address.0 {
            Target::Server(server) if server.is_tls() => "; does its port have TLS?",
            _ => "",
        };
        let late = || not_connected(format!("no connection within {}{tls}", Brief(timeout)));
        let made = made.unwrap_or_else(|_| Err(late()));
        let made = made.and_then(|made| Ok((self.vet(&made.0, &made.2)?, made)));
        let (reasons, (server, replaced, connected)) =
            made.inspect_err(|error| self.inbox.close(error))?;
        let facts = &connected.greeting.facts;
        // An accepted replica ends its connection at each call. Log these lines only for its first connection.
        if self.logged != IS_REPLICA || !facts.is_replica() {
            let log = &self.inbox.log;
            // The gate is still open if only the driver's runtime has ended. The node was fine then: log nothing.
            if !self.inbox.is_open() {
                log_node!(log, INFO, "node connected", server = %self.address, at = %server);
            }
            if let Some(reason) = reasons {
                log_node!(log, WARN, "a lock cannot rely on this server", %reason);
            }
            self.logged.clear();
        }
        self.log_hidden(connected.hidden(self.inbox.options.trust_aof));
        self.compare(facts.run_id().map(str::to_owned));
        self.connect_to = ConnectTo::First;
        let actor = Actor::new(connected, &self.inbox, &mut self.check, self.role);
        actor.serve(replaced).await
    }

    /// Logs what the server hides, if the last line about it named other facts.
    fn log_hidden(&mut self, hidden: String) {
        if self.hidden == hidden {
            return;
        }
        let log = &self.inbox.log;
        if hidden.is_empty()
            || log_node!(log, WARN, "the server hides facts, so less is checked", %hidden)
        {
            self.hidden = hidden;
        }
    }

    /// Warns if the server has another `run_id` than before. With a restart check, that check logs the change.
    fn compare(&mut self, run_id: Option<String>) {
        let Some(run_id) = run_id else { return };
        let before = self.run_id.replace(run_id);
        if before.is_some() && before != self.run_id && self.check.marker_key().is_none() {
            log_node!(
                self.inbox.log,
                WARN,
                "the node's server was restarted, or another server has its place; it may have forgotten locks"
            );
        }
    }

    /// Connects to the server. The first time, connects to all addresses of its name.
    async fn connect(&self) -> Result<(Server, Replaced, Connected), NodeError> {
        let options = &self.inbox.options;
        let (server, replaced): (_, Replaced) = match &self.address.0 {
            Target::Server(server) => (server.clone(), Box::pin(pending())),
            #[cfg(feature = "sentinel")]
            Target::Sentinel(sentinel) => {
                super::sentinel::master(sentinel, &self.inbox, &self.floor, &self.io).await?
            }
            _ => {
                let detail = "the address is not that of one server";
                return Err(not_connected(detail));
            }
        };
        let connected = connect(
            &server,
            options.trust_aof,
            &self.check.node_check.peers.key_prefix,
            options.connect_timeout,
            self.connect_to,
            &self.io,
        );
        let connected = async {
            let mut connected = connected.await?;
            if let Some(replicas) = ReplicaWait::new(options) {
                connected.await_replicas(&replicas, server.user()).await?;
            }
            Ok(connected)
        };
        let connected = connected.await.map_err(|error: NodeError| {
            if self.address.fails_over() {
                // Name the master, because the node's address leaves it open.
                return NodeError::unsent(error.kind(), format!("master {server}: {error}"));
            }
            error
        })?;
        Ok((server, replaced, connected))
    }

    /// Vets the server of a new connection. Refuses it with an error, or returns its faults for the log.
    fn vet(&self, server: &Server, connected: &Connected) -> Result<Option<String>, NodeError> {
        let facts = &connected.greeting.facts;
        let is_alone = self.role == ServerRole::Alone;
        if !is_alone && facts.is_replica() {
            // A failover is under way: this error is temporary, and the driver connects again.
            let detail = format!("{server} was named as the master, and is a replica");
            return Err(not_connected(detail));
        }
        let mut faults = Vec::new();
        if !is_alone && self.check.marker_key().is_some() && facts.run_id().is_none() {
            faults.push(HIDDEN.to_owned());
        }
        let servers = connected.addresses.iter();
        let (places, ids): (Vec<_>, Vec<_>) = servers
            .map(|(at, id)| (at.to_string(), id.as_deref()))
            .unzip();
        let places = places.join(", ");
        // Compare the servers only at the first connection. Later ones may have tried a replica before its master.
        if self.connect_to == ConnectTo::All && ids.iter().any(|id| *id != ids[0]) {
            faults.push(format!(
                "has a name that leads to several servers, {places}: two clients may hold one lock on two of them; give the \
                 pool the address of one server"
            ));
        } else if let [None, _, ..] = ids[..] {
            log_node!(
                self.inbox.log,
                WARN,
                "the name has several addresses, and INFO is hidden: they have to be of one server",
                %places
            );
        }
        let (pool, options) = (&self.inbox.log.pool, &self.inbox.options);
        self.role.judge(pool, options, facts, faults)
    }

    async fn has_ended_within(&self, pause: Duration) -> bool {
        let ended = self.inbox.time.timeout(pause, self.inbox.wait_for_end());
        ended.await.is_ok()
    }
}
