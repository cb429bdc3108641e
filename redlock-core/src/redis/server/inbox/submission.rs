//! The entries of an inbox, and the releases that outlive a connection.

use std::sync::Arc;

use tokio::time::Instant;

use crate::env::io_thread::LibraryTime;
use crate::node::Reply;
use crate::node::{Call, Effect};

pub(in crate::redis) struct Submission {
    pub(in crate::redis) call: Arc<Call>,
    pub(in crate::redis) reply: Reply,
    pub(in crate::redis) route: Route,
}

/// The way of an operation to this inbox. The default is the usual one, straight from its caller.
#[derive(Clone, Copy, Default)]
pub(in crate::redis) struct Route {
    /// The number of servers of a Cluster that redirected the operation.
    pub(in crate::redis) hops: u8,
    /// True if the last of these servers is moving the keys' slot to this one.
    pub(in crate::redis) is_asking: bool,
    /// The deadline of a release that was already owed to another server.
    pub(in crate::redis) owed_until: Option<Instant>,
}

impl Submission {
    pub(in crate::redis) fn new(call: Arc<Call>, reply: Reply, route: Route) -> Self {
        Self { call, reply, route }
    }
}

/// A release that is still to be delivered. After `until`, the key is gone by itself.
pub(in crate::redis) struct Owed {
    pub(in crate::redis) call: Arc<Call>,
    pub(in crate::redis) until: Instant,
}

impl Owed {
    /// `None` if `operation` is not a release: then nothing is owed. The ttl counts by the library's time, as
    /// the node's driver does.
    pub(in crate::redis) fn for_release(
        call: &Arc<Call>,
        route: Route,
        time: &LibraryTime,
    ) -> Option<Self> {
        let Effect::Undoes(ttl) = call.effect() else {
            return None;
        };
        // The ttl is below a year, but this library checks its sums of times itself.
        let until = match route.owed_until {
            Some(until) => until,
            None => time.now().checked_add(ttl)?,
        };
        Some(Self {
            call: Arc::clone(call),
            until,
        })
    }
}
