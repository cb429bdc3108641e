//! Knowing what becomes of keys that somebody waits for.
//!
//! A node has a second connection for it, on which the server itself speaks up: *client tracking*,
//! in RESP3. `PTTL key` tells how long the key will be there, and makes the server remember that
//! this connection has read it. When it changes in any way, whoever does that (a release, an expiry,
//! an extension, another owner), the server says so once; asking again tells what it is now.
//!
//! The connection is made when somebody begins to wait, and closed when nobody has for a while. It
//! carries no operation and no vote, so it needs no guard, and nothing relies on it: whoever waits
//! tries again now and then.

mod connection;
mod keys;

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use crate::env::caught::{log, unless_it_panics};
use crate::env::io_thread::IoThread;
use crate::model::brief::Brief;
use crate::node::NodeError;
use crate::node::watch::Watch;

use super::address::{Endpoint, Login, Place, RedisAddress, Server};
use super::connection::backoff::{FIRST_PAUSE, HasEnded, LONGEST_PAUSE, jittered};
use super::connection::errors::not_connected;
use super::connection::handshake::dial;
use super::connection::socket::Stream;
use super::options::RedisOptions;
use connection::{Ended, Post};
use keys::Roll;

/// How many watches may wait to be looked at. One a lock and process is usual; beyond this the I/O
/// thread is stuck, and blind.
const MOST_NEW: usize = 16_384;

/// Whoever never wants the connection closed must not make a sum of times overflow.
const LONGEST_IDLE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Where callers leave watches. The task that looks after them exists only while there are any, or
/// were a short while ago.
pub(super) struct Lookout {
    name: Arc<str>,
    address: Arc<RedisAddress>,
    times: Times,
    /// Where the task runs, and whose clock remaining times are counted on.
    io: IoThread,
    /// The server that the connection is to may not be the one that is meant any more.
    has_moved: AtomicBool,
    state: Mutex<State>,
}

/// What of a node's options is the lookout's business.
#[derive(Clone, Copy)]
struct Times {
    connect_timeout: Duration,
    dead_after: Duration,
    heartbeat: Duration,
    idle: Duration,
}

#[derive(Default)]
struct State {
    /// Watches that the task has not heard of yet.
    new: Vec<Watch>,
    /// Whether there is a task.
    is_staffed: bool,
    /// The task's waker, while it has nothing to do.
    task: Option<Waker>,
    /// The server refused, and is left alone until then.
    blind_until: Option<Instant>,
    /// Why it refused, as the log had it last: it is worth one line.
    logged: String,
    /// Where the node is, if that may change and while it is connected.
    node_at: Option<Server>,
    /// Where the task's connection goes, or went last.
    goes_to: Option<Endpoint>,
    has_ended: bool,
}

impl Lookout {
    pub(super) fn new(
        name: Arc<str>,
        address: Arc<RedisAddress>,
        options: &RedisOptions,
        io: IoThread,
    ) -> Self {
        Self {
            name,
            address,
            times: Times {
                connect_timeout: options.connect_timeout,
                dead_after: options.dead_after,
                heartbeat: options.heartbeat,
                idle: options.watch_idle.min(LONGEST_IDLE),
            },
            io,
            has_moved: AtomicBool::new(false),
            state: Mutex::default(),
        }
    }

    /// See [`Node::watch`](crate::Node::watch).
    pub(super) fn watch(self: &Arc<Self>, watch: Watch) {
        let now = Instant::now();
        let (task, is_first) = {
            let mut state = self.lock();
            let is_blind = state.blind_until.is_some_and(|until| now < until);
            if is_blind || state.has_ended || state.new.len() >= MOST_NEW {
                drop(state);
                // Which says so.
                drop(watch);
                return;
            }
            state.new.push(watch);
            let is_first = !std::mem::replace(&mut state.is_staffed, true);
            (state.task.take(), is_first)
        };
        if is_first {
            let shift = Shift {
                lookout: Arc::clone(self),
                has_left: false,
            };
            self.io.handle().spawn(shift.work());
        } else if let Some(task) = task {
            task.wake();
        }
    }

    /// Whether somebody waits, or did a short while ago, and the server is not known to refuse.
    pub(super) fn is_staffed(&self) -> bool {
        self.lock().is_staffed
    }

    /// Nobody waits for this node any more.
    pub(super) fn end(&self) {
        let task = {
            let mut state = self.lock();
            state.has_ended = true;
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }

    /// The node has left its server: a connection that tells of keys there is made anew.
    pub(super) fn node_has_left(&self) {
        let task = {
            let mut state = self.lock();
            state.node_at = None;
            self.has_moved.store(true, Ordering::Release);
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }

    /// The node is connected to `server`: a connection that tells of keys elsewhere is made anew.
    pub(super) fn node_is_at(&self, server: &Server) {
        let task = {
            let mut state = self.lock();
            state.node_at = Some(server.clone());
            if state.goes_to.as_ref() == Some(&server.endpoint) {
                return;
            }
            self.has_moved.store(true, Ordering::Release);
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }

    // What follows is the task's side.

    /// Moves new watches into `taken`, which is empty. Leaves the waker.
    fn take(&self, taken: &mut Vec<Watch>, context: &Context<'_>) -> HasEnded {
        let mut state = self.lock();
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

    /// The server to connect to. Where the address does not name it, it is the one that the node is
    /// connected to: whoever is told of a released lock by another server, or sooner than the node is
    /// there, tries for it in vain.
    fn aim(&self) -> Result<Server, NodeError> {
        let mut state = self.lock();
        self.has_moved.store(false, Ordering::Release);
        let server = match &self.address.place {
            Place::Server(server) => Some(server.clone()),
            Place::Sentinel(_) | Place::Cluster(_) => state.node_at.clone(),
        };
        state.goes_to = server.as_ref().map(|server| server.endpoint.clone());
        server.ok_or_else(|| not_connected("the node is not connected"))
    }

    /// The server will not tell. Those who wait go by their own pauses, and so do those who come
    /// within the next while.
    fn refuse(&self, reason: &str) {
        let is_news = {
            let mut state = self.lock();
            state.blind_until = Some(Instant::now() + self.times.idle);
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

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task, while there is one. However it ends, the next watch finds that there is none.
struct Shift {
    lookout: Arc<Lookout>,
    /// Nobody waits, and whoever comes next starts another task.
    has_left: bool,
}

impl Shift {
    /// Where it panics, those who wait hear that nothing is known, and the next one who comes a while
    /// later starts another task.
    async fn work(self) {
        let lookout = Arc::clone(&self.lookout);
        if unless_it_panics("a lookout", self.run()).await.is_none() {
            lookout.lock().blind_until = Some(Instant::now() + LONGEST_PAUSE);
        }
    }

    async fn run(mut self) {
        let lookout = Arc::clone(&self.lookout);
        let lookout = &*lookout;
        let mut roll = Roll::new(lookout.io.environment().clock);
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match lookout.connect().await {
                Ok((stream, login)) => {
                    let mut post = Post::new(stream, &login, lookout, &mut roll);
                    let ended = (&mut post).await;
                    if post.has_answered {
                        pause = FIRST_PAUSE;
                    }
                    match ended {
                        Ended::Dropped => return,
                        Ended::Idle => {
                            if self.may_leave() {
                                return;
                            }
                            continue;
                        }
                        Ended::Refused(reason) => return lookout.refuse(&reason),
                        Ended::Broken(error) => error,
                    }
                }
                Err(error) => error,
            };
            // The node's driver has the same trouble, and logs it.
            log!(
                debug,
                pool = %lookout.name, server = %lookout.address, reason = %error,
                "lost sight of the locks that are waited for",
            );
            roll.lose_sight();
            if self.has_ended_within(jittered(pause), &mut roll).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            if !roll.is_wanted() && self.may_leave() {
                return;
            }
        }
    }

    /// Whether nobody came meanwhile.
    fn may_leave(&mut self) -> bool {
        let mut state = self.lookout.lock();
        self.has_left = state.new.is_empty();
        state.is_staffed = !self.has_left;
        self.has_left
    }

    /// Takes new watches in while there is no connection. Returns early when there may be one.
    async fn has_ended_within(&self, pause: Duration, roll: &mut Roll) -> bool {
        let mut pause = pin!(tokio::time::sleep(pause));
        let mut taken = Vec::new();
        poll_fn(|context| {
            let ended = self.lookout.take(&mut taken, context);
            for watch in taken.drain(..) {
                roll.add(watch);
            }
            match ended {
                HasEnded(true) => Poll::Ready(true),
                HasEnded(false) if self.lookout.has_moved.load(Ordering::Acquire) => {
                    Poll::Ready(false)
                }
                HasEnded(false) => pause.as_mut().poll(context).map(|()| false),
            }
        })
        .await
    }
}

impl Drop for Shift {
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        let (left, _task) = {
            let mut state = self.lookout.lock();
            state.is_staffed = false;
            (std::mem::take(&mut state.new), state.task.take())
        };
        // Outside of the lock: it wakes whoever waits.
        drop(left);
    }
}
