//! The inbox of a server that belongs to a Redis Cluster, and its retirement.

use crate::node::Call;
use crate::node::NodeError;

use super::part::Part;
use super::state::{Gate, InboxEnd};
use super::{Inbox, Owed};

impl Inbox {
    /// The server as a part of a Cluster, if it is one.
    pub(in crate::redis) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// Retires the server, which is no longer a part of its Cluster, for the reason `error`. The inbox
    /// accepts nothing from now on, and the driver gives up the queued and unanswered operations.
    /// Returns the owed releases. Those that the driver still has go to the Cluster in `close`.
    pub(in crate::redis) fn retire(&self, error: NodeError) -> Vec<Owed> {
        let (driver, owed) = {
            let mut state = self.state.lock();
            state.end = Some(InboxEnd::Retired);
            state.gate = Gate::Closed(error);
            state.is_settled = true;
            (state.driver.take(), std::mem::take(&mut state.owed))
        };
        self.settled.notify_waiters();
        if let Some(driver) = driver {
            driver.wake();
        }
        owed.into()
    }

    /// True if [`retire`](Self::retire) was called.
    pub(in crate::redis) fn is_retired(&self) -> bool {
        // Servers outside of a Cluster do not need the mutex.
        self.part.is_some() && self.state.lock().is_retired()
    }

    /// Takes out the owed releases that belong to another server.
    pub(in crate::redis) fn take_owed(&self, is_misplaced: impl Fn(&Call) -> bool) -> Vec<Owed> {
        let mut state = self.state.lock();
        let owed = std::mem::take(&mut state.owed);
        let owed = owed.into_iter();
        let (misplaced, kept): (Vec<_>, _) = owed.partition(|it| is_misplaced(&it.call));
        state.owed = kept.into();
        misplaced
    }

    /// Hands the owed releases of a retired server to the Cluster, for its successor.
    pub(in crate::redis) fn hand_over_owed(&self) {
        if self.is_retired()
            && let Some(part) = &self.part
        {
            part.adopt(self);
        }
    }

    /// Tells the Cluster that another server may have replaced this one.
    pub(in crate::redis) fn alarm(&self) {
        if let Some(part) = &self.part {
            part.alarm();
        }
    }
}
