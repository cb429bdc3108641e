//! The link to one server: its inbox, its driver and its key tracking.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::env::io_thread::IoThread;
use crate::node::NodeHealth;
use crate::node::log::NodeLog;
use crate::redis::address::RedisAddress;
use crate::redis::options::RedisOptions;
use crate::redis::tracking::KeyTracking;

use super::driver::Driver;
use super::inbox::Inbox;
use super::restart_check::ServerCheck;

/// Dropping it ends the driver, once all submitted operations have been sent.
pub(in crate::redis) struct Link {
    pub(in crate::redis) inbox: Arc<Inbox>,
    pub(in crate::redis) tracking: Arc<KeyTracking>,
}

impl Link {
    /// Starts a driver for the server at `address`.
    pub(in crate::redis) fn start(
        name: &Arc<str>,
        address: &Arc<RedisAddress>,
        options: RedisOptions,
        io: &IoThread,
    ) -> Self {
        let log = NodeLog::new(Arc::clone(name), &io.environment());
        let inbox = Arc::new(Inbox::of_part(
            log.clone(),
            options.max_in_flight,
            None,
            io.time(),
        ));
        // Made here and not in the driver's task, so that the checked set is complete once all its
        // nodes are started.
        let server_check = options.checked_set.as_ref().map(|checked_set| {
            let clock = io.environment().clock;
            let it = ServerCheck::new(&log, checked_set, options.trust_aof, clock);
            Arc::new(Mutex::new(it))
        });
        let tracking = Arc::new(KeyTracking::new(
            Arc::clone(name),
            Arc::clone(address),
            &options,
            io.clone(),
        ));
        let driver = Driver {
            address: Arc::clone(address),
            inbox: Arc::clone(&inbox),
            options: Arc::new(options),
            server_check,
            // Keeps the thread alive until the last release has been sent.
            _io: io.clone(),
        };
        io.handle().spawn(driver.run());
        Self { inbox, tracking }
    }

    /// The health of the server, without its address.
    pub(in crate::redis) fn health(&self) -> NodeHealth {
        self.inbox.health()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.inbox.end();
        self.tracking.end();
    }
}
