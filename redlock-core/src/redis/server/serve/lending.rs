//! Serves callers where they run.
//!
//! The library's thread serves a connection. If all of its callers are in one tokio runtime, the connection is
//! lent to that runtime: a task there reads the answers, and no other thread has to be woken between an
//! operation and its caller. The library's thread takes the connection back
//!
//! * at once if anybody else sends an operation: the runtime may stand still, and must not delay others;
//! * if the runtime ends;
//! * after [`TICKS`] looks without an answer, or the first of them with an operation unanswered or unsent.
//!
//! Only the library's thread changes which runtime watches the socket. A task that gives the connection back
//! leaves it where it is: its runtime may be ending together with its thread, and then a runtime cannot be
//! entered there.
//!
//! Whoever serves holds the mutex of the connection for one poll. It is not held while a task is woken or
//! made: both can run the end of another task, which takes the mutex.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep};

use super::{ConnectionEnd, Serve};
use crate::env::caught::caught;
use crate::redis::connection::errors::{describe, lost, not_connected};
use crate::redis::connection::movable::Movable;

/// The most times in a row that the task elsewhere lets the callers go first.
const MOST_YIELDS: u32 = 3;
/// The number of the library's looks at a lent connection in a row that find no answer.
const TICKS: u32 = 4;

/// Where a connection is served.
pub(super) struct Place {
    /// The socket, if another runtime can watch it.
    socket: Option<Movable>,
    /// The library's runtime.
    home: Handle,
    loan: Option<Loan>,
    /// True if another runtime may still watch the socket.
    is_away: bool,
    /// True if there were several callers at the last look into the inbox.
    pub(super) is_busy: bool,
    /// How many times the task elsewhere has let the callers go first since it last served, and the number of
    /// operations that it saw in the inbox.
    yields: (u32, usize),
    /// The number of loans so far.
    loans: u64,
    /// True if an answer is overdue elsewhere.
    is_overdue: bool,
    /// How the connection ended elsewhere.
    end: Option<ConnectionEnd>,
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
            is_away: false,
            is_busy: false,
            yields: (0, 0),
            loans: 0,
            is_overdue: false,
            end: None,
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
    driver: Mutex<Option<Waker>>,
}

impl Shared {
    /// Leaves the connection to the driver. Nothing of another runtime is touched: the present one may be
    /// ending, together with its thread.
    fn give_back(&self, mut serve: MutexGuard<'_, Serve>, end: Option<ConnectionEnd>) {
        serve.place.end = end;
        // The waker is that of the caller.
        let _guest = serve.recall(false);
        drop(serve);
        let driver = self.driver.lock().take();
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// Takes the connection back, if it is lent, and calls `last`.
    fn close<T>(&self, last: impl FnOnce(&mut Serve) -> T) -> T {
        let mut serve = self.serve.lock();
        let guest = serve.recall(false);
        let result = last(&mut serve);
        drop(serve);
        wake(guest);
        result
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
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

    /// Looks whether the runtime that the connection is lent to has stopped using or serving it.
    fn look(&mut self, serve: &Serve, context: &mut Context<'_>) -> Option<Left> {
        while self.look.as_mut().poll(context).is_ready() {
            if std::mem::replace(&mut self.heard, serve.heard) == serve.heard {
                self.quiet_looks += 1;
                if serve.inbox.queued() > 0 {
                    return Some(Left::Unsent);
                }
                if self.quiet_looks == TICKS || !serve.in_flight.is_empty() {
                    return Some(Left::Quiet);
                }
            } else {
                self.quiet_looks = 0;
            }
            self.look.as_mut().reset(Instant::now() + self.interval);
        }
        None
    }
}

/// Why a connection is taken back from a runtime that keeps it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Quiet,
    /// Operations wait, and the other runtime does not poll its task.
    Unsent,
}

impl Future for Serving {
    type Output = ConnectionEnd;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<ConnectionEnd> {
        let this = &mut *self;
        let shared = Arc::clone(&this.shared);
        let before = shared.driver.lock().replace(context.waker().clone());
        drop(before);
        // Dropped behind the mutex, also if the poll panics.
        let mut guest = None;
        let mut serve = shared.serve.lock();
        if serve.place.loan.is_some() {
            let left = this.look(&serve, context);
            if left.is_none() && !serve.inbox.is_recalled() {
                return Poll::Pending;
            }
            guest = serve.recall(left == Some(Left::Unsent));
        }
        let polled = serve.poll_at_home(context);
        let lent = polled.is_pending().then(|| serve.lend(context.waker()));
        if let Some(Some((runtime, number))) = lent {
            (this.heard, this.quiet_looks) = (serve.heard, 0);
            this.look.as_mut().reset(Instant::now() + this.interval);
            drop(serve);
            let shared = Arc::clone(&shared);
            runtime.spawn(Guest { shared, number });
            // The first poll arms the timer.
            context.waker().wake_by_ref();
        } else {
            drop(serve);
        }
        wake(guest);
        polled
    }
}

impl Drop for Serving {
    /// The connection is given up, if it has not ended.
    fn drop(&mut self) {
        self.shared.close(Serve::abandon);
    }
}

impl Serve {
    /// Polls a connection that is not lent, in the library's runtime.
    fn poll_at_home(&mut self, context: &mut Context<'_>) -> Poll<ConnectionEnd> {
        if let Some(end) = self.place.end.take() {
            return Poll::Ready(end);
        }
        if self.place.is_away
            && let Some(socket) = &self.place.socket
        {
            if let Err(error) = socket.move_to(&self.place.home) {
                // The other runtime may stand still, and then no answer would arrive.
                return Poll::Ready(self.end(lost(describe(&error))));
            }
            self.place.is_away = false;
            self.watch_later();
        }
        Pin::new(self).poll(context)
    }

    /// True if the connection is lent. Then an answer is not called overdue: it may be there, and the other
    /// runtime may have polled the task before it looked at its sockets. The library takes the connection back
    /// and judges.
    pub(super) fn leaves_overdue(&mut self) -> bool {
        self.place.is_overdue = self.place.loan.is_some();
        self.place.is_overdue
    }

    /// True if several callers share the connection, and others of them may be about to submit: the task elsewhere
    /// was woken by the first one, and those are in the same queue of tasks. One write serves all of them. They go
    /// first once, and again while more operations come.
    fn lets_callers_go_first(&mut self) -> bool {
        if !self.place.is_busy {
            return false;
        }
        let queued = self.inbox.queued();
        let (yields, before) = self.place.yields;
        let is_wanted = yields < MOST_YIELDS && (yields == 0 || queued != before);
        self.place.yields = if is_wanted {
            (yields + 1, queued)
        } else {
            (0, 0)
        };
        is_wanted
    }

    /// Lends the connection to the runtime of its callers. Returns the number of the loan, whose [`Guest`]
    /// must be spawned there.
    fn lend(&mut self, driver: &Waker) -> Option<(Handle, u64)> {
        let socket = self.place.socket.clone()?;
        if cfg!(panic = "abort") {
            // Such a program must not find out whether its runtime watches sockets.
            return None;
        }
        // Before the move: who submits from now on is seen.
        let runtime = self.inbox.lend(driver)?;
        if runtime.id() == self.place.home.id() {
            self.inbox.returned(false);
            return None;
        }
        // The panic of a runtime that watches no sockets is no fault, so it is not logged as one.
        match catch_unwind(AssertUnwindSafe(|| socket.move_to(&runtime))) {
            Ok(Ok(())) => {}
            Ok(Err(_)) => {
                self.inbox.returned(false);
                return None;
            }
            Err(_) => {
                self.inbox.refused();
                return None;
            }
        }
        self.place.is_away = true;
        self.place.yields = (0, 0);
        self.place.loans += 1;
        let number = self.place.loans;
        let guest = None;
        self.place.loan = Some(Loan { number, guest });
        Some((runtime, number))
    }

    /// Ends the loan. The library's runtime watches the socket again from its next poll. Returns the waker of
    /// the task elsewhere, which has nothing more to do.
    fn recall(&mut self, is_unsent: bool) -> Option<Waker> {
        let loan = self.place.loan.take()?;
        self.place.is_overdue = false;
        self.inbox.returned(is_unsent);
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
        if serve.lets_callers_go_first() {
            drop(serve);
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = {
            // Time is the library's, and not that of a runtime whose clock a test may have paused.
            let home = serve.place.home.clone();
            let _entered = home.enter();
            caught("a node's driver", || Pin::new(&mut *serve).poll(context))
        };
        let end = match polled {
            Some(Poll::Ready(end)) => Some(end),
            Some(Poll::Pending) if serve.place.is_overdue => None,
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
