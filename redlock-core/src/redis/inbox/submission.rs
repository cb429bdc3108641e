//! The entries of an inbox, and the releases that outlive a connection.

use std::sync::Arc;

use tokio::time::Instant;

use crate::env::io_thread::LibraryTime;
use crate::node::Reply;
use crate::node::{Call, Effect};

pub(in crate::redis) struct Submission {
    pub(in crate::redis) call: Arc<Call>,
    pub(in crate::redis) reply: Reply,
    /// The deadline of a release that was owed before.
    owed_until: Option<Instant>,
}

/// A release that is still to be delivered. After `until`, the key is gone by itself.
pub(in crate::redis) struct Owed {
    pub(in crate::redis) call: Arc<Call>,
    pub(in crate::redis) until: Instant,
    /// True if the server found nothing to release, but the acquisition may still reach it. A shutdown does not wait
    /// for that.
    pub(in crate::redis) is_answered: bool,
}

impl Submission {
    pub(in crate::redis) fn new(call: Arc<Call>, reply: Reply) -> Self {
        let owed_until = None;
        Self {
            call,
            reply,
            owed_until,
        }
    }

    /// A release that no caller waits for any more.
    pub(in crate::redis) fn of_owed(owed: Owed) -> Self {
        Self {
            call: owed.call,
            reply: Reply::to_nobody(),
            owed_until: Some(owed.until),
        }
    }

    /// The release, to be delivered later. `None` if the call is not a release: then nothing is owed. The ttl
    /// counts by the library's time, as the node's driver does.
    pub(in crate::redis) fn owed(&self, time: &LibraryTime) -> Option<Owed> {
        let Effect::Undoes(ttl) = self.call.effect else {
            return None;
        };
        // The ttl is below a year, but this library checks its sums of times itself.
        let until = match self.owed_until {
            Some(until) => until,
            None => time.now().checked_add(ttl)?,
        };
        Some(Owed {
            call: Arc::clone(&self.call),
            until,
            is_answered: false,
        })
    }
}
