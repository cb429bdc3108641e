//! The two connections to one server, and where callers leave what they want of it.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Clock;
use crate::env::io_thread::IoThread;
use crate::node::{NodeTime, NodeVitals};
use crate::redis::address::RedisAddress;
use crate::redis::options::RedisOptions;
use crate::redis::tracking::Lookout;

use super::driver::Driver;
use super::inbox::{Inbox, Part};
use super::restart_check::Warden;

/// Dropping it ends the driver, once what was submitted has been sent.
pub(in crate::redis) struct Link {
    pub(in crate::redis) inbox: Arc<Inbox>,
    pub(in crate::redis) lookout: Arc<Lookout>,
    clock: Arc<dyn Clock>,
    /// Checks read the server's clock.
    is_compared: bool,
}

impl Link {
    /// Starts a driver for the server at `address`. With `part`, the server belongs to a Cluster.
    pub(in crate::redis) fn start(
        name: &Arc<str>,
        address: &Arc<RedisAddress>,
        options: RedisOptions,
        part: Option<Part>,
        io: &IoThread,
    ) -> Self {
        let inbox = Arc::new(Inbox::of_part(
            Arc::clone(name),
            options.max_in_flight,
            part,
        ));
        // Here and not in its task: the fleet is whole once all its nodes are started.
        let clock = io.environment().clock;
        let warden = options
            .fleet
            .as_ref()
            .map(|fleet| Warden::new(name, fleet, options.trust_aof, Arc::clone(&clock)));
        let is_compared = warden.is_some();
        let lookout = Arc::new(Lookout::new(
            Arc::clone(name),
            Arc::clone(address),
            &options,
            io.clone(),
        ));
        let driver = Driver {
            name: Arc::clone(name),
            address: Arc::clone(address),
            inbox: Arc::clone(&inbox),
            lookout: Arc::clone(&lookout),
            options,
            warden,
            greeted: None,
            // Keeps the thread alive until the last release has been sent.
            _io: io.clone(),
        };
        io.handle().spawn(driver.run());
        Self {
            inbox,
            lookout,
            clock,
            is_compared,
        }
    }

    /// What the server's clock shows now, as far as checks tell.
    pub(in crate::redis) fn time(&self) -> NodeTime {
        if !self.is_compared {
            return NodeTime::Uncompared;
        }
        let Some(ahead_us) = self.inbox.pulse.clock_ahead_us() else {
            return NodeTime::Unread;
        };
        let now = self.clock.now().since_origin();
        let ahead = Duration::from_micros(ahead_us.unsigned_abs());
        NodeTime::Shows(if ahead_us < 0 {
            now.saturating_sub(ahead)
        } else {
            now.saturating_add(ahead)
        })
    }

    /// Without the address.
    pub(in crate::redis) fn vitals(&self) -> NodeVitals {
        let mut vitals = self.inbox.vitals();
        vitals.is_watched = self.lookout.is_staffed();
        vitals
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.inbox.end();
        self.lookout.end();
    }
}
