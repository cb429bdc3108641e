//! One connection, with the messages in flight on it, in order, in both directions.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::operation::Operation;
use parking_lot::{Mutex, MutexGuard};
use redlock_core::env::Moment;
use redlock_core::node::Answer;

use crate::network::Network;
use redlock_core::restart_check::MarkerWrite;

use crate::server::Marked;

/// A message from a client.
pub(crate) enum Request {
    Operation(Arc<Operation>),
    /// The restart check's question for the node's time and marker, and perhaps a marker to write.
    Check(Option<MarkerWrite>),
}

/// A message from a server. Answers have the order of the requests.
pub(crate) enum Response {
    Answer(Answer),
    Marked(Marked),
}

/// See the [module](self).
pub(crate) struct Wire {
    /// The number of the server's start to which the connection belongs.
    pub(crate) start: u64,
    is_given_up: AtomicBool,
    queues: Mutex<Queues>,
}

#[derive(Default)]
struct Queues {
    to_server: VecDeque<Request>,
    to_client: VecDeque<Response>,
    /// When the last of each arrives: the next one is not earlier.
    at_server: Duration,
    at_client: Duration,
    /// The earliest time at which messages in flight reach the server.
    held_until: Duration,
    /// When the last check was sent, on the client's clock.
    asked: Option<Moment>,
    /// The number of checks that were sent, and of those that were answered.
    checks: u64,
    checked: u64,
}

impl Wire {
    pub(crate) fn new(start: u64) -> Arc<Self> {
        Arc::new(Self {
            start,
            is_given_up: AtomicBool::new(false),
            queues: Mutex::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock()
    }

    pub(crate) fn asked_at(&self, now: Moment) {
        let mut queues = self.lock();
        queues.asked = Some(now);
        queues.checks += 1;
    }

    /// Records that the last check was answered.
    pub(crate) fn checked(&self) {
        let mut queues = self.lock();
        queues.checked = queues.checks;
    }

    /// Returns how many checks were sent; `None` if the answer to the last one is not there yet.
    pub(crate) fn checks(&self) -> Option<u64> {
        let queues = self.lock();
        (queues.checks == queues.checked).then_some(queues.checks)
    }

    /// When the last check was sent. There is one at a time.
    pub(crate) fn last_asked(&self) -> Moment {
        let origin = Moment::from_origin(Duration::ZERO);
        self.lock().asked.unwrap_or(origin)
    }

    /// Puts a request on its way, and says when it arrives unless the connection breaks.
    pub(crate) fn send(&self, request: Request, at: Duration) -> Duration {
        let mut queues = self.lock();
        queues.at_server = queues.at_server.max(at);
        queues.to_server.push_back(request);
        queues.at_server
    }

    /// Puts a response on its way, and returns the time of its arrival unless the connection breaks.
    pub(crate) fn respond(&self, response: Response, at: Duration) -> Duration {
        let mut queues = self.lock();
        queues.at_client = queues.at_client.max(at);
        queues.to_client.push_back(response);
        queues.at_client
    }

    /// Returns the next request, or `None` if it was lost.
    pub(crate) fn next_request(&self) -> Option<Request> {
        self.lock().to_server.pop_front()
    }

    pub(crate) fn next_response(&self) -> Option<Response> {
        self.lock().to_client.pop_front()
    }

    /// Nothing arrives at the server before.
    pub(crate) fn held_until(&self) -> Duration {
        self.lock().held_until
    }

    /// Abandons this connection on the client's side. From some point on what is under way is lost;
    /// what is not may come later.
    pub(crate) fn give_up(&self, now: Duration, network: &Network) {
        self.is_given_up.store(true, Ordering::Relaxed);
        let mut queues = self.lock();
        let (kept, later) = network.rest_of(queues.to_server.len());
        queues.to_server.truncate(kept);
        queues.held_until = now + later;
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }
}
