//! The status and the figures of a node.

use crate::node::{NodeHealth, NodeStatus};

use super::Inbox;
use super::state::Gate;

impl Inbox {
    /// The status of the node: it votes if the gate is open and the server is not known to answer with
    /// errors.
    pub(in crate::redis) fn status(&self) -> NodeStatus {
        let state = self.state.lock();
        match &state.gate {
            Gate::Open if self.stands(&state) => NodeStatus::Abstaining(super::standing()),
            Gate::Open => match self.metrics.refusals.reason(self.time.now()) {
                None => NodeStatus::Voting,
                Some(error) => NodeStatus::Abstaining(error),
            },
            Gate::Suspect(error) | Gate::Quarantined(error) | Gate::Closed(error) => {
                NodeStatus::Abstaining(error.clone())
            }
        }
    }

    /// The figures of the node, with the operations in flight.
    pub(in crate::redis) fn health(&self) -> NodeHealth {
        let mut health = self.metrics.health(self.time.now());
        health.in_flight = self.state.lock().outstanding;
        health
    }

    pub(in crate::redis) async fn settled(&self) {
        loop {
            let settled = self.settled.notified();
            if self.state.lock().is_settled {
                return;
            }
            settled.await;
        }
    }
}
