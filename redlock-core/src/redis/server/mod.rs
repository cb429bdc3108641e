//! One server as a node: the inbox for its operations, and the driver that connects to it and serves them.
#![doc = include_str!("protocol.md")]

mod driver;

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::env::io_thread::IoThread;
use crate::node::log::NodeLog;

use super::address::RedisAddress;
use super::connection::check::ServerCheck;
use super::inbox::Inbox;
use super::inbox::metrics::NodeMetrics;
use super::options::RedisOptions;
use driver::Driver;

/// Dropping it ends the driver, once all submitted operations have been sent.
pub(super) struct ServerNode {
    pub(super) inbox: Arc<Inbox>,
    driver: AbortHandle,
}

impl ServerNode {
    /// Starts a driver for the server at `address`, on the present runtime, or else on the library's thread, where all
    /// masters of a Cluster are, with the Cluster's figures.
    pub(super) fn start(
        name: &Arc<str>,
        address: &Arc<RedisAddress>,
        options: RedisOptions,
        of_cluster: Option<Arc<NodeMetrics>>,
        io: &IoThread,
    ) -> Self {
        let log = NodeLog::new(Arc::clone(name), io.environment().clock);
        let is_part = of_cluster.is_some();
        let metrics = of_cluster.unwrap_or_default();
        let inbox = Arc::new(Inbox::new(log, options, metrics, io.time()));
        let home = Handle::try_current().ok().filter(|_| !is_part);
        let home = home.unwrap_or_else(|| io.handle().clone());
        let driver = Driver {
            address: Arc::clone(address),
            // Made here and not in the driver's task, so that the checked set is complete once all its
            // nodes are started.
            check: ServerCheck::new(&inbox, io.environment().clock),
            inbox: Arc::clone(&inbox),
            is_part,
            io: io.clone(),
        };
        let driver = driver.run_on(&home);
        Self { inbox, driver }
    }

    /// Ends the connection of a master of a Cluster at once and for good: what was not answered is answered as lost,
    /// and releases are owed.
    pub(super) async fn cut_off(&self) {
        self.driver.abort();
        while !self.driver.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for ServerNode {
    fn drop(&mut self) {
        self.inbox.end();
    }
}
