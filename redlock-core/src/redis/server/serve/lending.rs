//! Serves few callers where they run.
//!
//! The library's thread serves a connection. If its callers come one at a time, and all of them from one
//! tokio runtime, the connection is lent to that runtime: a task there reads the answers, and no other
//! thread has to be woken between an operation and its caller. The library's thread takes the connection back
//!
//! * at once if anybody else sends an operation: the runtime may stand still, and must not delay others;
//! * if the callers become many, or the runtime ends;
//! * after [`TICKS`] looks without an answer, or the first of them with an operation unanswered.
//!
//! Whoever serves holds the mutex of the connection for one poll. It is not held while a task is woken or
//! made: both can run the end of another task, which takes the mutex.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Handle, Id};
use tokio::time::{Instant, Sleep};

use super::{ConnectionEnd, Serve};
use crate::env::caught::caught;
use crate::node::NodeError;
use crate::redis::connection::errors::not_connected;
use crate::redis::connection::movable::Movable;

/// The number of the library's looks at a lent connection in a row that find no answer.
const TICKS: u32 = 4;

/// Where a connection is served.
pub(super) struct Place {
    /// The socket, if another runtime can watch it.
    socket: Option<Movable>,
    /// The library's runtime.
    home: Handle,
    loan: Option<Loan>,
    /// The number of loans so far.
    loans: u64,
    /// A runtime that watches no sockets.
    refused: Option<Id>,
}

struct Loan {
    number: u64,
    /// Wakes the task in the other runtime.
    guest: Option<Waker>,
}

impl Place {
    pub(super) fn new(socket: Option<Movable>) -> Self {
        Self {
            socket,
            home: Handle::current(),
            loan: None,
            loans: 0,
            refused: None,
        }
    }
}

/// A connection that is being served, here or elsewhere. The driver polls it, and dropping it gives the
/// connection up.
pub(in crate::redis::server) struct Serving {
    shared: Arc<Shared>,
    /// The interval of the looks at a lent connection.
    interval: Duration,
    look: Pin<Box<Sleep>>,
    heard: Instant,
    quiet_looks: u32,
}

struct Shared {
    serve: Mutex<Serve>,
    driver: Mutex<Driver>,
}

#[derive(Default)]
struct Driver {
    waker: Option<Waker>,
    /// How the connection ended elsewhere.
    end: Option<ConnectionEnd>,
}

impl Shared {
    /// Takes the connection back, and wakes whoever served it.
    fn take_back(&self) {
        let guest = self.serve.lock().take_back();
        if let Some(guest) = guest {
            guest.wake();
        }
    }

    /// Leaves the connection to the driver.
    fn give_back(&self, mut serve: MutexGuard<'_, Serve>, end: Option<ConnectionEnd>) {
        // The waker is that of the caller.
        let _guest = serve.take_back();
        drop(serve);
        let waker = {
            let mut driver = self.driver.lock();
            driver.end = end;
            driver.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Serving {
    pub(in crate::redis::server) fn new(serve: Serve) -> Self {
        // Two looks are shorter than the time that a caller waits for a node.
        let interval = serve.options.suspect_after / 16;
        Self {
            interval,
            look: Box::pin(tokio::time::sleep(interval)),
            heard: serve.heard,
            quiet_looks: 0,
            shared: Arc::new(Shared {
                serve: Mutex::new(serve),
                driver: Mutex::default(),
            }),
        }
    }

    /// Ends the connection from outside.
    pub(in crate::redis::server) fn end(&mut self, error: NodeError) -> ConnectionEnd {
        self.shared.take_back();
        self.shared.serve.lock().end(error)
    }

    /// True if the runtime that the connection is lent to has stopped using or serving it.
    fn is_left(&mut self, serve: &Serve, context: &mut Context<'_>) -> bool {
        while self.look.as_mut().poll(context).is_ready() {
            if std::mem::replace(&mut self.heard, serve.heard) == serve.heard {
                self.quiet_looks += 1;
                if self.quiet_looks == TICKS || !serve.in_flight.is_empty() {
                    return true;
                }
            } else {
                self.quiet_looks = 0;
            }
            self.look.as_mut().reset(Instant::now() + self.interval);
        }
        false
    }
}

impl Future for Serving {
    type Output = ConnectionEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ConnectionEnd> {
        let this = &mut *self;
        let shared = Arc::clone(&this.shared);
        {
            let mut driver = shared.driver.lock();
            if let Some(end) = driver.end.take() {
                return Poll::Ready(end);
            }
            driver.waker = Some(context.waker().clone());
        }
        let mut serve = shared.serve.lock();
        if serve.place.loan.is_some() {
            if !serve.inbox.is_recalled() && !this.is_left(&serve, context) {
                return Poll::Pending;
            }
            drop(serve);
            shared.take_back();
            serve = shared.serve.lock();
        }
        let end = Pin::new(&mut *serve).poll(context);
        if end.is_ready() {
            return end;
        }
        if let Some(runtime) = serve.inbox.wanted()
            && let Some(number) = serve.lend(&runtime, context.waker())
        {
            (this.heard, this.quiet_looks) = (serve.heard, 0);
            this.look.as_mut().reset(Instant::now() + this.interval);
            drop(serve);
            let guest = Arc::clone(&shared);
            runtime.spawn(Guest {
                shared: guest,
                number,
            });
            // The first poll arms the timer.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for Serving {
    /// The connection is given up, if it has not ended.
    fn drop(&mut self) {
        self.shared.take_back();
        self.shared.serve.lock().abandon();
    }
}

impl Serve {
    /// Lends the connection to `runtime`. Returns the number of the loan, whose [`Guest`] must be spawned
    /// there.
    fn lend(&mut self, runtime: &Handle, driver: &Waker) -> Option<u64> {
        let (socket, id) = (self.place.socket.clone()?, runtime.id());
        if id == self.place.home.id() || Some(id) == self.place.refused || cfg!(panic = "abort") {
            // A program that panics to abort must not find out whether its runtime watches sockets.
            return None;
        }
        let moved = caught("lending a connection", || socket.move_to(runtime));
        if !matches!(moved, Some(Ok(()))) {
            self.place.refused = Some(id);
            return None;
        }
        self.place.loans += 1;
        let number = self.place.loans;
        let guest = None;
        self.place.loan = Some(Loan { number, guest });
        self.inbox.lent(id, driver);
        Some(number)
    }

    /// Lets the library's runtime watch the socket again. Poll the connection after this. Returns the waker
    /// of the task elsewhere, which has nothing more to do.
    fn take_back(&mut self) -> Option<Waker> {
        self.inbox.returned();
        let loan = self.place.loan.take()?;
        // Without the socket the connection would end anyway. If the system refuses, the other runtime
        // watches it, until it ends.
        let _ = self.place.socket.as_ref()?.move_to(&self.place.home);
        loan.guest
    }
}

/// The task that serves a connection in the runtime of its callers.
struct Guest {
    shared: Arc<Shared>,
    number: u64,
}

impl Guest {
    fn is_over(&self, serve: &Serve) -> bool {
        serve.place.loan.as_ref().map(|loan| loan.number) != Some(self.number)
    }
}

impl Future for Guest {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut serve = self.shared.serve.lock();
        if self.is_over(&serve) {
            return Poll::Ready(());
        }
        let polled = {
            // Time is the library's, and not that of a runtime whose clock a test may have paused.
            let home = serve.place.home.clone();
            let _entered = home.enter();
            caught("a node's driver", || Pin::new(&mut *serve).poll(context))
        };
        let end = match polled {
            Some(Poll::Ready(end)) => Some(end),
            Some(Poll::Pending) if serve.is_busy() => None,
            Some(Poll::Pending) => {
                if let Some(loan) = &mut serve.place.loan {
                    match &mut loan.guest {
                        Some(guest) => guest.clone_from(context.waker()),
                        none => *none = Some(context.waker().clone()),
                    }
                }
                return Poll::Pending;
            }
            None => Some(serve.end(not_connected("the node's driver panicked"))),
        };
        self.shared.give_back(serve, end);
        Poll::Ready(())
    }
}

impl Drop for Guest {
    /// Also when its runtime ends.
    fn drop(&mut self) {
        let serve = self.shared.serve.lock();
        if !self.is_over(&serve) {
            self.shared.give_back(serve, None);
        }
    }
}
