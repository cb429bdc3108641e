//! Follows the keys that callers wait for.
#![doc = include_str!("protocol.md")]

mod connection;
pub(super) mod keys;

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::env::caught::{log, unless_it_panics};
use crate::env::io_thread::IoThread;
use crate::model::brief::Brief;
use crate::node::NodeError;
use crate::node::watch::Watch;

use super::address::{Login, RedisAddress, Server, Target};
use super::connection::backoff::{Backoff, HasEnded, LONGEST_PAUSE};
use super::connection::errors::not_connected;
use super::connection::handshake::dial;
use super::connection::socket::Stream;
use super::options::RedisOptions;
use connection::{TrackingConnection, TrackingEnd};
use keys::TrackedKeys;

/// The most watches that wait for the task. One per lock and process is usual. If there are more, the
/// I/O thread is stuck, and new watches are dropped.
const MOST_NEW: usize = 16_384;

/// The limit of `watch_idle`: a configuration that never closes the connection must not make a sum of
/// times overflow.
const LONGEST_IDLE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Takes watches from callers. The task that handles them exists while there are watches, and for a
/// short time after.
pub(super) struct KeyTracking {
    name: Arc<str>,
    address: Arc<RedisAddress>,
    times: TrackingTimes,
    /// The thread of the task, and the clock for remaining times.
    io: IoThread,
    state: Mutex<TrackingState>,
}

/// The options of a node that key tracking uses.
#[derive(Clone, Copy)]
struct TrackingTimes {
    connect_timeout: Duration,
    dead_after: Duration,
    heartbeat: Duration,
    idle: Duration,
}

#[derive(Default)]
struct TrackingState {
    /// Watches that the task does not know of yet.
    new: Vec<Watch>,
    /// True if there is a task.
    is_running: bool,
    /// The task's waker, while it has nothing to do.
    task: Option<Waker>,
    /// The server refused, and is left alone until this moment.
    refused_until: Option<Instant>,
    /// The reason of the last logged refusal. Each reason gets one line.
    logged: String,
    has_ended: bool,
}

impl KeyTracking {
    pub(super) fn new(
        name: Arc<str>,
        address: Arc<RedisAddress>,
        options: &RedisOptions,
        io: IoThread,
    ) -> Self {
        Self {
            name,
            address,
            times: TrackingTimes {
                connect_timeout: options.connect_timeout,
                dead_after: options.dead_after,
                heartbeat: options.heartbeat,
                idle: LONGEST_IDLE,
            },
            io,
            state: Mutex::default(),
        }
    }

    /// See [`Node::watch`](crate::Node::watch).
    pub(super) fn watch(self: &Arc<Self>, watch: Watch) {
        let now = self.io.time().now();
        let (task, is_first) = {
            let mut state = self.state.lock();
            let is_refused = state.refused_until.is_some_and(|until| now < until);
            if is_refused || state.has_ended || state.new.len() >= MOST_NEW {
                drop(state);
                // The drop reports that nothing is known.
                drop(watch);
                return;
            }
            state.new.push(watch);
            let is_first = !std::mem::replace(&mut state.is_running, true);
            (state.task.take(), is_first)
        };
        if is_first {
            let task = TrackingTask {
                tracking: Arc::clone(self),
                has_left: false,
            };
            self.io.handle().spawn(task.work());
        } else if let Some(task) = task {
            task.wake();
        }
    }

    /// Ends the task: the node is dropped.
    pub(super) fn end(&self) {
        let task = {
            let mut state = self.state.lock();
            state.has_ended = true;
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }

    // The task's side.

    /// Moves new watches into `taken`, which is empty. Stores the waker.
    fn take(&self, taken: &mut Vec<Watch>, context: &Context<'_>) -> HasEnded {
        let mut state = self.state.lock();
        std::mem::swap(&mut state.new, taken);
        state.task = Some(context.waker().clone());
        HasEnded(state.has_ended)
    }

    async fn connect(&self) -> Result<(Box<dyn Stream>, Login), NodeError> {
        let server = self.aim()?;
        let timeout = self.times.connect_timeout;
        let connected = tokio::time::timeout(timeout, dial(&server)).await;
        let stream = connected.unwrap_or_else(|_| {
            Err(not_connected(format!(
                "no connection within {}",
                Brief(timeout)
            )))
        })?;
        Ok((stream, server.login))
    }

    /// The server to connect to.
    fn aim(&self) -> Result<Server, NodeError> {
        let Target::Server(server) = &self.address.target else {
            return Err(not_connected("the address is not that of one server"));
        };
        Ok(server.clone())
    }

    /// Records that the server does not tell of keys. Waiting callers rely on their own pauses, and so
    /// do callers that come within `watch_idle`.
    fn refuse(&self, reason: &str) {
        let is_news = {
            let mut state = self.state.lock();
            state.refused_until = Some(Instant::now() + self.times.idle);
            let is_news = state.logged != reason;
            reason.clone_into(&mut state.logged);
            is_news
        };
        if is_news {
            log!(
                warn,
                pool = %self.name, server = %self.address, reason,
                "node does not tell of released locks; waiting for one takes up to a retry delay longer",
            );
        }
    }
}

/// The task. However it ends, the next watch finds that there is none.
struct TrackingTask {
    tracking: Arc<KeyTracking>,
    /// True if the task has left because no caller waits. The next watch starts another task.
    has_left: bool,
}

impl TrackingTask {
    /// Runs the task. After a panic, waiting callers hear that nothing is known, and the first watch
    /// after [`LONGEST_PAUSE`] starts another task.
    async fn work(self) {
        let tracking = Arc::clone(&self.tracking);
        if unless_it_panics("the tracking of keys", self.run())
            .await
            .is_none()
        {
            tracking.state.lock().refused_until = Some(Instant::now() + LONGEST_PAUSE);
        }
    }

    async fn run(mut self) {
        let tracking = Arc::clone(&self.tracking);
        let tracking = &*tracking;
        let mut tracked = TrackedKeys::new(tracking.io.environment().clock);
        let mut backoff = Backoff::new();
        loop {
            let error = match tracking.connect().await {
                Ok((stream, login)) => {
                    let mut connection =
                        TrackingConnection::new(stream, &login, tracking, &mut tracked);
                    let ended = (&mut connection).await;
                    if connection.has_answered {
                        backoff = Backoff::new();
                    }
                    match ended {
                        TrackingEnd::Dropped => return,
                        TrackingEnd::Idle => {
                            if self.may_leave() {
                                return;
                            }
                            continue;
                        }
                        TrackingEnd::Refused(reason) => return tracking.refuse(&reason),
                        TrackingEnd::Broken(error) => error,
                    }
                }
                Err(error) => error,
            };
            // The node's driver has the same trouble, and logs it.
            log!(
                debug,
                pool = %tracking.name, server = %tracking.address, reason = %error,
                "not connected for key tracking; trying again",
            );
            tracked.forget_answers();
            if self.has_ended_within(backoff.next(), &mut tracked).await {
                return;
            }
            if !tracked.is_wanted() && self.may_leave() {
                return;
            }
        }
    }

    /// True if no watch has come meanwhile. The task must then end.
    fn may_leave(&mut self) -> bool {
        let mut state = self.tracking.state.lock();
        self.has_left = state.new.is_empty();
        state.is_running = !self.has_left;
        self.has_left
    }

    /// Takes new watches while there is no connection. True if the node was dropped.
    async fn has_ended_within(&self, pause: Duration, tracked: &mut TrackedKeys) -> bool {
        let mut pause = pin!(tokio::time::sleep(pause));
        let mut taken = Vec::new();
        poll_fn(|context| {
            let ended = self.tracking.take(&mut taken, context);
            for watch in taken.drain(..) {
                tracked.add(watch);
            }
            match ended {
                HasEnded(true) => Poll::Ready(true),
                HasEnded(false) => pause.as_mut().poll(context).map(|()| false),
            }
        })
        .await
    }
}

impl Drop for TrackingTask {
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        let (left, _task) = {
            let mut state = self.tracking.state.lock();
            state.is_running = false;
            (std::mem::take(&mut state.new), state.task.take())
        };
        // Outside of the mutex: the drop wakes waiting callers.
        drop(left);
    }
}
