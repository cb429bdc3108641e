//! The inbox of a server that belongs to a Redis Cluster, until it does no more.

use crate::node::NodeError;
use crate::node::operation::Operation;

use super::part::Part;
use super::state::{Gate, InboxEnd};
use super::{Inbox, Owed};

impl Inbox {
    /// The server as a part of a Cluster, if it is one.
    pub(in crate::redis) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// The server is no part of its Cluster any more, for this reason: what is queued or under way is
    /// given up, and nothing is taken any more. Returns what is owed; what the driver leaves goes to the
    /// Cluster when it closes.
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

    /// Whether [`retire`](Self::retire) was called.
    pub(in crate::redis) fn is_retired(&self) -> bool {
        // Without the lock for all servers that are no such part.
        self.part.is_some() && self.state.lock().is_retired()
    }

    /// Whether nothing is under way, and nothing owed.
    pub(in crate::redis) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.outstanding == 0 && state.owed.is_empty()
    }

    /// What is owed and does not belong here.
    pub(in crate::redis) fn take_owed(
        &self,
        is_misplaced: impl Fn(&Operation) -> bool,
    ) -> Vec<Owed> {
        let mut state = self.state.lock();
        let owed = std::mem::take(&mut state.owed);
        let owed = owed.into_iter();
        let (misplaced, kept): (Vec<_>, _) = owed.partition(|it| is_misplaced(&it.operation));
        state.owed = kept.into();
        misplaced
    }

    /// What a server that was replaced is owed goes to its successor.
    pub(super) fn hand_over_owed(&self) {
        if self.is_retired()
            && let Some(part) = &self.part
        {
            part.adopt(self.take_owed(|_| true));
        }
    }

    /// The Cluster may have put another server in the place of this one.
    pub(super) fn alarm(&self) {
        if let Some(part) = &self.part {
            part.alarm();
        }
    }
}
