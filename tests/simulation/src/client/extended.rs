//! The results of a lease's extensions, including those of its renewal.

use std::sync::{Arc, Weak};

use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::ObserveExtensions;

use super::SimulatedClient;
use crate::history::History;
use crate::server::Server;

/// Tells the history of lease `number`.
struct Observer {
    number: usize,
    /// The history has the lease, and the lease has this.
    history: Weak<History>,
    servers: Arc<[Arc<Server>]>,
}

impl SimulatedClient {
    pub(super) fn observer(&self, number: usize) -> Arc<dyn ObserveExtensions> {
        Arc::new(Observer {
            number,
            history: Arc::downgrade(&self.history),
            servers: Arc::clone(&self.servers),
        })
    }
}

impl ObserveExtensions for Observer {
    fn observe_extension(&self, outcome: Result<(), &ExtendError>) {
        let Some(history) = self.history.upgrade() else {
            return;
        };
        match outcome {
            Ok(()) => history.prolonged(self.number),
            Err(ExtendError::Ended(LeaseEnd::Taken(_))) => {
                history.given_up(self.number, &self.servers);
            }
            Err(_) => {}
        }
    }
}
