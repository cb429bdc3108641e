//! Releases that were not served: sent again until their ttl has passed.

use std::sync::Arc;
use std::time::Duration;

use crate::operation::{Operation, Want};
use redlock_core::Node as _;

use super::{Gate, InFlight, Link, State};
use crate::wire::Wire;

/// When what was answered with an error is sent again.
const REPEATED_AFTER: Duration = Duration::from_millis(100);

pub(crate) struct Owed {
    pub(super) operation: Arc<Operation>,
    pub(super) until: Duration,
}

impl Link {
    /// Sends what is owed again.
    pub(super) fn repeat(&self, state: &mut State, wire: &Arc<Wire>) {
        let now = self.world().now();
        let owed = std::mem::take(&mut state.owed);
        for Owed { operation, until } in owed.into_iter().filter(|owed| owed.until > now) {
            self.around
                .history
                .repeated(self.process, self.server.seat, &operation);
            let one = InFlight {
                operation,
                submission: None,
                since: now,
                epoch: self.epoch(),
                owed_until: Some(until),
            };
            self.send(state, wire, one);
        }
    }

    /// Queues a release that was answered with an error, to send it again a little later.
    pub(super) fn owe(&self, one: &InFlight) {
        let now = self.world().now();
        let Some(until) = one.owed_until.or(owed_until(&one.operation, now)) else {
            return;
        };
        let operation = Arc::clone(&one.operation);
        let is_first = self.lock().owed.is_empty();
        self.lock().owed.push_back(Owed { operation, until });
        self.around.history.count(|coverage| coverage.refused += 1);
        if !is_first {
            // It goes along with the others.
            return;
        }
        self.later(REPEATED_AFTER, |link| {
            let mut state = link.lock();
            if let (Some(wire), true) = (state.wire.clone(), state.gate != Gate::Closed) {
                link.repeat(&mut state, &wire);
            }
        });
    }
}

/// Returns until when a release is owed that could not be delivered, or whose answer got lost, at `now`.
pub(super) fn owed_until(operation: &Operation, now: Duration) -> Option<Duration> {
    match operation.want() {
        Want::Release { ttl } => Some(now + ttl),
        _ => None,
    }
}
