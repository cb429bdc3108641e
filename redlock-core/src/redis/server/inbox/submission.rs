//! What callers leave in an inbox, and what of it outlives a connection.

use std::sync::Arc;

use tokio::time::Instant;

use crate::node::Reply;
use crate::node::operation::{SharedOperation, Want};

pub(in crate::redis) struct Submission {
    /// When it was submitted: an answer is overdue counting from here.
    pub(in crate::redis) since: Instant,
    pub(in crate::redis) operation: SharedOperation,
    pub(in crate::redis) reply: Reply,
    pub(in crate::redis) route: Route,
}

/// How an operation got here, where that is not from its caller on the usual way.
#[derive(Clone, Copy, Default)]
pub(in crate::redis) struct Route {
    /// How many servers of a Cluster have sent it on.
    pub(in crate::redis) hops: u8,
    /// The last of them is just giving the keys' slot to this one.
    pub(in crate::redis) is_asking: bool,
    /// See [`Submission::barrier`]. It is for this very connection.
    pub(in crate::redis) is_barrier: bool,
    /// A release that was owed elsewhere, and until when.
    pub(in crate::redis) owed_until: Option<Instant>,
}

impl Submission {
    pub(in crate::redis) fn new(operation: SharedOperation, reply: Reply, route: Route) -> Self {
        Self {
            since: Instant::now(),
            operation,
            reply,
            route,
        }
    }

    /// Its answer says whether everything before it was served.
    pub(in crate::redis) fn barrier(operation: SharedOperation, reply: Reply) -> Self {
        let route = Route {
            is_barrier: true,
            ..Route::default()
        };
        Self::new(operation, reply, route)
    }
}

/// A release that is still to be delivered, until the key is gone by itself.
pub(in crate::redis) struct Owed {
    pub(in crate::redis) operation: SharedOperation,
    pub(in crate::redis) until: Instant,
}

impl Owed {
    /// `None` where `operation` is no release, and nothing is owed.
    pub(in crate::redis) fn for_release(operation: &SharedOperation, route: Route) -> Option<Self> {
        let Want::Release { ttl } = operation.want() else {
            return None;
        };
        if route.is_barrier {
            // Anywhere else it has no meaning.
            return None;
        }
        // The ttl is below a year, but the sum is the library's to check.
        let until = match route.owed_until {
            Some(until) => until,
            None => Instant::now().checked_add(ttl)?,
        };
        Some(Self {
            operation: Arc::clone(operation),
            until,
        })
    }
}
