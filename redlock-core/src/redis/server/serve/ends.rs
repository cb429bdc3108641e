//! Operations without an answer, and operations that did not run.

use crate::node::Call;
use crate::node::{Answer, NodeError};

use super::super::inbox::{Owed, Submission};
use super::{Purpose, Serve};

impl Serve {
    /// True if the release of the lock was sent already. If a call that sets a key or its ttl were sent
    /// again now, it would arrive behind the release, and nothing would undo it.
    pub(super) fn is_overtaken(&self, call: &Call) -> bool {
        let Some(token) = call.token().filter(|_| !call.is_release()) else {
            return false;
        };
        let releases = |it: &Call| it.is_release() && it.token() == Some(token);
        let mut in_flight = self.in_flight.iter();
        in_flight.any(|it| match &it.purpose {
            Purpose::Call(Submission { call, .. }) | Purpose::Owed(Owed { call, .. }) => {
                releases(call)
            }
            Purpose::Joined(joined) => joined.iter().any(|it| releases(&it.call)),
            _ => false,
        })
    }

    /// Closes the inbox: the connection is gone. Callers hear that the outcome is unknown, and releases
    /// are owed.
    pub(super) fn give_up(&mut self, error: &NodeError) {
        self.is_over = true;
        let mut owed = Vec::new();
        let mut calls = Vec::new();
        let kept = self.take_kept();
        let in_flight = self.in_flight.drain(..).map(|it| it.purpose);
        for purpose in in_flight.chain([kept]) {
            match purpose {
                Purpose::Call(call) => calls.push(call),
                Purpose::Joined(joined) => calls.extend(joined),
                Purpose::Owed(still) => owed.push(still),
                Purpose::Heartbeat | Purpose::Check | Purpose::Memory | Purpose::Probe => {}
            }
        }
        owed.extend(calls.iter().filter_map(|it| it.owed(&self.inbox.time)));
        self.inbox.close(error, owed);
        // Whatever ended the connection: these operations may have been served, and must be undone.
        let unknown = error.clone().into_sent();
        self.inbox.metrics.failed(error.kind(), calls.len());
        for call in calls {
            call.reply.answer(Answer::Failed(unknown.clone()));
        }
    }
}
