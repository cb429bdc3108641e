//! A Redis server as a node.
//!
//! An operation is a message to the node's own driver, a task on the library's I/O thread that
//! owns the connection: it connects in the background, writes what has piled up in one go, and
//! matches answers to operations by their order. Callers never share a lock across an await.

mod address;
mod command;
mod connect;
mod driver;
mod inbox;
mod locate;
mod lookout;
mod pulse;
mod scripts;
mod sentinel;
mod serve;
mod socket;
mod tls;
mod vetting;
mod warden;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use address::RedisAddress;
pub use tls::TlsOptions;
pub use vetting::Vetting;

use crate::guard::Fleet;
use crate::io_thread::IoThread;
use crate::node::{EpochListener, Node, NodeStatus, NodeVitals, Reply};
use crate::observe::ObserveAnswers;
use crate::operation::Operation;
use crate::vigil::Watch;
use inbox::Inbox;
use lookout::Lookout;
use warden::Warden;

/// How a Redis node's driver behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedisOptions {
    /// How long one attempt to connect, handshake included, may take.
    pub connect_timeout: Duration,
    /// When an answer has been out for so long, the node votes no at once until it answers again.
    pub suspect_after: Duration,
    /// When an answer has been out for so long, the connection is given up and made anew.
    pub dead_after: Duration,
    /// An idle connection is tried so often, so that one that died in silence is replaced before
    /// anybody needs it. A node of a fleet is checked so often, idle or not.
    pub heartbeat: Duration,
    /// A node has a second connection while somebody waits for a lock, on which the server tells of
    /// released ones. It is closed when nobody has waited for so long; and a server that will not tell
    /// is asked again after so long.
    pub watch_idle: Duration,
    /// How many operations may be in flight; beyond that the node votes no at once.
    pub max_in_flight: usize,
    /// The nodes that this one is guarded with: whether it may have forgotten locks, whether its
    /// clock steps, what kind of server it is. Without a fleet nobody asks.
    pub fleet: Option<Arc<Fleet>>,
    /// What becomes of a server that a lock cannot rely on.
    pub vetting: Vetting,
    /// The server forgets nothing when it restarts: `appendfsync always`, no replica that is
    /// promoted. Then a restart needs no quarantine. Means nothing for an address that
    /// [fails over](RedisAddress::fails_over).
    pub trust_aof: bool,
    /// Who is told how long each answer took.
    pub answers: Option<Arc<dyn ObserveAnswers>>,
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            suspect_after: Duration::from_millis(200),
            dead_after: Duration::from_secs(5),
            heartbeat: Duration::from_secs(10),
            watch_idle: Duration::from_secs(30),
            max_in_flight: 16_384,
            fleet: None,
            vetting: Vetting::Refuse,
            trust_aof: false,
            answers: None,
        }
    }
}

/// One Redis server. Dropping it ends its driver, once what was submitted has been sent.
pub struct RedisNode {
    name: Arc<str>,
    address: Arc<RedisAddress>,
    inbox: Arc<Inbox>,
    lookout: Arc<Lookout>,
}

impl RedisNode {
    /// Starts a driver for the server at `address` on `io`, and begins to connect. Returns at
    /// once; see [`settled`](Self::settled).
    pub fn start(
        name: impl Into<Arc<str>>,
        address: RedisAddress,
        mut options: RedisOptions,
        io: &IoThread,
    ) -> Self {
        let name = name.into();
        // The file of a promoted replica lacks what the replica lacked.
        options.trust_aof &= !address.fails_over();
        let address = Arc::new(address);
        let inbox = Arc::new(Inbox::new(Arc::clone(&name), options.max_in_flight));
        // Here and not in its task: the fleet is whole once all its nodes are started.
        let clock = io.environment().clock;
        let warden = options
            .fleet
            .as_ref()
            .map(|fleet| Warden::new(&name, fleet, options.trust_aof, clock));
        let lookout = Arc::new(Lookout::new(
            Arc::clone(&name),
            Arc::clone(&address),
            &options,
            io.clone(),
        ));
        let driver = driver::Driver {
            name: Arc::clone(&name),
            address: Arc::clone(&address),
            inbox: Arc::clone(&inbox),
            lookout: Arc::clone(&lookout),
            options,
            warden,
            // Keeps the thread alive until the last release has been sent.
            _io: io.clone(),
        };
        io.handle().spawn(driver.run());
        Self {
            name,
            address,
            inbox,
            lookout,
        }
    }

    /// Waits until the first attempt to connect has succeeded or failed, and, in a fleet, until it
    /// is known whether the node votes.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn settled(&self) {
        self.inbox.settled().await;
    }

    /// Where the server is.
    pub fn address(&self) -> &RedisAddress {
        &self.address
    }
}

impl Node for RedisNode {
    fn name(&self) -> &str {
        &self.name
    }

    fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        self.inbox.submit(operation, reply);
    }

    fn watch(&self, watch: Watch) {
        self.lookout.watch(watch);
    }

    fn status(&self) -> NodeStatus {
        self.inbox.status()
    }

    fn vitals(&self) -> NodeVitals {
        let mut vitals = self.inbox.vitals();
        vitals.server = Some(self.address.to_string());
        vitals.is_watched = self.lookout.is_staffed();
        vitals
    }

    fn epoch(&self) -> u32 {
        self.inbox.epoch()
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        self.inbox.on_new_epoch(listener);
    }
}

impl Drop for RedisNode {
    fn drop(&mut self) {
        self.inbox.end();
        self.lookout.end();
    }
}

impl fmt::Debug for RedisNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisNode")
            .field("name", &self.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
